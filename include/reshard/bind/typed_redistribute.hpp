// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_TYPED_REDISTRIBUTE_HPP
#define RESHARD_BIND_TYPED_REDISTRIBUTE_HPP

#include <reshard/bind/redistribute.hpp>
#include <reshard/core/config.hpp>
#include <reshard/layout/layout_of.hpp>
#include <reshard/plan/typed_plan.hpp>

#include <cstdint>
#include <span>
#include <utility>

/// \file
/// Redistribution by a typed plan: the compiler knows the transfers, and the program the memory.

namespace reshard {

namespace detail {

/// The tensors of a typed layout.
struct typed_tensors {
    std::span<hashed_key const> keys;
    std::span<typed::kind const* const> kinds;
    holder_t ranks = 0;
};

/// The constants of a typed plan, for one that is run.
///
/// A tensor is a number: its index in its typed layout.
struct typed_tables {
    typed_tensors source;
    typed_tensors target;
    std::span<pattern_content const* const> contents; ///< by target tensor
    std::span<std::uint32_t const> first_operand;     ///< by target tensor: its first operand
    std::span<std::uint32_t const> operands;          ///< source tensors
};

/// Constants of a layout; copies, since symbols of a layout have the names of all its tensors.
template <class Layout>
struct tensors_in {
    static constexpr auto keys = Layout::keys.all();
    static constexpr auto kinds = Layout::kinds;
    static constexpr typed_tensors value{keys, kinds, Layout::rank_end};
};

template <class Plan>
struct tables_of {
    static constexpr auto contents = Plan::contents();
    static constexpr auto operands = Plan::operands();
    static constexpr typed_tables value{tensors_in<typename Plan::source_layout>::value,
                                        tensors_in<typename Plan::target_layout>::value, contents,
                                        operands.first, operands.source};
};

/// What one rank gives and gets by a typed plan. Nothing is searched for: transfers are listed.
///
/// \throws error with errc::bad_layout for layouts of more ranks than there are, with errc::usage
///         if a side is given with a layout
RESHARD_DECL made_plan listed_plan(typed_tables const& plan, source_tensors const& have,
                                   target_tensors const& want, group_place at);

template <class Plan>
made_plan listed_plan(source_tensors const& have, target_tensors const& want, group_place at) {
    return listed_plan(tables_of<Plan>::value, have, want, at);
}

} // namespace detail

/// Binds the typed plan `Plan` to tensors; `run` moves the bytes. Nothing is planned, and ranks do
/// not exchange descriptions of their tensors.
///
/// Each rank gives the shards that its layout gives it, in memory of any strides. The group is
/// `solo`, or a group of MPI with `reshard/mpi.hpp`.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank, before anything is written: one that adding a tensor gave;
///         errc::bad_layout if a rank holds more or less than its layout says, or if the layout is
///         for more ranks than the group has; errc::ranks_disagree if ranks have different plans;
///         errc::memory_overlap if a target shares memory with another tensor; errc::usage for
///         an arena of other ranks, and for a layout beside the tensors
template <class Plan, class Group>
job prepare(Group const& world, source_tensors have, target_tensors want) {
    static_assert(sizeof(Plan) > 0); // an error of the plan names the caller
    return prepare_made(world, detail::plan_maker{&detail::listed_plan<Plan>}, std::move(have),
                        std::move(want));
}

/// Fills the tensors of `want` from the tensors of `have`, as the typed plan `Plan` says.
///
/// \par Collective every rank of the group, in the same order
/// \throws error as `prepare`
template <class Plan, class Group>
void redistribute(Group const& world, source_tensors have, target_tensors want) {
    static_assert(sizeof(Plan) > 0);
    job ready = prepare<Plan>(world, std::move(have), std::move(want));
    run(ready);
}

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bind/impl/typed_redistribute.ipp>
#endif

#endif
