// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_METHOD_ARENA_HPP
#define RESHARD_BENCH_METHOD_ARENA_HPP

#include "method_private.hpp"

#include <reshard/bind/program.hpp>
#include <reshard/mpi/shared_arena.hpp>

#include <cstddef>
#include <optional>

/// \file
/// This library, with the target in memory that the ranks of the node share.

namespace bench {

class arena_method : public method {
public:
    static constexpr bool owns_target = true;
    static std::string refusal(redistribution_case const&) { return {}; }

    arena_method(setting const& where, std::optional<reshard::mapping> const& program)
        : bytes_(memory_map(where.moved.targets, where.world.rank()).bytes),
          arena_(where.world, bytes_ + 128),
          target_(static_cast<std::byte*>(
              arena_.resource()->allocate(static_cast<std::size_t>(bytes_)))),
          ready_(prepare(where.world, sources_of(where.moved, where.world.rank(), where.source),
                         in_arena(targets_of(where.moved, where.world.rank(), target_)),
                         {.program = program})) {}

    void run() override { run_prepared(ready_); }

    std::byte* target() const override { return target_; }

private:
    reshard::target_tensors in_arena(reshard::target_tensors side) const {
        side.arena = &arena_;
        return side;
    }

    index_t bytes_;
    reshard::shared_arena arena_;
    std::byte* target_;
    reshard::job ready_;
};

} // namespace bench

#endif
