// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_METHOD_FRESH_HPP
#define RESHARD_BENCH_METHOD_FRESH_HPP

#include "method_private.hpp"

#include <reshard/bind/program.hpp>
#include <reshard/os/prefaulted_memory.hpp>

#include <cstddef>
#include <optional>

/// \file
/// This library, with a private target in new memory: large pages that are prefaulted.

namespace bench {

class fresh_method : public method {
public:
    static constexpr bool owns_target = true;
    static std::string refusal(redistribution_case const&) { return {}; }

    fresh_method(setting const& where, std::optional<reshard::mapping> const& program)
        : bytes_(memory_map(where.moved.targets, where.world.rank()).bytes),
          memory_(bytes_ + 128),
          target_(static_cast<std::byte*>(
              memory_.resource()->allocate(static_cast<std::size_t>(bytes_)))),
          ready_(prepare(where.world, sources_of(where.moved, where.world.rank(), where.source),
                         targets_of(where.moved, where.world.rank(), target_),
                         {.program = program})) {
        memory_.wait();
    }

    void run() override { run_prepared(ready_); }

    std::byte* target() const override { return target_; }

private:
    index_t bytes_;
    reshard::prefaulted_memory memory_;
    std::byte* target_;
    reshard::job ready_;
};

} // namespace bench

#endif
