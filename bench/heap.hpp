// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_HEAP_HPP
#define RESHARD_BENCH_HEAP_HPP

#include <malloc.h>

#include <cstdint>

/// \file
/// The memory that values hold, as the allocator counts it.

namespace bench {

/// The bytes that have been allocated and not freed.
inline std::int64_t heap_bytes() {
    struct mallinfo2 const now = mallinfo2();
    return static_cast<std::int64_t>(now.uordblks + now.hblkhd);
}

/// Makes the allocator keep freed memory, as in a program that has run for a while. Otherwise each
/// repetition would ask the kernel for pages again, which takes a random time.
inline void keep_freed_memory() {
    constexpr int enough = 1 << 30; // bytes
    mallopt(M_TRIM_THRESHOLD, enough);
    mallopt(M_MMAP_THRESHOLD, enough);
}

} // namespace bench

#endif
