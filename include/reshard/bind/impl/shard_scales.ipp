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
#include <tuple>
#include <unordered_map>
#include <unordered_set>

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
    for (index_t const count : scale_counts(shape, {from.block})) {
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

/// The tensors that a program relates to scales, by key.
class related_sources {
public:
    explicit related_sources(mapping const& program) : tensors_(program.sources()) {
        for (key_id id = 0; id < tensors_.size(); ++id)
            numbers_.emplace(tensors_.key(id), id);
        for (relation const& related : program.relations())
            if (related.is_of_values() && !related.dequantizes())
                set_factor(related);
    }

    /// \throws error with errc::bad_layout
    std::pair<key_id, dequantized_source> dequantized(relation const& related) const {
        auto const [tensor, scales] = both(related);
        mapping_source const values = tensors_[scales];
        index_vector const shape = tensors_[tensor].shape;
        dequantized_source from{scales, values.shape, related.block, {}};
        bool const is_block = std::ranges::all_of(from.block, [](index_t i) { return i >= 0; });
        if (from.block.size() != shape.size() || !is_block || !match_axes(from, shape))
            fail(errc::bad_layout, "'", related.key, "' of shape ", shape,
                 " is dequantized in blocks of ", related.block, ", but its scales '",
                 related.companion, "' have the shape ", values.shape);
        if (values.dtype != data_type::u8)
            check_float(values);
        if (is_factor_.contains(scales))
            fail(errc::bad_layout, "'", related.companion,
                 "' is both the scales of a tensor and a factor of other scales");
        if (auto const factors = factors_.find(scales); factors != factors_.end())
            std::tie(from.factor, from.divisor) = factors->second;
        return {tensor, std::move(from)};
    }

private:
    std::pair<key_id, key_id> both(relation const& related) const {
        auto const key = numbers_.find(related.key), companion = numbers_.find(related.companion);
        if (key == numbers_.end() || companion == numbers_.end())
            fail(errc::bad_layout, "'", related.key, "' is related to the scales '",
                 related.companion, "', but the program does not have both tensors");
        return {key->second, companion->second};
    }

    static void check_float(mapping_source const& scales) {
        if (!is_floating(scales.dtype))
            fail(errc::bad_layout, "the scales '", scales.key, "' are ", scales.dtype,
                 ", not floating-point numbers");
    }

    void set_factor(relation const& related) {
        auto const [scales, factor] = both(related);
        mapping_source const number = tensors_[factor];
        check_float(number);
        if (element_count(number.shape) != 1)
            fail(errc::bad_layout, "the scales '", related.key, "' are multiplied or divided by '",
                 related.companion, "' of shape ", number.shape, ", which must be one number");
        auto& [multiplied, divided] =
            factors_.try_emplace(scales, zero_source, zero_source).first->second;
        (related.divides() ? divided : multiplied) = factor;
        is_factor_.insert(factor);
    }

    source_list const& tensors_;
    std::unordered_map<std::string_view, key_id> numbers_;
    std::unordered_map<key_id, std::pair<key_id, key_id>> factors_; ///< by number of the scales
    std::unordered_set<key_id> is_factor_;
};

RESHARD_DECL std::map<key_id, dequantized_source> dequantized_sources(mapping const& program) {
    std::map<key_id, dequantized_source> sources;
    if (!dequantizes(program))
        return sources;
    related_sources const tensors(program);
    for (relation const& related : program.relations())
        if (related.dequantizes()) {
            auto [id, from] = tensors.dequantized(related);
            sources.insert_or_assign(id, std::move(from));
        }
    return sources;
}

RESHARD_DECL void check_scales_exist(mapping const& program, plan_problem const& problem) {
    for (auto const& [id, from] : dequantized_sources(program))
        for (key_id const number : {from.scales, from.factor, from.divisor})
            if (number != zero_source && problem.sources[id].shards &&
                !problem.sources[number].shards)
                fail_tensor(errc::unknown_key, problem.sources[id].key,
                            words("is dequantized with '", problem.sources[number].key,
                                  "', which the source does not have"));
}

RESHARD_DECL void scale_values::assign(void const* stored, data_type dtype) {
    data_type const type = dtype == data_type::u8 ? data_type::f8_e8m0 : dtype;
    index_t const count = element_count(region);
    values.resize(static_cast<std::size_t>(count));
    copy_elements({{count}, 0, {1}, 0, {1}}, casting(type, then({}, type, data_type::f32)), stored,
                  values.data());
}

RESHARD_DECL void scale_values::multiply(scale_values const& by, bool divides) {
    float const number = by.values.front();
    for (float& value : values)
        value = divides ? value / number : value * number;
}

/// The box of scales of a box of elements.
inline box scales_of_box(dequantized_source const& from, box const& elements) {
    box const by_axis = scales_of_box(elements, block_form{from.block});
    box region = whole(from.shape);
    for (std::size_t axis = 0; axis < elements.ndim(); ++axis)
        if (auto const own = from.axis[axis]) {
            region.offset[*own] = by_axis.offset[axis];
            region.shape[*own] = by_axis.shape[axis];
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
            fail(errc::unsupported,
                 "its strides in memory overlap or are negative, so the position "
                 "of an element does not determine its scale; make a contiguous "
                 "copy first");
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
    : scale_cache(dequantized_sources(planned.program)), planned_(planned) {
    for (auto const& [id, from] : sources()) {
        source_side const& side = planned.problem.sources[id];
        if (!side.shards)
            continue;
        vector<std::uint32_t> const shards = shards_held(side.shards, me);
        for (key_id const number : {from.factor, from.divisor})
            if (number != zero_source && !shards.empty())
                values_.try_emplace(
                    number, scale_values{whole(planned.program.sources()[number].shape), {}});
        for (std::uint32_t const shard : shards) {
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
    for (auto const& [id, from] : sources())
        for (key_id const number : {from.scales, from.factor, from.divisor})
            if (number != zero_source)
                keys.insert(tensors.key(number));
    const_state_dict stored;
    for (auto const& [descriptor, tensor] : have)
        if (keys.contains(descriptor.key))
            stored.add(descriptor, tensor);
    state_dict wanted;
    for (auto& [scales, values] : values_) {
        mapping_source const tensor = tensors[scales];
        vector<std::byte>& bytes = stored_values_[scales];
        bytes.resize(
            static_cast<std::size_t>(byte_count(element_count(values.region), tensor.dtype)));
        wanted.add({std::string(tensor.key), tensor.dtype, tensor.shape, values.region},
                   tensor_view{bytes.data(), tensor.dtype, values.region.shape,
                               row_major_strides(values.region.shape)});
    }
    moving_ = prepare(stored, wanted);
}

RESHARD_DECL void memory_scales::fetch() {
    run(*moving_);
    for (auto& [scales, values] : values_)
        values.assign(stored_values_.at(scales).data(), planned_.program.sources()[scales].dtype);
    std::set<key_id> done;
    for (auto const& [id, from] : sources())
        if (auto const scales = values_.find(from.scales);
            scales != values_.end() && done.insert(from.scales).second)
            for (key_id const number : {from.factor, from.divisor})
                if (number != zero_source)
                    scales->second.multiply(values_.at(number), number == from.divisor);
}

RESHARD_DECL scale_values const& memory_scales::values_of(bound_plan const&,
                                                          dequantized_source const& from) {
    return values_.at(from.scales);
}

RESHARD_DECL element_scales const& scale_cache::of(bound_plan const& bound, transfer const& t) {
    auto const match = by_shard_.find({t.source_key, t.source_shard});
    if (match != by_shard_.end())
        return match->second;
    source_side const& side = bound.problem.sources[t.source_key];
    auto const from = sources_.find(t.source_key);
    if (from == sources_.end())
        fail_tensor(errc::bad_layout, side.key,
                    "is dequantized, but the program relates it to no scales");
    return by_shard_
        .emplace(std::pair(t.source_key, t.source_shard),
                 scales_in_shard(from->second, values_of(bound, from->second), side.shards,
                                 t.source_shard,
                                 bound.sources.at(side.tensor, t.source_shard).strides))
        .first->second;
}

} // namespace reshard::detail

#endif
