// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_SHARED_ARENA_IPP
#define RESHARD_MPI_IMPL_SHARED_ARENA_IPP

#include <reshard/mpi/shared_arena.hpp>

#include <reshard/core/config.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>

#include <atomic>
#include <new>
#include <utility>

namespace reshard {

namespace detail {

/// The number of a new arena, which rank 0 chooses for all ranks.
///
/// \par Collective every rank of the group, in the same order
inline std::uint64_t new_arena_number(mpi_group const& ranks) {
    static std::atomic<std::uint64_t> last = 0;
    return gather_values(ranks, ++last).front();
}

} // namespace detail

RESHARD_DECL shared_arena::shared_arena(mpi_group const& world, index_t bytes,
                                        arena_options const& options) {
    int per_node = 0;
    auto const problem = detail::attempt([&] {
        per_node = detail::ranks_per_node(options.ranks_per_node);
        if (bytes < 0 || per_node < 0)
            fail(errc::usage, "an arena cannot have ", bytes, " bytes and ", per_node,
                 " ranks per node; both must be 0 or more");
        static_cast<void>(detail::checked_add(bytes, 1 << 20, "the bytes of an arena"));
    });
    detail::agree_to_run(world, "make an arena", {"ranks_per_node", per_node}, problem);
    mpi_group const ranks = mpi_group::duplicate_of(world);
    auto node = detail::node_of(ranks, per_node);
    number_ = detail::new_arena_number(ranks);
    steps_ = &detail::steps_of_arenas();
    detail::arena_state state{ranks, node.group, std::move(node.numbers), nullptr, {}, nullptr};
    take(state, bytes + index_t{detail::arena_resource::least_bytes}, options);
    state_ = std::make_shared<detail::arena_state const>(std::move(state));
}

RESHARD_DECL void shared_arena::take(detail::arena_state& state, index_t bytes,
                                     arena_options const& options) {
    state.segments =
        detail::with_segments(state.node, state.refusal, [&](detail::segment_kind kind) {
            return std::make_unique<detail::node_segments>(
                state.node, bytes, detail::segment_request{kind, options.pages, options.calls});
        });
    agree_on(state.world, [&] {
        if (!state.segments)
            state.own = std::make_unique<detail::private_memory>(bytes);
        std::byte* const memory =
            state.segments ? state.segments->data(state.node.rank()) : state.own->data();
        resource_ =
            std::make_unique<detail::arena_resource>(memory, static_cast<std::size_t>(bytes));
    });
}

} // namespace reshard

#endif
