// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_METHOD_PRIVATE_HPP
#define RESHARD_BENCH_METHOD_PRIVATE_HPP

#include "case_state.hpp"
#include "method.hpp"

#include <reshard/bind/program.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/plan/between_nodes.hpp>

#include <optional>

/// \file
/// This library between memory that each rank has for itself: `prepare` once, `run` each time. Both
/// together are `redistribute`. Ranks exchange as the library chooses, or as given; if they pass on
/// bytes that several need, each counts as a separate node.

namespace bench {

/// `run` of the library, for scopes in which a member function hides the name.
inline void run_prepared(reshard::job& ready) { run(ready); }

class private_method : public method {
public:
    static constexpr bool owns_target = false;
    static std::string refusal(redistribution_case const&) { return {}; }

    private_method(setting const& where, std::optional<reshard::mapping> const& program,
                   reshard::node_exchange exchange, bool relays = false)
        : ready_(prepare(where.world, sources_of(where.moved, where.world.rank(), where.source),
                         targets_of(where.moved, where.world.rank(), where.target),
                         {.program = program,
                          .processes_per_node = relays ? 1u : 0u,
                          .between_nodes =
                              relays ? reshard::detail::all_relays() : reshard::balanced_senders(),
                          .on_node = exchange})) {}

    void run() override { run_prepared(ready_); }

private:
    reshard::job ready_;
};

} // namespace bench

#endif
