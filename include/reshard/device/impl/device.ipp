// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_DEVICE_IMPL_DEVICE_IPP
#define RESHARD_DEVICE_IMPL_DEVICE_IPP

#include <reshard/device/device.hpp>

#include <reshard/copy/copy_elements.hpp>
#include <reshard/copy/cut_loop.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/error.hpp>

#include <algorithm>
#include <cstddef>

namespace reshard::detail {

RESHARD_DECL device* find_device(device_list const& devices, memory_space memory) {
    for (auto const& device : devices)
        if (device->space() == memory)
            return device.get();
    return nullptr;
}

RESHARD_DECL vector<memory_space> spaces_of(device_list const& devices) {
    vector<memory_space> spaces;
    for (auto const& device : devices) {
        if (!device)
            fail(errc::usage, "options.devices has a null pointer at index ", spaces.size(),
                 "; remove it");
        memory_space const space = device->space();
        if (space.is_host() || std::find(spaces.begin(), spaces.end(), space) != spaces.end())
            fail(errc::usage, "options.devices has ",
                 space.is_host() ? "a device for host memory" : "two devices for the memory of ",
                 space.is_host() ? "" : to_string(space), "; remove it");
        spaces.push_back(space);
    }
    return spaces;
}

/// Copies from one device to another through host memory. Returns when the elements have arrived.
inline void run_between_devices(affine_copy const& copy, element_conversion const& conversion,
                                void const* source, void* target, std::byte* memory) {
    device &from = *conversion.devices.source, &to = *conversion.devices.target;
    data_type const dtype = conversion.target();
    index_vector const dense = row_major_strides(copy.extent);
    from.copy({{copy.extent, copy.source_offset, copy.source_strides, 0, dense},
               conversion.on_host(),
               source,
               memory,
               true,
               false});
    from.wait();
    to.copy({{copy.extent, 0, dense, copy.target_offset, copy.target_strides},
             {dtype},
             memory,
             target,
             false,
             true});
    to.wait();
}

inline void run_on_device(prepared_copy const& ready, void const* source, void* target) {
    element_conversion const& given = ready.given;
    device* const from = given.devices.source;
    device* const to = given.devices.target;
    if (!from || !to || from == to)
        return (from ? from : to)
            ->copy({ready.loop, given.on_host(), source, target, from != nullptr, to != nullptr});
    index_t const width = bits(given.target());
    index_t const most = std::min(element_count(ready.loop), (index_t{8} << 22) / width);
    auto const memory =
        from->host_memory(static_cast<std::size_t>(byte_count(most, given.target())));
    cut_in_halves(
        ready.loop, source_of_loop,
        [&](affine_copy const& part) { return element_count(part) <= most; },
        [&](affine_copy const& part) {
            run_between_devices(part, given, source, target, memory.get());
        });
}

RESHARD_DECL void common_device::add(device_ends const& ends) {
    device* const near = ends.source ? ends.source : ends.target;
    if (!first)
        first = near;
    makes_all = makes_all && near && near == first && (!ends.target || ends.target == near);
}

RESHARD_DECL device* repeated_copies::start(std::function<void()> const& copies,
                                            std::function<device*()> const& find) {
    if (calls_ == 1) {
        common_ = find();
        if (common_)
            recording_ = common_->record(copies);
    }
    calls_ = std::min(calls_ + 1, 2);
    if (!recording_)
        return nullptr;
    recording_->start();
    return common_;
}

RESHARD_DECL device_ends ends_on(device* source, device* target) {
    return source || target ? device_ends{source, target, run_on_device} : device_ends{};
}

} // namespace reshard::detail

#endif
