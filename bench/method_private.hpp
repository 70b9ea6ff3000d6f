// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_METHOD_PRIVATE_HPP
#define RESHARD_BENCH_METHOD_PRIVATE_HPP

#include "case_state.hpp"
#include "method.hpp"

#include <reshard/bind/program.hpp>
#include <reshard/mpi/node_rings.hpp>
#include <reshard/mpi/redistribute.hpp>

#include <optional>

/// \file
/// This library, with private memory of each rank: `prepare` once, `run` each time. Both together
/// are `redistribute`.

namespace bench {

/// `run` of the library, for scopes in which a member function hides the name.
inline void run_prepared(reshard::job& ready) { run(ready); }

class private_method : public method {
public:
    static constexpr bool owns_target = false;
    static std::string refusal(redistribution_case const&) { return {}; }

    /// \param forced how rings are used; std::nullopt: as their measurement says
    private_method(setting const& where, reshard::options const& chosen,
                   std::optional<reshard::detail::forced_rings> const& forced = {})
        : ready_((reshard::detail::rings_by_force() = forced,
                  prepare(where.world, sources_of(where.moved, where.world.rank(), where.source),
                          targets_of(where.moved, where.world.rank(), where.target), chosen))) {
        reshard::detail::rings_by_force() = std::nullopt;
    }

    void run() override { run_prepared(ready_); }

private:
    reshard::job ready_;
};

} // namespace bench

#endif
