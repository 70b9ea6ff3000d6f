// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_UNIT_DEVICE_SUPPORT_HPP
#define RESHARD_TEST_UNIT_DEVICE_SUPPORT_HPP

#include <reshard/device/staged_device.hpp>
#include <reshard/testing/fake_device.hpp>

#include <cstddef>

/// \file
/// A device of two functions, made of a fake device.

namespace reshard::test {

using testing::fake_device;
using testing::fake_order;

inline staged_device staged_by(fake_device& memory, std::size_t staging_bytes) {
    return staged_device(
        memory.space(),
        [&](void* host, void const* from, std::size_t bytes) { memory.read(host, from, bytes); },
        [&](void* to, void const* host, std::size_t bytes) { memory.write(to, host, bytes); }, {},
        staging_bytes);
}

} // namespace reshard::test

#endif
