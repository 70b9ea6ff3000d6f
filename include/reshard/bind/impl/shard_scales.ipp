// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_IMPL_SHARD_SCALES_IPP
#define RESHARD_BIND_IMPL_SHARD_SCALES_IPP

#include <reshard/bind/shard_scales.hpp>

#include <reshard/copy/copy_elements.hpp>
#include <reshard/plan/planned_job.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

namespace reshard::detail {

/// Matches the axes of scales with the axes of their tensor, in order. Axes with one scale may be
/// missing on either side.
///
/// \return false if they do not match
inline bool match_axes(dequantized_source& from, index_vector const& shape) {
    std::size_t next = 0;
    auto const skip_ones = [&] {
        while (next < from.shape.size() && from.shape[next] == 1)
            ++next;
    };
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        index_t const block = from.block[axis];
        index_t const count = block == 0 ? 1 : shape[axis] / block + (shape[axis] % block != 0);
        from.axis.emplace_back();
        if (count == 1)
            continue;
        skip_ones();
        if (next == from.shape.size() || from.shape[next] != count)
            return false;
        from.axis.back() = next++;
    }
    skip_ones();
    return next == from.shape.size();
}

RESHARD_DECL std::map<key_id, dequantized_source> dequantized_sources(mapping const& program) {
    std::map<key_id, dequantized_source> sources;
    std::unordered_map<std::string_view, key_id> numbers;
    source_list const& tensors = program.sources();
    for (relation const& related : program.relations()) {
        if (related.type != relation::kind::dequantize)
            continue;
        for (auto id = static_cast<key_id>(numbers.size()); id < tensors.size(); ++id)
            numbers.emplace(tensors.key(id), id);
        auto const tensor = numbers.find(related.key), scales = numbers.find(related.companion);
        if (tensor == numbers.end() || scales == numbers.end())
            fail(errc::bad_layout, "'", related.key, "' is dequantized with the scales '",
                 related.companion, "', but the program does not have both tensors");
        mapping_source const found = tensors[scales->second];
        index_vector const shape = tensors[tensor->second].shape;
        dequantized_source from{scales->second, found.dtype, found.shape, related.block, {}};
        bool const is_block = std::ranges::all_of(from.block, [](index_t i) { return i >= 0; });
        if (from.block.size() != shape.size() || !is_block || !match_axes(from, shape))
            fail(errc::bad_layout, "'", related.key, "' of shape ", shape,
                 " is dequantized in blocks of ", related.block, ", but its scales '",
                 related.companion, "' have the shape ", found.shape);
        sources.insert_or_assign(tensor->second, std::move(from));
    }
    return sources;
}

RESHARD_DECL void scale_values::assign(void const* stored, data_type dtype) {
    data_type const type = dtype == data_type::u8 ? data_type::f8_e8m0 : dtype;
    index_t const count = element_count(region);
    values.resize(static_cast<std::size_t>(count));
    copy_elements({{count}, 0, {1}, 0, {1}}, casting(type, then({}, type, data_type::f32)), stored,
                  values.data());
}

/// The box of scales of a box of elements.
inline box scales_of_box(dequantized_source const& from, box const& elements) {
    box region{index_vector::filled(from.shape.size(), 0), from.shape};
    for (std::size_t axis = 0; axis < elements.ndim(); ++axis)
        if (auto const own = from.axis[axis]) {
            index_t const block = from.block[axis], end = elements.end(axis);
            index_t const first = elements.offset[axis] / block;
            region.offset[*own] = first;
            region.shape[*own] = end / block + (end % block != 0) - first;
        }
    return region;
}

/// Adds the axes in memory of one axis of a shard: of its blocks and of the elements in them.
inline void add_memory_axes(vector<element_scales::memory_axis>& memory, std::size_t axis,
                            index_t extent, index_vector const& strides, std::size_t ndim,
                            axis_cycles const& cycles) {
    index_t const within = strides[strides.size() - ndim + axis];
    auto const cycle = std::ranges::find(cycles, axis, &axis_cycle::axis);
    if (cycle == cycles.end()) {
        memory.push_back({within, extent, axis, 1});
        return;
    }
    index_t const between = strides.size() > ndim ? strides[axis] : cycle->block * within;
    index_t const blocks = extent / cycle->period + (extent % cycle->period != 0);
    memory.push_back({between, blocks, axis, cycle->period});
    memory.push_back({within, std::min(cycle->block, extent), axis, 1});
}

