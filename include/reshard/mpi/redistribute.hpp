// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_REDISTRIBUTE_HPP
#define RESHARD_MPI_REDISTRIBUTE_HPP

#include <reshard/expr/digest.hpp>
#include <reshard/local/overlap.hpp>
#include <reshard/mpi/exchange.hpp>
#include <reshard/mpi/plan_sides.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

/// \file
/// The façade: tensors of one layout become tensors of another, over a communicator.

namespace reshard {

namespace detail {

/// All that a prepared redistribution owns; the parts refer to one another, so it never moves.
struct prepared_state {
    looked_up planned;
    plan_problem problem;
    shard_views<const_tensor_view> sources;
    shard_views<tensor_view> targets;
    process_cost cost;
    std::optional<exchange> moving;
};

} // namespace detail

/// A redistribution that is ready to run, any number of times, as long as the tensors stay where
/// they are.
///
/// Made by `prepare`. Owns its layouts, its plan and its staging memory; refers to the tensors'
/// memory. It also owns a communicator, so every rank destroys its prepared redistributions in the
/// same order.
class prepared {
public:
    /// Moves the bytes.
    ///
    /// \par Collective every rank of the communicator, in the same order
    friend void run(prepared& all) { all.state_->moving->run(); }

    /// What this process gives and gets.
    process_cost const& cost() const { return state_->cost; }

    /// The layouts that all ranks make up together; of one that was looked up, this rank's part.
    compact_layout const& source_layout() const { return state_->planned.source; }
    compact_layout const& target_layout() const { return state_->planned.target; }

private:
    explicit prepared(std::unique_ptr<detail::prepared_state> all) : state_(std::move(all)) {}

    friend prepared prepare(mpi_group const& world, laid_out<const_tensor_view> source,
                            laid_out<tensor_view> target, std::optional<mapping> program,
                            redistribute_options const& options);

