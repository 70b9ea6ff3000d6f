// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_PREFAULTED_MEMORY_HPP
#define RESHARD_OS_PREFAULTED_MEMORY_HPP

#include <reshard/core/index_vector.hpp>
#include <reshard/os/arena_resource.hpp>
#include <reshard/os/page_advice.hpp>

#include <sys/mman.h>

#include <cstddef>
#include <memory_resource>
#include <stop_token>
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

    /// \throws error with errc::io if the system has no memory
    private_mapping(std::size_t bytes, bool huge);
    private_mapping(private_mapping const&) = delete;
    ~private_mapping() { ::munmap(whole_, bytes_); }

    std::byte* data() const { return static_cast<std::byte*>(first_); }

private:
    std::size_t bytes_;
    void* whole_ = nullptr;
    void* first_ = nullptr;
};

/// Fills a private mapping's page table from its beginning, piece by piece: in large pages, if they
/// are wanted, as long as enough are free and they cost no more than small ones.
///
/// \par Units bytes
/// \pre `memory` begins at a large page
RESHARD_DECL void take_pages(std::byte* memory, std::size_t bytes, bool huge,
                             page_calls const& calls, std::stop_token const& stop);

} // namespace detail

/// Memory for targets that are about to be filled, there ahead of the first write.
///
/// A page that is written for the first time costs the system more than its bytes cost to move. A
/// separate thread takes them while the caller plans, many by one call, and in large pages if the
/// machine has these available: then a load of hundreds of megabytes takes about half the time.
/// Elsewhere, small pages cost a quarter less than when they are written one by one. The memory may
/// be used at once.
///
/// \par Units bytes
class prefaulted_memory {
public:
    /// Begins to take `bytes` of memory; tensors need up to 128 bytes more than their elements.
    ///
    /// \throws error with errc::usage for fewer than 0 bytes, errc::io if the system has no memory
    explicit prefaulted_memory(index_t bytes, page_advice advice = {.huge = true, .populate = true},
                               detail::page_calls const& calls = {});
    prefaulted_memory(prefaulted_memory const&) = delete;

    /// Allocates tensors in it; for one thread at a time, as an arena's.
    std::pmr::memory_resource* resource() { return &resource_; }

    /// Waits until all of it is allocated.
    void wait();

private:
    static std::size_t sized(index_t bytes);

    std::size_t bytes_;
    detail::private_mapping mapping_;
    detail::arena_resource resource_;
    std::jthread filling_; ///< ends before the memory does
};

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/os/impl/prefaulted_memory.ipp>
#endif

#endif
