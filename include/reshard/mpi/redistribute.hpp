// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_REDISTRIBUTE_HPP
#define RESHARD_MPI_REDISTRIBUTE_HPP

#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/mpi/laid_out.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/plan/cost.hpp>
#include <reshard/plan/options.hpp>

#include <memory>
#include <optional>

/// \file
/// The façade: tensors of one layout become tensors of another, over a communicator.

namespace reshard {

namespace detail {

struct prepared_state;

} // namespace detail

/// A redistribution that is ready to run, any number of times, as long as the tensors stay where
/// they are.
///
/// Made by `prepare`. Owns its layouts, its plan and its staging memory; refers to the tensors'
/// memory. It also owns a communicator, so every rank destroys its prepared redistributions in the
/// same order. One that was moved from may be destroyed or assigned to; all else throws an error
/// with errc::usage, on this rank alone: where others run theirs, end the job.
class prepared {
public:
    prepared(prepared&& other) noexcept;
    prepared& operator=(prepared&& other) noexcept;
    ~prepared();

    /// Moves the bytes. What fails now ends the job: an error of MPI, or memory of a neighbour that
    /// can no longer be read.
    ///
    /// \par Collective every rank of the communicator, in the same order
    friend void run(prepared& all);

    /// What this process gives and gets.
    process_cost const& cost() const;

    /// The layouts that all ranks make up together, neighbours in memory as one shard; of one that
    /// was looked up, those of this rank.
    compact_layout const& source_layout() const;
    compact_layout const& target_layout() const;

private:
    explicit prepared(std::unique_ptr<detail::prepared_state> all);

    friend prepared prepare(mpi_group const& world, laid_out<const_tensor_view> source,
                            laid_out<tensor_view> target, std::optional<mapping> program,
                            redistribute_options const& options);

    std::unique_ptr<detail::prepared_state> state_;
};

/// Plans the filling of `target` from `source` and binds it to their memory; `run` moves the bytes.
///
/// Each rank gives the shards that it holds; ranks may hold different keys, several shards of a
/// key, or nothing. Where a rank knows the layout of a side, it gives that too; then the ranks
/// compare a digest of it and tell nothing else of that side. Without a program, each target key is
/// the source key of that name. Tensors that the program only adds (`_ -> key`) keep their content.
/// A `boost::mpi::communicator` is a group too. Where tensors of a side lie in an arena, all ranks
/// give theirs, of the same group, and ranks of a node copy without messages.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank alike, before anything is written: as `layout_of`, `problem_of` and
///         `make_plan`; errc::ranks_disagree for different programs, options or layouts;
///         errc::bad_layout where a rank holds more or less than the layout says;
///         errc::memory_overlap where a target shares memory with another tensor; errc::usage for
///         an arena of other ranks, or a bad RESHARD_RANKS_PER_NODE
RESHARD_DECL prepared prepare(mpi_group const& world, laid_out<const_tensor_view> source,
                              laid_out<tensor_view> target,
                              std::optional<mapping> program = std::nullopt,
                              redistribute_options const& options = {});

/// The same for tensors whose layouts no rank knows: every rank tells all others what it holds.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as above
RESHARD_DECL prepared prepare(mpi_group const& world, const_state_dict source, state_dict target,
                              std::optional<mapping> program = std::nullopt,
                              redistribute_options const& options = {});

/// The same by name.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as above
RESHARD_DECL prepared prepare(mpi_group const& world, const_state_dict source, state_dict target,
                              redistribute_options const& options);

/// Fills tensors from others of layouts that are known, by name or as `program` says.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as `prepare`
RESHARD_DECL void redistribute(mpi_group const& world, laid_out<const_tensor_view> source,
                               laid_out<tensor_view> target,
                               std::optional<mapping> program = std::nullopt,
                               redistribute_options const& options = {});

/// Fills the tensors of `target` from those of `source`, by name.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as `prepare`
RESHARD_DECL void redistribute(mpi_group const& world, const_state_dict const& source,
                               state_dict const& target, redistribute_options const& options = {});

/// Fills the tensors of `target` from those of `source`, as `program` says.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as `prepare`
RESHARD_DECL void redistribute(mpi_group const& world, const_state_dict const& source,
                               state_dict const& target, mapping const& program,
                               redistribute_options const& options = {});

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/redistribute.ipp>
#endif

#endif
