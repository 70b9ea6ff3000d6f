// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_PEAK_MEMORY_HPP
#define RESHARD_BENCH_PEAK_MEMORY_HPP

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

/// \file
/// The most memory that a piece of work needs, as the system counts it.

namespace bench {

/// The value of a line of the process's status, in bytes; 0 if the system has no such line.
inline std::int64_t status_bytes(std::string_view name) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(name))
            return std::stoll(line.substr(name.size() + 1)) * 1024;
    return 0;
}

/// Measures memory from its construction on, without the memory that is in use at that time.
class peak_memory {
public:
    peak_memory() {
        malloc_trim(0);
        std::ofstream("/proc/self/clear_refs") << "5\n"; // resets the peak
        before_ = status_bytes("VmRSS");
        shared_before_ = status_bytes("RssShmem");
    }

    /// The most bytes that were in use at one time, minus the bytes in use at the construction.
    std::int64_t bytes() const {
        return std::max<std::int64_t>(0, status_bytes("VmHWM") - before_);
    }

    /// The bytes of shared memory that came into use since the construction, including other
    /// processes' memory.
    std::int64_t shared_bytes() const {
        return std::max<std::int64_t>(0, status_bytes("RssShmem") - shared_before_);
    }

private:
    std::int64_t before_ = 0;
    std::int64_t shared_before_ = 0;
};

} // namespace bench

#endif
