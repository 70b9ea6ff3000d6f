// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TENSOR_IMPL_STATE_DICT_IPP
#define RESHARD_TENSOR_IMPL_STATE_DICT_IPP

#include <reshard/tensor/state_dict.hpp>

#include <reshard/core/key_index.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/tensor/self_overlap.hpp>
#include <reshard/tensor/view.hpp>

#include <algorithm>

namespace reshard::detail {

RESHARD_DECL void check_shape(shard_descriptor const& shard, const_tensor_view const& elements) {
    index_vector const expected = local_shape(shard);
    if (expected.size() != elements.shape.size() || expected.size() != elements.strides.size())
        fail(errc::shape_mismatch, "'", shard.key, "': a shard of shape ", expected,
             " does not fit a tensor of shape ", elements.shape, " with strides ",
             elements.strides);
    for (std::size_t axis = 0; axis < expected.size(); ++axis)
        if (expected[axis] != elements.shape[axis])
            fail(errc::shape_mismatch, "'", shard.key, "': axis ", axis, ": a shard of extent ",
                 expected[axis], " does not fit a tensor of extent ", elements.shape[axis]);
}

/// The axis along which several shards fill an array one after the other. It is the first axis
/// along which a shard has another extent than the array.
///
/// \pre there are several shards, and each has the array's number of axes
inline std::size_t stacked_axis(vector<shard_descriptor> const& shards, index_vector const& shape) {
    std::size_t axis = 0;
    while (axis + 1 < shape.size() &&
           std::all_of(shards.begin(), shards.end(), [&](shard_descriptor const& shard) {
               return local_shape(shard)[axis] == shape[axis];
           }))
        ++axis;
    return axis;
}

/// Throws if several shards do not fill an array one after the other along an axis.
inline void check_stacked(vector<shard_descriptor> const& shards, std::size_t along,
                          index_vector const& shape) {
    index_vector expected = local_shape(shards.front());
    for (std::size_t i = 1; i < shards.size(); ++i)
        expected[along] += local_shape(shards[i])[along];
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        for (shard_descriptor const& shard : shards)
            if (axis != along)
                expected[axis] = std::max(expected[axis], local_shape(shard)[axis]);
        if (expected[axis] != shape[axis])
            fail(errc::shape_mismatch, "'", shards.front().key, "': axis ", axis, ": ",
                 detail::counted(shards.size(), "shard"), " of extent ", expected[axis],
                 " together do not fit a tensor of extent ", shape[axis]);
    }
}

/// Throws if an array has elements although the rank holds no elements.
inline void check_none(std::string_view key, index_t rank, const_tensor_view const& local) {
    for (std::size_t axis = 0; axis < local.shape.size(); ++axis)
        if (element_count(local.shape) > 0)
            fail(errc::shape_mismatch, "'", key, "': axis ", axis, ": a tensor of extent ",
                 local.shape[axis], " on rank ", rank, ", but the layout assigns it 0 elements");
}

RESHARD_DECL vector<placed_shard> placed_shards(std::string_view key, layout const& layout,
                                                index_t rank, const_tensor_view const& local) {
    tensor_layout const* const tensor_layout = layout.find(key);
    if (!tensor_layout)
        fail(errc::unknown_key, "'", key, "' is not a tensor of the layout",
             did_you_mean_key(key, layout.tensors, &tensor_layout::key));
    vector<shard_descriptor> shards = shards_of(layout, *tensor_layout, rank);
    if (shards.empty())
        check_none(key, rank, local);
    if (shards.size() < 2 || local.shape.empty()) {
        vector<placed_shard> single;
        for (shard_descriptor& shard : shards) {
            check_shape(shard, local);
            single.push_back({std::move(shard), 0});
        }
        return single;
    }
    for (shard_descriptor const& shard : shards)
        if (local_shape(shard).size() != local.shape.size())
            check_shape(shard, local);
    std::size_t const along = stacked_axis(shards, local.shape);
    check_stacked(shards, along, local.shape);
    vector<placed_shard> placed;
    index_t before = 0;
    for (shard_descriptor& shard : shards) {
        index_t const extent = local_shape(shard)[along];
        placed.push_back({std::move(shard), before * local.strides[along]});
        if (byte_place_of(placed.back().offset, local.dtype).rest != 0)
            fail(errc::unsupported, "'", key, "': axis ", along, ": a shard at element ", before,
                 " does not begin at a whole byte, with ", bits(local.dtype), " bits per element");
        before += extent;
    }
    return placed;
}

RESHARD_DECL void check_memory(shard_descriptor const& shard, const_tensor_view const& elements) {
    index_t const count = element_count(elements.shape);
    if (elements.data == nullptr && count != 0)
        fail(errc::usage, "'", shard.key, "': ", counted(count, "element"), " at a null address");
    try {
        addresses(elements);
    } catch (error const& problem) {
        throw error(problem.code(), words("'", shard.key, "': ", elements, ": ", problem.what()));
    }
}

RESHARD_DECL void refuse_device(device_use const& shard, std::span<memory_space const> others) {
    std::string listed;
    for (memory_space const other : others)
        listed += (listed.empty() ? ", which has only " : " and ") + to_string(other);
    fail(errc::unsupported, "'", shard.key, "': ", counted(shard.elements, "element"),
         " in the memory of ", shard.memory, "; give the call its device (options.devices", listed,
         ", see doc/devices.md), or copy them to the host");
}

RESHARD_DECL void check_writable(shard_descriptor const& shard, tensor_view const& elements) {
    auto const match = self_overlap(elements.shape, elements.strides);
    if (!match)
        return;
    std::string const axis = "'" + shard.key + "': axis " + std::to_string(match->axis) + ": ";
    if (match->step == 0)
        fail(errc::memory_overlap, axis, elements.shape[match->axis],
             " elements at one address (stride 0) cannot be written");
    fail(errc::memory_overlap, axis, "a stride of ", elements.strides[match->axis],
         " elements, but the inner axes span ", match->taken,
         ": elements that share memory cannot be written");
}

} // namespace reshard::detail

#endif
