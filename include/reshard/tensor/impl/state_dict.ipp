// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TENSOR_IMPL_STATE_DICT_IPP
#define RESHARD_TENSOR_IMPL_STATE_DICT_IPP

#include <reshard/tensor/state_dict.hpp>

#include <reshard/tensor/address_range.hpp>
#include <reshard/tensor/own_overlap.hpp>

namespace reshard {

namespace detail {

RESHARD_DECL void check_shape(shard_descriptor const& shard, const_tensor_view const& elements) {
    index_vector const expected = local_shape(shard);
    if (expected.size() != elements.shape.size() || expected.size() != elements.strides.size())
        fail(errc::shape_mismatch, "'" + shard.key + "': a shard of shape " + to_string(expected) +
                                       " in a tensor of shape " + to_string(elements.shape) +
                                       " with strides " + to_string(elements.strides));
    for (std::size_t axis = 0; axis < expected.size(); ++axis)
        if (expected[axis] != elements.shape[axis])
            fail(errc::shape_mismatch, "'" + shard.key + "': axis " + std::to_string(axis) +
                                           ": a shard of extent " + std::to_string(expected[axis]) +
                                           " in a tensor of extent " +
                                           std::to_string(elements.shape[axis]));
}

RESHARD_DECL void check_memory(shard_descriptor const& shard, const_tensor_view const& elements) {
    index_t const count = element_count(elements.shape);
    if (elements.memory != memory_kind::host)
        fail(errc::unsupported, "'" + shard.key + "': " + std::to_string(count) +
                                    " elements in device memory; copy them to the host");
    if (elements.data == nullptr && count != 0)
        fail(errc::usage,
             "'" + shard.key + "': " + std::to_string(count) + " elements at a null address");
    addresses(elements);
}

RESHARD_DECL void check_writable(shard_descriptor const& shard, tensor_view const& elements) {
    auto const found = own_overlap(elements.shape, elements.strides);
    if (!found)
        return;
    std::string const axis = "'" + shard.key + "': axis " + std::to_string(found->axis) + ": ";
    if (found->step == 0)
        fail(errc::memory_overlap, axis + std::to_string(elements.shape[found->axis]) +
                                       " elements at one address (stride 0) cannot be written");
    fail(errc::memory_overlap,
         axis + "a stride of " + std::to_string(elements.strides[found->axis]) +
             " elements, where the inner axes span " + std::to_string(found->taken) +
             ": elements that share memory cannot be written");
}

} // namespace detail

} // namespace reshard

#endif
