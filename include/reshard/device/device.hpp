// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_DEVICE_DEVICE_HPP
#define RESHARD_DEVICE_DEVICE_HPP

#include <reshard/copy/affine_copy.hpp>
#include <reshard/copy/choose.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/tensor/traits.hpp>

#include <cstddef>
#include <functional>
#include <memory>

/// \file
/// The interface to memory that the processor cannot use.

namespace reshard {

/// A copy that a device makes. At least one end is in the device's memory; the other end is there
/// too, or in host memory.
///
/// A device uses the `extent`, the offsets and the strides of the loop, `source` and `chain` of the
/// conversion, or passes both to `copy_elements`. These members are as stable as public names.
struct device_copy {
    detail::affine_copy loop; ///< in elements, from `source` and `target`; its axes are fused
    detail::element_conversion conversion;
    void const* source = nullptr;
    void* target = nullptr;
    bool reads_device = false;  ///< whether the source is in the device's memory
    bool writes_device = false; ///< whether the target is
};

/// A device, and the functions that reach its memory.
///
/// `device/staged_device.hpp` makes one of two functions; `cuda.hpp` makes one for CUDA.
/// `testing/check_device.hpp` tests any. One thread at a time uses a device.
class device {
public:
    virtual ~device() = default;

    /// The memory of the tensors that this device copies.
    virtual memory_space space() const = 0;

    /// Starts a copy, or makes it. Both ends exist until `wait` returns. Copies that were started
    /// since the last `wait` write different elements, and read none that another one writes. So a
    /// device may make them in any order.
    ///
    /// \throws error with errc::unsupported for a conversion that the device cannot make
    virtual void copy(device_copy const& work) = 0;

    /// Begins to work on the copies that were started, if the device has only collected them. The
    /// processor does other work meanwhile.
    virtual void submit() {}

    /// Waits until all copies that were started are complete. After an error, none is pending.
    virtual void wait() = 0;

    /// Ends a call whose copies a recording has started. By default waits; a device may return
    /// earlier if its own order guarantees that later work of the caller follows the copies.
    virtual void finish() { wait(); }

    /// Copies that a device has prepared, to make them again and again.
    class recording {
    public:
        virtual ~recording() = default;

        /// Starts the copies, as `copy` does.
        virtual void start() = 0;
    };

    /// Records the copies that `start` gives to this device; none of them is made. Returns null, as
    /// by default, if the device does not record such copies.
    ///
    /// \param start starts copies on this device alone
    virtual std::unique_ptr<recording> record([[maybe_unused]] std::function<void()> const& start) {
        return nullptr;
    }

    /// Host memory for elements that the library copies to or from the device.
    virtual std::shared_ptr<std::byte[]> host_memory(std::size_t bytes) {
        return std::shared_ptr<std::byte[]>(new std::byte[bytes]);
    }

    /// Memory of this device for messages, which MPI reads and writes there; null, as by default,
    /// if messages are in host memory.
    ///
    /// \param mpi_reads_it whether MPI says that it reads and writes the memory of this device
    virtual std::shared_ptr<std::byte[]> message_memory([[maybe_unused]] std::size_t bytes,
                                                        [[maybe_unused]] bool mpi_reads_it) {
        return nullptr;
    }
};

} // namespace reshard

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
void wait_for(auto const& devices) {
    for (auto const& device : devices)
        device->wait();
}

/// Waits for all copies that devices have started. Further errors are ignored.
void wait_after_error(auto const& devices) {
    for (auto const& device : devices)
        try {
            device->wait();
        } catch (...) { // the first error is reported
        }
}

/// Runs `start`, which starts copies, and calls `end` for each device. No copy is pending after an
/// error, so the memory of its ends may be freed.
void run_copies(auto const& devices, auto const& start, auto const& end) {
    try {
        start();
        for (auto const& device : devices)
            end(*device);
    } catch (...) {
        wait_after_error(devices);
        throw;
    }
}

/// Runs `start`, which starts copies, and waits for them.
void run_and_wait(auto const& devices, auto const& start) {
    run_copies(devices, start, [](auto& device) { device.wait(); });
}

/// The device that makes all copies of a group, if there is one.
struct common_device {
    device* first = nullptr; ///< the first device that makes a copy, if any
    bool makes_all = true;

    RESHARD_DECL void add(device_ends const& ends);

    device* get() const { return makes_all ? first : nullptr; }
};

/// A group of copies that is made again and again. A device records it before it is made for the
/// second time.
class repeated_copies {
public:
    /// Starts the copies if they are recorded, and returns the device that makes them. Returns null
    /// if they are not: then the caller makes them.
    ///
    /// \param copies starts the copies, the same ones each time
    /// \param find   returns the device that makes all of the copies, or null
    RESHARD_DECL device* start(std::function<void()> const& copies,
                               std::function<device*()> const& find);

private:
    int calls_ = 0; ///< up to 2; after an error of `record`, it is called again
    device* common_ = nullptr;
    std::unique_ptr<device::recording> recording_;
};

/// The ends of a copy. A copy from one device to another passes through host memory.
RESHARD_DECL device_ends ends_on(device* source, device* target);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/device/impl/device.ipp>
#endif

#endif
