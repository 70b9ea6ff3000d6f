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
/// Private memory for tensors that will be written soon.

namespace reshard {

namespace detail {

/// A private mapping that is aligned to a large page.
class private_mapping {
public:
    /// The size of large pages on x86-64, and on arm64 with small pages of 4 KiB.
    static constexpr std::size_t alignment = std::size_t{2} << 20;

    /// \throws error with errc::io if the system lacks memory
    private_mapping(std::size_t bytes, bool huge);
    private_mapping(private_mapping const&) = delete;
    ~private_mapping() { ::munmap(whole_, bytes_); }

    std::byte* data() const { return static_cast<std::byte*>(first_); }

private:
    std::size_t bytes_;
    void* whole_ = nullptr;
    void* first_ = nullptr;
};

/// Fills the page table of a private mapping from its beginning, piece by piece. If `huge` is true,
/// uses large pages as long as enough of them are free and they cost no more than small pages.
///
/// \par Units bytes
/// \pre `memory` is aligned to a large page
RESHARD_DECL void take_pages(std::byte* memory, std::size_t bytes, bool huge,
                             page_calls const& calls, std::stop_token const& stop);

} // namespace detail

/// Memory for target tensors that will be written soon. The system provides its pages before the
/// first write.
///
/// The first write to a page costs more than moving the page's bytes. While the caller plans, a
/// separate thread requests the pages, many in each call. It requests large pages if the machine
/// has them available. Then a load of hundreds of megabytes takes about half the time. Otherwise it
/// requests small pages, which cost a quarter less than if first writes request them one by one.
/// The memory may be used at once.
///
/// \par Units bytes
class prefaulted_memory {
public:
    /// Starts to provide `bytes` of memory. Tensors need up to 128 bytes more than their elements.
    ///
    /// \throws error with errc::usage for a negative number, errc::io if the system lacks memory
    explicit prefaulted_memory(index_t bytes,
                               detail::page_advice advice = {.huge = true, .populate = true},
                               detail::page_calls const& calls = {});
    prefaulted_memory(prefaulted_memory const&) = delete;

    /// Allocates tensors in this memory. Only one thread at a time may use it, as with
    /// `arena_resource`.
    std::pmr::memory_resource* resource() { return &resource_; }

    /// Waits until all pages are provided.
    void wait();

private:
    static std::size_t sized(index_t bytes);

    std::size_t bytes_;
    detail::private_mapping mapping_;
    detail::arena_resource resource_;
    std::jthread filling_; ///< ends before the memory is freed
};

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/os/impl/prefaulted_memory.ipp>
#endif

#endif
