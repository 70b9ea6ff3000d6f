// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_ARENA_RESOURCE_HPP
#define RESHARD_OS_ARENA_RESOURCE_HPP

#include <reshard/core/config.hpp>

#include <cstddef>
#include <memory_resource>

/// \file
/// Allocates tensors in existing memory.

namespace reshard::detail {

/// Allocates blocks in one range of memory. Allocators of the standard library can use it.
///
/// Every block begins at a cache line, so that non-temporal stores are fastest. Freed memory is
/// reused; a new block takes the smallest gap that fits. Only one thread at a time may use it.
class arena_resource : public std::pmr::memory_resource {
public:
    /// Every block is aligned to this many bytes.
    static constexpr std::size_t alignment = 64;

    /// The minimum size of an arena's memory. The arena stores its free list there.
    static constexpr std::size_t least_bytes = 1024;

    /// \pre `bytes >= least_bytes`, and `memory` is aligned to `alignment` and outlives the
    ///      resource
    arena_resource(void* memory, std::size_t bytes);

    /// The number of free bytes. They need not be contiguous.
    std::size_t free_bytes() const;

private:
    /// \throws error with errc::limit_exceeded if no gap is large enough
    void* do_allocate(std::size_t bytes, std::size_t wanted) override;

    void do_deallocate(void* memory, std::size_t, std::size_t) override;

    bool do_is_equal(std::pmr::memory_resource const& resource) const noexcept override {
        return this == &resource;
    }

    void* memory_; ///< begins with the free list
    std::size_t bytes_;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/os/impl/arena_resource.ipp>
#endif

#endif
