// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_PAGE_ADVICE_HPP
#define RESHARD_OS_PAGE_ADVICE_HPP

#include <reshard/core/config.hpp>

#include <cstddef>

/// \file
/// In which pages memory comes, and when.

namespace reshard {

/// What the system is asked for; where it does not have that, memory comes as it always does.
struct page_advice {
    bool huge = false;     ///< large pages; of shared memory, few systems have any
    bool populate = false; ///< the maker's page table is filled now, not by the first writes
};

namespace detail {

RESHARD_DECL void advise_huge([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes);

/// False where the system cannot.
RESHARD_DECL bool populate([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/os/impl/page_advice.ipp>
#endif

#endif
