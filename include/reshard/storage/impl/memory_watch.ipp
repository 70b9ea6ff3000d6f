// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_MEMORY_WATCH_IPP
#define RESHARD_STORAGE_IMPL_MEMORY_WATCH_IPP

#include <reshard/storage/memory_watch.hpp>

#include <unistd.h>

#include <fstream>

namespace reshard::detail {

RESHARD_DECL index_t own_memory_bytes() {
    std::ifstream counts("/proc/self/statm");
    index_t all = 0, resident = 0, shared = 0;
    counts >> all >> resident >> shared;
    return counts ? (resident - shared) * ::sysconf(_SC_PAGESIZE) : 0;
}

} // namespace reshard::detail

#endif
