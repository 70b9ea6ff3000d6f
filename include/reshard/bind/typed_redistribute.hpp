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
/// Redistribution by a typed plan: the compiler knows the transfers, and the call gives the memory.

namespace reshard {

namespace detail {

/// The tensors of a typed layout.
struct typed_tensors {
    std::span<hashed_key const> keys;
    std::span<typed::kind const* const> kinds;
    holder_t ranks = 0;
};

/// The constants of a typed plan, for a run.
///
/// A tensor is a number: its index in the typed layout.
struct typed_tables {
    typed_tensors source;
    typed_tensors target;
    std::span<pattern_content const* const> contents; ///< by target tensor
    std::span<std::uint32_t const> first_operand;     ///< by target tensor: the first operand
    std::span<std::uint32_t const> operands;          ///< source tensors, by operand
};

/// Constants of a layout. They are copies, because symbols of a layout contain all its keys.
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

/// The transfers of one rank in a typed plan. They are listed, without a search.
///
/// \throws error with errc::bad_layout if the layouts have more ranks than the group, with
///         errc::usage if a side has a layout
RESHARD_DECL made_plan listed_plan(typed_tables const& plan, source_tensors const& have,
                                   target_tensors const& want, group_place at);

template <class Plan>
made_plan listed_plan(source_tensors const& have, target_tensors const& want, group_place at) {
    return listed_plan(tables_of<Plan>::value, have, want, at);
}

} // namespace detail

/// Binds the typed plan `Plan` to tensors; `run` moves the bytes. The call does not plan, and ranks
/// do not exchange descriptions of their tensors.
///
/// Each rank gives its shards in the typed layouts, in memory of any strides. The group is `solo`,
/// or an MPI group with `reshard/mpi.hpp`. `devices` has the devices of this rank's tensors, as
/// `options::devices`.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank, before any element is written: an error from adding a tensor;
///         errc::bad_layout if a rank's tensors are not the shards in its layout, or if the layout
///         has more ranks than the group; errc::ranks_disagree if ranks have different plans;
///         errc::memory_overlap if a target shares memory with another tensor; errc::usage for an
///         arena of other ranks, and for a side with a layout
template <class Plan, class Group>
job prepare(Group const& world, source_tensors have, target_tensors want,
            detail::device_list const& devices = {}) {
    static_assert(sizeof(Plan) > 0); // an error of the plan names the caller here
    return prepare_made(world, detail::plan_maker{&detail::listed_plan<Plan>}, std::move(have),
                        std::move(want), devices);
}

/// Fills the tensors of `want` from the tensors of `have` by the typed plan `Plan`.
///
/// \par Collective every rank of the group, in the same order
/// \throws the errors of `prepare`
template <class Plan, class Group>
void redistribute(Group const& world, source_tensors have, target_tensors want,
                  detail::device_list const& devices = {}) {
    static_assert(sizeof(Plan) > 0);
    job ready = prepare<Plan>(world, std::move(have), std::move(want), devices);
    run(ready);
}

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bind/impl/typed_redistribute.ipp>
#endif

#endif
