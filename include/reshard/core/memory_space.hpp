// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_MEMORY_SPACE_HPP
#define RESHARD_CORE_MEMORY_SPACE_HPP

#include <cstdint>
#include <string>
#include <string_view>

/// \file
/// Names the memory that has the elements of a tensor.

namespace reshard {

/// The memory of the host, or the memory of one device.
struct memory_space {
    /// The kinds of memory. Only the processor's own memory is `host`, pinned or not.
    enum kind_type : std::uint8_t {
        host,   ///< this process may read and write it
        cuda,   ///< the processor cannot use the addresses of this kind and the next ones
        rocm,   ///< AMD's GPUs
        sycl,   ///< devices of SYCL, such as Intel's GPUs
        device, ///< any other device
    };

    constexpr memory_space() = default;
    constexpr memory_space(kind_type memory, int device_number = 0)
        : kind(memory), number(device_number) {}

    constexpr bool is_host() const { return kind == host; }

    constexpr bool operator==(memory_space const&) const = default;

    kind_type kind = host;
    int number = 0; ///< of the device, among those of its kind
};

/// As text: `host`, `cuda:1`.
inline std::string to_string(memory_space space) {
    constexpr std::string_view names[] = {"host", "cuda", "rocm", "sycl", "device"};
    std::string text(names[space.kind]);
    return space.is_host() ? text : text + ":" + std::to_string(space.number);
}

} // namespace reshard

#endif
