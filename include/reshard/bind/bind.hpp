// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_BIND_HPP
#define RESHARD_BIND_BIND_HPP

#include <reshard/bind/place.hpp>
#include <reshard/bind/shard_views.hpp>
#include <reshard/copy/copy_elements.hpp>
#include <reshard/plan/plan.hpp>
#include <reshard/plan/problem.hpp>

/// \file
/// A transfer meets memory: from global coordinates to an affine copy.

namespace reshard {

/// A plan with the tensors that it moves between, of the holders that this process plays.
///
/// Refers to all four, which must live as long.
struct bound_plan {
    plan const& whole;
    plan_problem const& problem;
    shard_views<const_tensor_view> const& sources;
    shard_views<tensor_view> const& targets;
};

/// A place in memory with the strides of the target's factors from there on.
///
/// \par Units elements, from `data`
template <class Pointer>
struct bound_end {
    Pointer data;
    memory_place place;

    static constexpr void members(auto& self, auto&& visit) { visit(self.data, self.place); }
};

/// The source's end of a transfer.
///
/// \pre this process plays the source holder
inline bound_end<void const*> source_end(bound_plan const& bound, transfer const& part) {
    source_side const& side = bound.problem.sources[part.source_key];
    const_tensor_view const& view = bound.sources.at(side.tensor, part.source_shard);
    cut const geometry = cut_of(bound.whole, part);
    memory_place place =
        place_in_shard(side.shards, part.source_shard, geometry.source_offset, view.strides);
    place.strides = geometry.order.apply(
        factor_strides(place.strides, geometry.order.undo(geometry.extent), geometry.joins.source));
    return {view.data, place};
}

/// The target's end of a transfer.
///
/// \pre this process plays the target holder
inline bound_end<void*> target_end(bound_plan const& bound, transfer const& part) {
    target_side const& side = bound.problem.targets[part.target_key];
    tensor_view const& view = bound.targets.at(part.target_key, part.target_shard);
    cut const geometry = cut_of(bound.whole, part);
    memory_place place =
        place_in_shard(side.shards, part.target_shard, geometry.target_offset, view.strides);
    place.strides = factor_strides(place.strides, geometry.extent, geometry.joins.target);
    return {view.data, place};
}

/// What happens to the elements of a transfer from one end to the other.
///
/// \pre the transfer has a source: `part.source_key != zero_source`
inline element_conversion conversion_of(plan const& whole, transfer const& part) {
    return {whole.source_dtypes[part.source_key], whole.chains[part.chain]};
}

namespace detail {

/// Zeros, in whatever data type: all of them are zero bits.
inline void fill_zeros(bound_plan const& bound, transfer const& part) {
    bound_end<void*> const target = target_end(bound, part);
    index_vector const extent = cut_of(bound.whole, part).extent;
    std::uint64_t const zero = 0;
    copy_elements({extent, 0, index_vector::filled(extent.size(), 0), target.place.offset,
                   target.place.strides},
                  {bound.whole.target_dtypes[part.target_key], {}}, &zero, target.data);
}

} // namespace detail

/// Runs a transfer whose two ends are in this process.
///
/// \pre    this process plays both holders, or the target alone where the transfer is zeros
/// \throws error with errc::dtype_mismatch when complex numbers are to become real ones
inline void run_locally(bound_plan const& bound, transfer const& part) {
    if (part.source_key == zero_source)
        return detail::fill_zeros(bound, part);
    bound_end<void const*> const source = source_end(bound, part);
    bound_end<void*> const target = target_end(bound, part);
    copy_elements({cut_of(bound.whole, part).extent, source.place.offset, source.place.strides,
                   target.place.offset, target.place.strides},
                  conversion_of(bound.whole, part), source.data, target.data);
}

} // namespace reshard

#endif
