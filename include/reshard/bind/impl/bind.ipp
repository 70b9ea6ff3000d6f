// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_IMPL_BIND_IPP
#define RESHARD_BIND_IMPL_BIND_IPP

#include <reshard/bind/bind.hpp>

#include <reshard/copy/copy_elements.hpp>

#include <cstdint>

namespace reshard {

RESHARD_DECL bound_end<void const*> source_end(bound_plan const& bound, transfer const& part) {
    source_side const& side = bound.problem.sources[part.source_key];
    const_tensor_view const& view = bound.sources.at(side.tensor, part.source_shard);
    cut const geometry = cut_of(bound.whole, part);
    memory_place place =
        place_in_shard(side.shards, part.source_shard, geometry.source_offset, view.strides);
    place.strides = geometry.order.apply(
        factor_strides(place.strides, geometry.order.undo(geometry.extent), geometry.joins.source));
    return {view.data, place};
}

RESHARD_DECL bound_end<void*> target_end(bound_plan const& bound, transfer const& part) {
    target_side const& side = bound.problem.targets[part.target_key];
    tensor_view const& view = bound.targets.at(part.target_key, part.target_shard);
    cut const geometry = cut_of(bound.whole, part);
    memory_place place =
        place_in_shard(side.shards, part.target_shard, geometry.target_offset, view.strides);
    place.strides = factor_strides(place.strides, geometry.extent, geometry.joins.target);
    return {view.data, place};
}

RESHARD_DECL element_conversion conversion_of(plan const& whole, transfer const& part) {
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

RESHARD_DECL void run_locally(bound_plan const& bound, transfer const& part) {
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
