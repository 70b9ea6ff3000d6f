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
    /// The size of large pages on x86-64, and on arm64 with small pages.
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

/// Fills a private mapping's page table from its beginning, piece by piece. If large pages are
/// wanted, it uses them as long as enough are free and they cost no more than small ones.
///
/// \par Units bytes
/// \pre `memory` begins at a large page
RESHARD_DECL void take_pages(std::byte* memory, std::size_t bytes, bool huge,
                             page_calls const& calls, std::stop_token const& stop);

} // namespace detail

/// Memory for targets that are about to be filled. The system provides it before the first write.
///
/// The first write to a page costs more than moving the page's bytes. A separate thread asks for
/// the pages while the caller plans, many in one call. It asks for large pages if the machine has
/// them available: then a load of hundreds of megabytes takes about half the time. Otherwise, small
/// pages cost a quarter less than when they are written one by one. The memory may be used at once.
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

    /// Allocates tensors in this memory. Only one thread at a time may use it, as with
    /// `arena_resource`.
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