/// Sorts axes in memory by their strides, without axes of one element.
///
/// \throws error with errc::unsupported unless each position has one index
inline void sort_memory_axes(vector<element_scales::memory_axis>& memory) {
    erase_if(memory, [](auto const& axis) { return axis.extent == 1; });
    std::ranges::sort(memory, std::greater<>(), &element_scales::memory_axis::stride);
    index_t reach = 1; // positions of the axes that follow
    for (auto axis = memory.rbegin(); axis != memory.rend(); ++axis) {
        if (axis->stride < reach)
            fail(errc::unsupported, "its strides in memory overlap or are negative, and its scales "
                                    "cannot be found by position; copy it first");
        reach = axis->stride * (axis->extent - 1) + reach;
    }
}

RESHARD_DECL element_scales scales_in_shard(dequantized_source const& from,
                                            scale_values const& values, tensor_shards const& shards,
                                            std::uint32_t shard, index_vector const& view_strides) {
    box const region = shards.region(shard);
    auto const flat = shards.flat(shard);
    index_vector strides = view_strides;
    element_scales scales;
    if (flat) {
        strides = row_major_strides(region.shape);
        for (index_t& stride : strides)
            stride *= view_strides[0];
        scales.offset = flat->begin * view_strides[0];
    }
    axis_cycles const cycles = shards.cycles(shard);
    index_vector const steps = row_major_strides(values.region.shape);
    for (std::size_t axis = 0; axis < region.ndim(); ++axis) {
        add_memory_axes(scales.memory, axis, region.shape[axis], strides, region.ndim(), cycles);
        auto const own = from.axis[axis];
        scales.axes.push_back(
            {region.offset[axis], own ? from.block[axis] : 0, own ? steps[*own] : 0});
    }
    sort_memory_axes(scales.memory);
    for (std::size_t axis = 0; axis < steps.size(); ++axis)
        scales.origin += values.region.offset[axis] * steps[axis];
    scales.values = values.values.data();
    return scales;
}

RESHARD_DECL memory_scales::memory_scales(planned_job const& planned, holder_t me)
    : planned_(planned), sources_(dequantized_sources(planned.program)) {
    for (auto const& [id, from] : sources_) {
        source_side const& side = planned.problem.sources[id];
        if (!side.shards)
            continue;
        for (std::uint32_t const shard : shards_held(side.shards, me)) {
            box const wanted = scales_of_box(from, side.shards.region(shard));
            box& region =
                values_.try_emplace(from.scales, scale_values{wanted, {}}).first->second.region;
            for (std::size_t axis = 0; axis < region.ndim(); ++axis) {
                index_t const begin = std::min(region.offset[axis], wanted.offset[axis]);
                region.shape[axis] = std::max(region.end(axis), wanted.end(axis)) - begin;
                region.offset[axis] = begin;
            }
        }
    }
    for (auto& [scales, values] : values_)
        values.values.resize(static_cast<std::size_t>(element_count(values.region)));
}

RESHARD_DECL void memory_scales::prepare(const_state_dict const& have,
                                         tensor_preparer const& prepare) {
    source_list const& tensors = planned_.program.sources();
    std::set<std::string_view> keys;
    for (auto const& [id, from] : sources_)
        keys.insert(tensors.key(from.scales));
    const_state_dict held;
    for (auto const& [descriptor, tensor] : have)
        if (keys.contains(descriptor.key))
            held.add(descriptor, tensor);
    state_dict wanted;
    for (auto& [scales, values] : values_) {
        mapping_source const tensor = tensors[scales];
        vector<std::byte>& stored = stored_values_[scales];
        stored.resize(
            static_cast<std::size_t>(byte_count(element_count(values.region), tensor.dtype)));
        wanted.add({std::string(tensor.key), tensor.dtype, tensor.shape, values.region},
                   tensor_view{stored.data(), tensor.dtype, values.region.shape,
                               row_major_strides(values.region.shape)});
    }
    moving_ = prepare(held, wanted);
}

RESHARD_DECL void memory_scales::fetch() {
    run(*moving_);
    for (auto& [scales, values] : values_)
        values.assign(stored_values_.at(scales).data(), planned_.program.sources()[scales].dtype);
}

RESHARD_DECL element_scales const& memory_scales::of(bound_plan const& bound, transfer const& t) {
    auto const match = by_shard_.find({t.source_key, t.source_shard});
    if (match != by_shard_.end())
        return match->second;
    source_side const& side = bound.problem.sources[t.source_key];
    dequantized_source const& from = sources_.at(t.source_key);
    return by_shard_
        .emplace(std::pair(t.source_key, t.source_shard),
                 scales_in_shard(from, values_.at(from.scales), side.shards, t.source_shard,
                                 bound.sources.at(side.tensor, t.source_shard).strides))
        .first->second;
}

} // namespace reshard::detail

#endif
