// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_IMPL_PAGE_ADVICE_IPP
#define RESHARD_OS_IMPL_PAGE_ADVICE_IPP

#include <reshard/os/page_advice.hpp>

#include <sys/mman.h>

namespace reshard::detail {

RESHARD_DECL void advise_huge([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(MADV_HUGEPAGE)
    ::madvise(memory, bytes, MADV_HUGEPAGE);
#endif
}

RESHARD_DECL bool populate([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__)
    constexpr int populate_write = 23; // MADV_POPULATE_WRITE of Linux 5.14
    return ::madvise(memory, bytes, populate_write) == 0;
#else
    return false;
#endif
}

} // namespace reshard::detail

#endif
