// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_FRESH_MEMORY_HPP
#define RESHARD_OS_FRESH_MEMORY_HPP

#include <reshard/core/error.hpp>
#include <reshard/os/arena_resource.hpp>
#include <reshard/os/page_advice.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <limits>
#include <memory>
#include <memory_resource>
#include <optional>
#include <stop_token>
#include <string>
#include <sys/mman.h>
#include <system_error>
#include <thread>

/// \file
/// Memory of one process for tensors that do not exist yet.

namespace reshard {

namespace detail {

/// A private mapping that begins at a large page.
class private_mapping {
public:
    /// The large pages of x86-64 and of arm64 with small pages.
    static constexpr std::size_t alignment = std::size_t{2} << 20;

    /// \throws error with errc::io where the system has no memory
    private_mapping(std::size_t bytes, bool huge) : bytes_(bytes + alignment) {
        whole_ =
            ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (whole_ == MAP_FAILED)
            fail(errc::io, std::to_string(bytes) + " bytes of memory are refused: " +
                               std::generic_category().message(errno) +
                               "; ask for less on this rank");
        first_ = whole_;
        std::size_t space = bytes_;
        std::align(alignment, bytes, first_, space);
        if (huge)
            advise_huge(first_, bytes);
    }
    private_mapping(private_mapping const&) = delete;
    ~private_mapping() { ::munmap(whole_, bytes_); }

    std::byte* data() const { return static_cast<std::byte*>(first_); }

private:
    std::size_t bytes_;
    void* whole_ = nullptr;
    void* first_ = nullptr;
};

} // namespace detail

/// Memory for targets that are about to be filled, in large pages and ahead of the first write.
///
/// A page that is written for the first time costs the system more than its bytes cost to move. Large pages
/// are fewer; and a thread of its own takes them while the caller plans. The memory may be used at once.
/// Where the system has neither, memory comes as it always does.
///
/// \par Units bytes
class fresh_memory {
public:
    /// Begins to take `bytes` of memory; tensors need up to 128 bytes more than their elements.
    ///
    /// \throws error with errc::usage for fewer than 0 bytes, errc::io where the system has no memory
    explicit fresh_memory(index_t bytes, page_advice advice = {.huge = true, .populate = true})
        : bytes_(sized(bytes)), mapping_(bytes_, advice.huge), resource_(mapping_.data(), bytes_) {
        if (advice.populate)
            try {
                filling_ = std::jthread([this](std::stop_token const& stop) { fill(stop); });
            } catch (
                std::system_error const&) { // no more threads: pages come when they are written
            }
    }
    fresh_memory(fresh_memory const&) = delete;

    /// Allocates tensors in it; for one thread at a time, as an arena's.
    std::pmr::memory_resource* resource() { return &resource_; }

    /// Waits until all of it is there.
    void wait() {
        if (filling_.joinable())
            filling_.join();
    }

private:
    static std::size_t sized(index_t bytes) {
        constexpr index_t books = arena_resource::least_bytes;
        if (bytes < 0 || bytes > std::numeric_limits<index_t>::max() / 2)
            fail(errc::usage, "fresh memory of " + std::to_string(bytes) +
                                  " bytes; it must be 0 or more, and less than 2^62");
        return static_cast<std::size_t>(bytes + books);
    }

    void fill(std::stop_token const& stop) const {
        constexpr std::size_t piece = std::size_t{32} << 20;
        for (std::size_t done = 0; done < bytes_ && !stop.stop_requested(); done += piece)
            if (!detail::populate(mapping_.data() + done, std::min(piece, bytes_ - done)))
                return;
    }

    std::size_t bytes_;
    detail::private_mapping mapping_;
    arena_resource resource_;
    std::jthread filling_; ///< ends before the memory does
};

} // namespace reshard

#endif