    std::unique_ptr<detail::prepared_state> state_;
};

namespace detail {

/// The transfers of one process by peer, and those that stay.
struct sorted_transfers {
    std::vector<std::vector<std::uint32_t>> to;
    std::vector<std::vector<std::uint32_t>> from;
    std::vector<std::uint32_t> local;
};

inline sorted_transfers sort_by_peer(plan const& whole, int rank, int size) {
    sorted_transfers sorted;
    sorted.to.resize(static_cast<std::size_t>(size));
    sorted.from.resize(static_cast<std::size_t>(size));
    auto const me = static_cast<holder_t>(rank);
    for (std::uint32_t i = 0; i < whole.transfers.size(); ++i) {
        transfer const& part = whole.transfers[i];
        if (part.target_holder == me &&
            (part.source_holder == me || part.source_holder == no_holder))
            sorted.local.push_back(i);
        else if (part.target_holder == me)
            sorted.from[part.source_holder].push_back(i);
        else
            sorted.to[part.target_holder].push_back(i);
    }
    return sorted;
}

/// One lane a peer, those nearest in the direction of `step` first.
inline std::vector<lane> rotated_lanes(plan const& whole,
                                       std::vector<std::vector<std::uint32_t>> const& by_peer,
                                       int rank, int step) {
    std::vector<lane> lanes;
    int const size = static_cast<int>(by_peer.size());
    for (int distance = 1; distance < size; ++distance) {
        int const peer = (rank + step * distance + size) % size;
        auto const& numbers = by_peer[static_cast<std::size_t>(peer)];
        if (!numbers.empty())
            lanes.push_back({peer, chunks_of(whole, numbers)});
    }
    return lanes;
}

inline process_cost cost_of(plan const& whole, sorted_transfers const& sorted) {
    process_cost cost;
    auto const sum = [&](std::vector<std::uint32_t> const& numbers, index_t& bytes) {
        for (std::uint32_t const i : numbers)
            bytes += wire_bytes(whole, whole.transfers[i]);
    };
    sum(sorted.local, cost.bytes_local);
    for (std::size_t peer = 0; peer < sorted.to.size(); ++peer) {
        sum(sorted.to[peer], cost.bytes_out);
        sum(sorted.from[peer], cost.bytes_in);
        cost.messages_out += !sorted.to[peer].empty();
        cost.messages_in += !sorted.from[peer].empty();
    }
    return cost;
}

/// Binds the plan to the tensors. Communicates with nobody.
inline void bind(prepared_state& all, mpi_group const& ranks, const_state_dict const& source,
                 state_dict const& target) {
    auto const me = static_cast<holder_t>(ranks.rank());
    looked_up const& planned = all.planned;
    all.problem = problem_of(planned.program, planned.source, planned.target);
    all.sources.add(source, planned.source, me);
    check_complete(all.sources, planned.source, me);
    all.targets.add(target, planned.target, me);
    check_complete(all.targets, planned.target, me);
    auto sorted = sort_by_peer(planned.whole, ranks.rank(), ranks.size());
    all.cost = cost_of(planned.whole, sorted);
    all.moving.emplace(
        ranks.base(), bound_plan{planned.whole, all.problem, all.sources, all.targets},
        process_transfers{rotated_lanes(planned.whole, sorted.to, ranks.rank(), 1),
                          rotated_lanes(planned.whole, sorted.from, ranks.rank(), -1),
                          std::move(sorted.local)});
}

/// A number that stands for the call: equal where ranks do the same.
inline std::uint64_t digest_of_call(std::optional<mapping> const& program,
                                    redistribute_options const& options) {
    hasher digest;
    digest.add(program ? digest_of(*program) : 0);
    digest.add(digest_of(options));
    return digest.value();
}

} // namespace detail

/// Plans the filling of `target` from `source` and binds it to their memory; `run` moves the bytes.
///
/// Each rank gives the shards that it holds; ranks may hold different keys, several shards of a
/// key, or nothing. Where a rank knows the layout of a side, it gives that too; then the ranks
/// compare a digest of it and tell nothing else of that side. Without a program, each target key is
/// the source key of that name. Tensors that the program only adds (`_ -> key`) keep their content.
/// A `boost::mpi::communicator` is a group too.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank alike, before anything is written: as `layout_of`, `problem_of` and
///         `make_plan`; errc::ranks_disagree for different programs, options or layouts;
///         errc::bad_layout where a rank holds more or less than the layout says;
///         errc::memory_overlap where a target shares memory with another tensor
inline prepared prepare(mpi_group const& world, laid_out<const_tensor_view> source,
                        laid_out<tensor_view> target, std::optional<mapping> program = std::nullopt,
                        redistribute_options const& options = {}) {
    agree_to_run(world, "redistribute", detail::digest_of_call(program, options), attempt([&] {
                     check_memory({&source.held, 1}, {&target.held, 1});
                 }));
    mpi_group const ranks =
        mpi_group::duplicate_of(world.base()); // apart from the caller's messages
    auto all = std::make_unique<detail::prepared_state>();
    all->planned = detail::plan_job(ranks, source, target, std::move(program), options);
    agree_on(ranks, [&] { detail::bind(*all, ranks, source.held, target.held); });
    return prepared(std::move(all));
}

/// The same for tensors whose layouts no rank knows: every rank tells all others what it holds.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as above
inline prepared prepare(mpi_group const& world, const_state_dict const& source,
                        state_dict const& target, std::optional<mapping> program = std::nullopt,
                        redistribute_options const& options = {}) {
    return prepare(world, laid_out<const_tensor_view>{source}, laid_out<tensor_view>{target},
                   std::move(program), options);
}

/// Fills tensors from others of layouts that are known, by name or as `program` says.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as `prepare`
inline void redistribute(mpi_group const& world, laid_out<const_tensor_view> source,
                         laid_out<tensor_view> target,
                         std::optional<mapping> program = std::nullopt,
                         redistribute_options const& options = {}) {
    prepared all =
        prepare(world, std::move(source), std::move(target), std::move(program), options);
    run(all);
}

/// Fills the tensors of `target` from those of `source`, by name.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as `prepare`
inline void redistribute(mpi_group const& world, const_state_dict const& source,
                         state_dict const& target, redistribute_options const& options = {}) {
    prepared all = prepare(world, source, target, std::nullopt, options);
    run(all);
}

/// Fills the tensors of `target` from those of `source`, as `program` says.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as `prepare`
inline void redistribute(mpi_group const& world, const_state_dict const& source,
                         state_dict const& target, mapping const& program,
                         redistribute_options const& options = {}) {
    prepared all = prepare(world, source, target, program, options);
    run(all);
}

} // namespace reshard

#endif
