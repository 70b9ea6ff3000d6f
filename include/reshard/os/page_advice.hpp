// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_PAGE_ADVICE_HPP
#define RESHARD_OS_PAGE_ADVICE_HPP

#include <reshard/core/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// The size of the pages of memory, and when the system provides them.

namespace reshard {

/// Requests to the system. A system without support for them provides memory as usual.
struct page_advice {
    bool huge = false;     ///< large pages, if available; for shared memory, few
                           ///< systems have any
    bool populate = false; ///< the maker's page table is filled now, not by the first writes
};

namespace detail {

/// Asks for large pages, or for small ones, for memory that is not yet written.
RESHARD_DECL void advise_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes,
                               [[maybe_unused]] bool large);

/// Fills this process's page table for all pages that have some of these bytes; data written to
/// them meanwhile is kept. False if there is not enough memory.
RESHARD_DECL bool populate(void* memory, std::size_t bytes);

/// Writes to every page its present content. It does the work of `populate` on a system without a
/// call for that.
RESHARD_DECL void touch_pages(std::byte* memory, std::size_t bytes);

/// How many large pages are free in one piece, so that nothing has to be moved for them;
/// std::nullopt if `free_blocks` does not say.
///
/// \param free_blocks as Linux has it in /proc/buddyinfo
/// \param order       a large page is 2 to the power of this many small ones
RESHARD_DECL std::optional<std::int64_t> free_large_pages(std::string_view free_blocks,
                                                          std::size_t order);

/// Decides whether the next piece of memory uses large pages, from the cost of earlier pieces.
///
/// A large page that is available costs less than small ones. A large page costs ten times as much
/// if a virtual machine's host has taken it back, or if the system must move other pages for it. No
/// figure shows that beforehand.
///
/// \par Units  seconds
/// \invariant the extra cost of large pages over small ones is at most a sixteenth of the total
///            cost, plus one piece
class page_choice {
public:
    bool is_large() const { return samples_ >= 2 && lost_ * 16 <= spent_; }

    void note(bool large, double seconds) {
        spent_ += seconds;
        if (large) {
            lost_ += std::max(0.0, seconds - small_);
        } else {
            small_ = samples_ == 0 ? seconds : std::min(small_, seconds);
            ++samples_;
        }
    }

private:
    double spent_ = 0;
    double lost_ = 0;
    double small_ = 0; ///< the cheapest piece of small pages
    std::int64_t samples_ = 0;
};

/// The calls that allocate private memory. Another table simulates a system that lacks something.
struct page_calls {
    /// The system's report of its free memory; empty if it has none.
    std::string (*free_blocks)() = &read_free_blocks;

    void (*advise)(void* memory, std::size_t bytes, bool large) = &advise_pages;
    bool (*populate)(void* memory, std::size_t bytes) = &detail::populate;

    /// The processor time of the calling thread. It includes a host's work, but not other threads.
    double (*seconds)() = &thread_seconds;

    RESHARD_DECL static std::string read_free_blocks();
    RESHARD_DECL static double thread_seconds();
};

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/os/impl/page_advice.ipp>
#endif

#endif
