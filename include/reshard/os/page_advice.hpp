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
/// The size of memory pages, and the time at which the system provides them.

namespace reshard::detail {

/// The pages that a program requests from the system. If the system does not support a request, it
/// provides memory as usual.
struct page_advice {
    bool huge = false;     ///< large pages, if available; few systems have them for shared memory
    bool populate = false; ///< fills the creator's page table at once, not at the first writes
};

/// Requests large or small pages for memory that is not yet written.
RESHARD_DECL void advise_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes,
                               [[maybe_unused]] bool large);

/// Fills this process's page table for all pages that contain these bytes. Keeps data that is
/// written to them meanwhile. Returns false if there is not enough memory.
RESHARD_DECL bool populate(void* memory, std::size_t bytes);

/// Writes the present content of each page to that page. This replaces `populate` on a system
/// without such a call.
RESHARD_DECL void touch_pages(std::byte* memory, std::size_t bytes);

/// The number of large pages that are free without moving other pages; std::nullopt if
/// `free_blocks` does not list them.
///
/// \param free_blocks the text of /proc/buddyinfo on Linux
/// \param order       a large page consists of 2 to the power of `order` small pages
RESHARD_DECL std::optional<std::int64_t> free_large_pages(std::string_view free_blocks,
                                                          std::size_t order);

/// Decides whether the next piece of memory uses large pages, from the cost of earlier pieces.
///
/// A large page that is available costs less than small pages. It costs ten times more if a virtual
/// machine's host has taken it back, or if the system must move other pages for it. The system does
/// not report that in advance.
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

/// The system calls that allocate private memory. Tests replace them to simulate a system that
/// lacks one.
struct page_calls {
    /// The system's report of its free memory; empty if it does not report it.
    std::string (*free_blocks)() = &read_free_blocks;

    void (*advise)(void* memory, std::size_t bytes, bool large) = &advise_pages;
    bool (*populate)(void* memory, std::size_t bytes) = &detail::populate;

    /// The processor time of the calling thread. It includes the host's work, but not other
    /// threads.
    double (*seconds)() = &thread_seconds;

    RESHARD_DECL static std::string read_free_blocks();
    RESHARD_DECL static double thread_seconds();
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/os/impl/page_advice.ipp>
#endif

#endif
