// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_PLAN_SIDES_HPP
#define RESHARD_MPI_PLAN_SIDES_HPP

#include <reshard/core/config.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/mpi/laid_out.hpp>
#include <reshard/mpi/look_up.hpp>
#include <reshard/mpi/replicate_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// From what ranks know of two layouts to the plan of each.

namespace reshard {

namespace detail {

/// A number that stands for the call: equal where ranks do the same.
RESHARD_DECL std::uint64_t digest_of_call(std::optional<mapping> const& program,
                                          redistribute_options const& options);

/// The same, and which arenas there are: all ranks have the same one, or none.
RESHARD_DECL std::uint64_t digest_of_call(std::uint64_t call,
                                          laid_out<const_tensor_view> const& source,
                                          laid_out<tensor_view> const& target);

/// What can be seen of the tensors and arenas of one rank alone.
RESHARD_DECL local_error check_call(mpi_group const& world,
                                    laid_out<const_tensor_view> const& source,
                                    laid_out<tensor_view> const& target);

/// Both sides as far as they are known without telling every shard.
struct two_sides {
    known_side source;
    known_side target;

    bool are_known() const;
};

/// What some rank knows of one side, on every rank.
///
/// \par Collective every rank of the group, in the same order
template <class View>
known_side known_by_some(mpi_group const& ranks, laid_out<View>& side, std::string_view what) {
    auto const count = static_cast<std::size_t>(ranks.size());
    auto known = replicate_known(ranks, std::move(side.layout), what);
    if (known && known->holders > count)
        fail(errc::bad_layout, "the layout of the " + std::string(what) + " is for " +
                                   std::to_string(known->holders) + " ranks, and the group has " +
                                   std::to_string(count));
    return {std::move(known), side.held.descriptors(), {}};
}

/// Every rank learns all shards of a side that none knows.
///
/// \par Collective every rank of the group, in the same order
RESHARD_DECL void gather_unknown(mpi_group const& ranks, known_side& side);

/// \par Collective every rank of the group, in the same order
RESHARD_DECL looked_up plan_for(mpi_group const& ranks, two_sides&& sides,
                                std::optional<mapping> program,
                                redistribute_options const& options);

/// Plans what this rank gives and gets, whatever is known of the layouts.
///
/// \par Collective every rank of the group, in the same order
RESHARD_DECL looked_up plan_job(mpi_group const& ranks, laid_out<const_tensor_view>& source,
                                laid_out<tensor_view>& target, std::optional<mapping> program,
                                redistribute_options const& options);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/plan_sides.ipp>
#endif

#endif
