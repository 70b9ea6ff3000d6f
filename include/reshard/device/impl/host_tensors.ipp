// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_DEVICE_IMPL_HOST_TENSORS_IPP
#define RESHARD_DEVICE_IMPL_HOST_TENSORS_IPP

#include <reshard/device/host_tensors.hpp>

#include <reshard/copy/copy_elements.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace reshard::detail {

RESHARD_DECL host_tensor::host_tensor(const_tensor_view const& tensor, device_list const& devices)
    : view_(tensor) {
    if (tensor.memory.is_host() || element_count(tensor.shape) == 0)
        return;
    device* const from = find_device(devices, tensor.memory);
    BOOST_ASSERT(from);
    memory_ = from->host_memory(
        static_cast<std::size_t>(byte_count(element_count(tensor.shape), tensor.dtype)));
    view_ = {memory_.get(), tensor.dtype, tensor.shape, row_major_strides(tensor.shape)};
    element_conversion conversion{tensor.dtype};
    conversion.devices = ends_on(from, nullptr);
    run_and_wait(std::span(&from, 1), [&] {
        copy_elements({tensor.shape, 0, tensor.strides, 0, view_.strides}, conversion, tensor.data,
                      memory_.get());
    });
}

RESHARD_DECL host_tensors::host_tensors(const_state_dict const& tensors, device_list const& devices,
                                        std::function<bool(std::string const& key)> const& accept) {
    for (auto const& [descriptor, tensor] : tensors)
        if (accept(descriptor.key)) {
            auto copy = std::find_if(memory_.begin(), memory_.end(),
                                     [&](auto const& earlier) { return earlier.first == tensor; });
            if (copy == memory_.end())
                copy = memory_.insert(copy, {tensor, host_tensor(tensor, devices)});
            tensors_.add(descriptor, copy->second.view());
        }
}

} // namespace reshard::detail

#endif
