// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_IMPL_ARENA_RESOURCE_IPP
#define RESHARD_OS_IMPL_ARENA_RESOURCE_IPP

#include <reshard/os/arena_resource.hpp>

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/index_vector.hpp>

#include <algorithm>
#include <new>
#include <string>

namespace reshard {

RESHARD_DECL void* arena_resource::do_allocate(std::size_t bytes, std::size_t wanted) {
    std::size_t const aligned = std::max(wanted, alignment);
    if (bytes <= free_.get_size())
        if (void* const memory = free_.allocate_aligned(bytes, aligned, std::nothrow))
            return memory;
    fail(errc::limit_exceeded, "an arena of " + std::to_string(free_.get_size()) +
                                   " bytes has no room for " + std::to_string(bytes) +
                                   " more: " + std::to_string(free_.get_free_memory()) +
                                   " are free, perhaps fragmented; make it larger");
}

} // namespace reshard

#endif
