// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_LOOK_UP_HPP
#define RESHARD_MPI_LOOK_UP_HPP

#include <reshard/bind/planned_job.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/mpi/shard_directory.hpp>
#include <reshard/plan/plan_problem.hpp>
#include <reshard/plan/told_part.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

/// \file
/// A plan between layouts that no rank knows whole: targets look up their sources, and tell them.

namespace reshard::detail {

/// What a rank knows of one side before it asks: all of it, or the shards that it has itself.
struct known_side {
    std::optional<reshard::layout> layout;
    std::vector<shard_descriptor> held;
    std::vector<shard_descriptor> joined; ///< the same, neighbours in memory as one shard
};

/// The steps of `look_up`.
class plan_search {
public:
    plan_search(mpi_group const& world, options const& how);

    std::shared_ptr<planned_job> run(known_side const& source, known_side const& target,
                                     std::optional<mapping> program);

private:
    std::vector<directory_key> keys_of(known_side const& side);

    /// All keys; where who holds them is not known, the lowest rank that has some of a tensor
    /// stands for all of it.
    layout told_layout(known_side const& side, std::vector<directory_key> const& keys) const;

    /// The side as far as this rank knows it.
    layout own_layout(known_side const& side) const;

    /// The problem that is planned, which refers to `source`.
    plan_problem plan_with(layout const& source);

    void ask(known_side const& source, std::vector<directory_key> const& keys);

    /// The regions of source tensors that the shards of this rank are made of.
    std::vector<directory_entry> questions_to(shard_directory const& directory,
                                              std::vector<directory_key> const& keys) const;

    index_vector const& shape_of(tensor_layout const& tensor) const;

    /// Shards get the numbers that they have at their holder.
    void number_by_holder(plan_problem const& problem,
                          std::vector<std::vector<std::uint32_t>> const& positions);

    /// Each source learns what it gives.
    void tell();

    /// \throws error with errc::corrupt_file where what `rank` told is not between it and this rank
    void check(told_part const& told, int rank) const;

    mpi_group const& world_;
    holder_t me_;
    options const& how_;
    plan_options nodes_;
    sparse_exchange exchange_;
    std::shared_ptr<planned_job> planned_ = std::make_shared<planned_job>();
};

/// The plan of this process, in memory that grows with its own shards, what they are made of, and
/// the number of keys. It is that of gathered layouts, where replicas are described alike; but of
/// source shards that overlap without being replicas, only those that some rank wants are detected.
///
/// \par Collective every rank of the group, in the same order; nothing else communicates over it
/// \pre  each side's layout is known to all ranks, or to none
/// \throws error on every rank alike: as `by_name`, `fit_shapes`, `problem_of` and `make_plan`
inline std::shared_ptr<planned_job> look_up(mpi_group const& world, known_side const& source,
                                            known_side const& target,
                                            std::optional<mapping> program, options const& how) {
    return plan_search(world, how).run(source, target, std::move(program));
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/look_up.ipp>
#endif

#endif
