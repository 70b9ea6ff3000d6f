// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_PAGE_ADVICE_HPP
#define RESHARD_OS_PAGE_ADVICE_HPP

#include <cstddef>
#include <sys/mman.h>

/// \file
/// In which pages memory comes, and when.

namespace reshard {

/// What the system is asked for; where it does not have that, memory comes as it always does.
struct page_advice {
    bool huge = false;     ///< large pages; of shared memory, few systems have any
    bool populate = false; ///< the maker's page table is filled now, not by the first writes
};

namespace detail {

inline void advise_huge([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(MADV_HUGEPAGE)
    ::madvise(memory, bytes, MADV_HUGEPAGE);
#endif
}

/// False where the system cannot.
inline bool populate([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__)
    constexpr int populate_write = 23; // MADV_POPULATE_WRITE of Linux 5.14
    return ::madvise(memory, bytes, populate_write) == 0;
#else
    return false;
#endif
}

} // namespace detail

} // namespace reshard

#endif
