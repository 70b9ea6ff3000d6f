// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_IMPL_ARENA_RESOURCE_IPP
#define RESHARD_OS_IMPL_ARENA_RESOURCE_IPP

#include <reshard/os/arena_resource.hpp>

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/index_vector.hpp>

#include <boost/interprocess/indexes/null_index.hpp>
#include <boost/interprocess/managed_external_buffer.hpp>
#include <boost/interprocess/mem_algo/rbtree_best_fit.hpp>

#include <algorithm>
#include <new>

namespace reshard::detail {

using free_list = boost::interprocess::basic_managed_external_buffer<
    char, boost::interprocess::rbtree_best_fit<boost::interprocess::null_mutex_family>,
    boost::interprocess::null_index>;

/// The free list at the beginning of an arena's memory.
inline free_list free_list_in(void* memory, std::size_t bytes) {
    return {boost::interprocess::open_only, memory, bytes};
}

RESHARD_DECL arena_resource::arena_resource(void* memory, std::size_t bytes)
    : memory_(memory), bytes_(bytes) {
    free_list(boost::interprocess::create_only, memory, bytes);
}

RESHARD_DECL std::size_t arena_resource::free_bytes() const {
    return free_list_in(memory_, bytes_).get_free_memory();
}

RESHARD_DECL void* arena_resource::do_allocate(std::size_t bytes, std::size_t wanted) {
    free_list free = free_list_in(memory_, bytes_);
    std::size_t const aligned = std::max(wanted, alignment);
    if (bytes <= bytes_)
        if (void* const memory = free.allocate_aligned(bytes, aligned, std::nothrow))
            return memory;
    fail(errc::limit_exceeded, "an arena of ", bytes_, " bytes has no room for ", bytes,
         " more: ", free.get_free_memory(), " are free, perhaps fragmented; make it larger");
}

RESHARD_DECL void arena_resource::do_deallocate(void* memory, std::size_t, std::size_t) {
    free_list_in(memory_, bytes_).deallocate(memory);
}

} // namespace reshard::detail

#endif
