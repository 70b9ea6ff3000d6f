// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_DEVICE_STAGED_DEVICE_HPP
#define RESHARD_DEVICE_STAGED_DEVICE_HPP

#include <reshard/core/config.hpp>
#include <reshard/device/device.hpp>
#include <reshard/tensor/traits.hpp>

#include <cstddef>
#include <functional>

/// \file
/// A device made of two functions that copy bytes.

namespace reshard {

/// Reaches the memory of a device by two functions, one for each direction. The processor packs,
/// transposes and casts.
///
/// A copy reads the bytes from its first to its last element, in parts of at most
/// `staging_bytes`, so gaps between elements are read, too. It writes only elements: runs of
/// contiguous elements in one call each. Elements below 8 bits are an exception: their bytes are
/// read and written as a whole.
class staged_device final : public device {
public:
    using read_function = std::function<void(void* host, void const* memory, std::size_t bytes)>;
    using write_function = std::function<void(void* memory, void const* host, std::size_t bytes)>;

    /// \param read  copies from the device; returns when the bytes have arrived
    /// \param write copies to the device; may return when `host` may change
    /// \param finish waits until all bytes have been written; may be empty
    RESHARD_DECL staged_device(memory_space memory, read_function read, write_function write,
                               std::function<void()> finish = {},
                               std::size_t staging_bytes = std::size_t{1} << 22);

    memory_space space() const override { return space_; }
    RESHARD_DECL void copy(device_copy const& work) override;
    void wait() override {
        if (finish_)
            finish_();
    }

private:
    void copy_part(device_copy const& work, detail::affine_copy const& part);
    void write_runs(device_copy const& work, detail::affine_copy const& part,
                    std::byte const* dense);

    memory_space space_;
    read_function read_;
    write_function write_;
    std::function<void()> finish_;
    std::size_t staging_bytes_;
};

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/device/impl/staged_device.ipp>
#endif

#endif
