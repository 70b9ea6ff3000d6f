// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_IMPL_PREFAULTED_MEMORY_IPP
#define RESHARD_OS_IMPL_PREFAULTED_MEMORY_IPP

#include <reshard/os/prefaulted_memory.hpp>

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <memory>
#include <system_error>

namespace reshard {

namespace detail {

RESHARD_DECL private_mapping::private_mapping(std::size_t bytes, bool huge)
    : bytes_(bytes + alignment) {
    whole_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (whole_ == MAP_FAILED)
        fail(errc::io, bytes,
             " bytes of memory cannot be allocated: ", std::generic_category().message(errno),
             "; ask for less on this rank");
    first_ = whole_;
    std::size_t space = bytes_;
    std::align(alignment, bytes, first_, space);
    if (huge)
        advise_pages(first_, bytes, true);
}

/// Checks whether large pages are free. Checks rarely, so that the cost is negligible.
class large_page_supply {
public:
    explicit large_page_supply(page_calls const& calls) : calls_(calls) {}

    /// True if enough large pages are free for the next piece, or if the system does not report
    /// them.
    bool is_enough() {
        constexpr unsigned pieces_a_look = 16;
        if (asked_++ % pieces_a_look == 0)
            is_enough_ = look();
        return is_enough_;
    }

private:
    bool look() const {
        constexpr std::int64_t least = 128; // other processes take some before the next check
        auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        auto const order = std::bit_width(private_mapping::alignment / page) - 1;
        return free_large_pages(calls_.free_blocks(), static_cast<std::size_t>(order))
                   .value_or(least) >= least;
    }

    page_calls const& calls_;
    unsigned asked_ = 0;
    bool is_enough_ = false;
};

/// The size of a piece, a multiple of the large page. With smaller pieces, a mapping could have
/// more regions than the system allows.
inline std::size_t piece_bytes(std::size_t bytes) {
    constexpr std::size_t most_pieces = 4096;
    std::size_t const pages = bytes / private_mapping::alignment;
    return (pages / most_pieces + 1) * private_mapping::alignment;
}

RESHARD_DECL void take_pages(std::byte* memory, std::size_t bytes, bool huge,
                             page_calls const& calls, std::stop_token const& stop) {
    std::size_t const piece = piece_bytes(bytes);
    large_page_supply supply(calls);
    page_choice choice;
    for (std::size_t done = 0; done < bytes && !stop.stop_requested(); done += piece) {
        std::size_t const size = std::min(piece, bytes - done);
        bool const large = huge && size == piece && choice.is_large() && supply.is_enough();
        if (huge)
            calls.advise(memory + done, size, large);
        double const before = calls.seconds();
        if (!calls.populate(memory + done, size))
            return;
        choice.note(large, calls.seconds() - before);
    }
}

} // namespace detail

RESHARD_DECL prefaulted_memory::prefaulted_memory(index_t bytes, detail::page_advice advice,
                                                  detail::page_calls const& calls)
    : bytes_(sized(bytes)), mapping_(bytes_, false), resource_(mapping_.data(), bytes_) {
    if (!advice.populate && advice.huge)
        calls.advise(mapping_.data(), bytes_, detail::large_page_supply(calls).is_enough());
    if (advice.populate)
        try {
            filling_ = std::jthread([this, advice, calls](std::stop_token const& stop) {
                detail::take_pages(mapping_.data(), bytes_, advice.huge, calls, stop);
            });
        } catch (std::system_error const&) { // without a thread, first writes provide the pages
        }
}

RESHARD_DECL void prefaulted_memory::wait() {
    if (filling_.joinable())
        filling_.join();
}

RESHARD_DECL std::size_t prefaulted_memory::sized(index_t bytes) {
    constexpr index_t books = detail::arena_resource::least_bytes;
    if (bytes < 0 || bytes > std::numeric_limits<index_t>::max() / 2)
        fail(errc::usage, "cannot provide ", bytes,
             " bytes of memory; the number must be from 0 to 2^62 - 1");
    return static_cast<std::size_t>(bytes + books);
}

} // namespace reshard

#endif
