// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_DEVICE_DEVICES_HPP
#define RESHARD_DEVICE_DEVICES_HPP

#include <reshard/copy/device.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/memory_space.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/tensor/state_dict.hpp>
#include <reshard/tensor/view.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

/// \file
/// The devices of a call.

namespace reshard::detail {

/// The devices that a call may use.
using device_list = vector<std::shared_ptr<device>>;

/// The device of that memory, or null.
RESHARD_DECL device* find_device(device_list const& devices, memory_space memory);

/// The memory of each device.
///
/// \throws error with errc::usage for a null pointer, and for two devices of the same memory
RESHARD_DECL vector<memory_space> spaces_of(device_list const& devices);

/// Waits for all copies that devices have started.
inline void wait_for(device_list const& devices) {
    for (auto const& device : devices)
        device->wait();
}

/// A tensor that the processor can read: the tensor itself, or a row-major copy of a tensor on a
/// device.
class host_tensor {
public:
    /// \pre `devices` has the device of the tensor
    RESHARD_DECL host_tensor(const_tensor_view const& tensor, device_list const& devices);

    const_tensor_view const& view() const { return view_; }

private:
    std::shared_ptr<std::byte[]> memory_; ///< null for a tensor in host memory
    const_tensor_view view_;
};

/// The shards whose keys `accept` returns true for. The processor can read them.
class host_tensors {
public:
    RESHARD_DECL host_tensors(const_state_dict const& tensors, device_list const& devices,
                              std::function<bool(std::string const& key)> const& accept);

    const_state_dict const& tensors() const { return tensors_; }

private:
    vector<std::pair<const_tensor_view, host_tensor>> memory_; ///< each tensor once
    const_state_dict tensors_;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/device/impl/devices.ipp>
#endif

#endif
