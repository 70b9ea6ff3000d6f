// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_DEVICE_HOST_TENSORS_HPP
#define RESHARD_DEVICE_HOST_TENSORS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/device/device.hpp>
#include <reshard/tensor/state_dict.hpp>
#include <reshard/tensor/view.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

/// \file
/// Copies of tensors on devices that the processor can read, to compare tensors.

namespace reshard::detail {

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
#include <reshard/device/impl/host_tensors.ipp>
#endif

#endif
