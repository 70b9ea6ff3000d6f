// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_METHOD_SOLO_HPP
#define RESHARD_BENCH_METHOD_SOLO_HPP

#include "case_state.hpp"
#include "method.hpp"

#include <reshard/bind/program.hpp>
#include <reshard/bind/redistribute.hpp>

#include <optional>
#include <utility>

/// \file
/// This library on one rank, in this process: planned and moved each time.

namespace bench {

class solo_method : public method {
public:
    static constexpr bool owns_target = false;
    static std::string refusal(redistribution_case const& moved) {
        return moved.ranks == 1 ? "" : "for one rank only";
    }

    solo_method(setting const& where, std::optional<reshard::mapping> program)
        : source_(sources_of(where.moved, 0, where.source).tensors),
          target_(targets_of(where.moved, 0, where.target).tensors),
          program_(std::move(program)) {}

    void run() override {
        reshard::redistribute(reshard::solo{}, source_, target_, {.program = program_});
    }

private:
    reshard::const_state_dict source_;
    reshard::state_dict target_;
    std::optional<reshard::mapping> program_;
};

} // namespace bench

#endif
