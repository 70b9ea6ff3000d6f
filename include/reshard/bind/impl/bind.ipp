// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_IMPL_BIND_IPP
#define RESHARD_BIND_IMPL_BIND_IPP

#include <reshard/bind/bind.hpp>

#include <reshard/copy/copy_elements.hpp>

#include <cstdint>

namespace reshard {

namespace detail {

RESHARD_DECL bound_end<void const*> source_end(bound_plan const& bound, transfer const& t) {
    source_side const& side = bound.problem.sources[t.source_key];
    const_tensor_view const& view = bound.sources.at(side.tensor, t.source_shard);
    cut const geometry = cut_of(bound.whole, t);
    memory_place memory =
        place_in_shard(side.shards, t.source_shard, geometry.source_offset, view.strides);
    memory.strides = geometry.source_strides(memory.strides, side.shards.cycles(t.source_shard));
    return {view.data, memory};
}

RESHARD_DECL bound_end<void*> target_end(bound_plan const& bound, transfer const& t) {
    target_side const& side = bound.problem.targets[t.target_key];
    tensor_view const& view = bound.targets.at(t.target_key, t.target_shard);
    cut const geometry = cut_of(bound.whole, t);
    memory_place memory =
        place_in_shard(side.shards, t.target_shard, geometry.target_offset, view.strides);
    memory.strides = geometry.target_strides(memory.strides, side.shards.cycles(t.target_shard));
    return {view.data, memory};
}

RESHARD_DECL element_conversion conversion_of(bound_plan const& bound, transfer const& t) {
    element_conversion conversion{bound.whole.source_dtypes[t.source_key],
                                  bound.whole.chains[t.chain], bound.conversions};
    if (conversion.chain.dequantizes()) {
        source_side const& side = bound.problem.sources[t.source_key];
        if (!bound.scales)
            fail_tensor(errc::bad_layout, side.key,
                        "is dequantized, but the program relates it to no scales");
        conversion.scales = &bound.scales->of(bound, t);
        conversion.first =
            reinterpret_cast<std::uintptr_t>(bound.sources.at(side.tensor, t.source_shard).data);
    }
    if (bound.has_devices())
        conversion.devices = ends_of(bound, t);
    return conversion;
}

RESHARD_DECL device_ends ends_of(bound_plan const& bound, transfer const& t) {
    device* const source =
        t.source_key == zero_source
            ? nullptr
            : device_of(bound, bound.sources, bound.problem.sources[t.source_key].tensor,
                        t.source_shard);
    return ends_on(source, device_of(bound, bound.targets, t.target_key, t.target_shard));
}

RESHARD_DECL affine_copy loop_of(bound_plan const& bound, transfer const& t) {
    memory_place const source = source_end(bound, t).position,
                       target = target_end(bound, t).position;
    return {cut_of(bound.whole, t).loop_extent(), source.offset, source.strides, target.offset,
            target.strides};
}

/// Zeros of any data type: all of these are zero bits.
inline void fill_zeros(bound_plan const& bound, transfer const& t) {
    bound_end<void*> const target = target_end(bound, t);
    index_vector const extent = cut_of(bound.whole, t).loop_extent();
    static constexpr std::uint64_t zeros[2] = {}; // devices may read them later
    element_conversion conversion{bound.whole.target_dtypes[t.target_key]};
    conversion.devices = ends_of(bound, t);
    copy_elements({extent, 0, index_vector::filled(extent.size(), 0), target.position.offset,
                   target.position.strides},
                  conversion, zeros, target.data);
}

RESHARD_DECL void run_locally(bound_plan const& bound, transfer const& t) {
    if (t.source_key == zero_source)
        return fill_zeros(bound, t);
    bound_end<void const*> const source = source_end(bound, t);
    bound_end<void*> const target = target_end(bound, t);
    copy_elements({cut_of(bound.whole, t).loop_extent(), source.position.offset,
                   source.position.strides, target.position.offset, target.position.strides},
                  conversion_of(bound, t), source.data, target.data);
}

} // namespace detail

} // namespace reshard

#endif
