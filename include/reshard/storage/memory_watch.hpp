// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_MEMORY_WATCH_HPP
#define RESHARD_STORAGE_MEMORY_WATCH_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>

#include <algorithm>

/// \file
/// What a process takes of memory beside the files that it has mapped.

namespace reshard::detail {

/// The memory of this process that is there now and belongs to no file, or 0 where the system does
/// not say.
///
/// \par Units  bytes, in whole pages
/// \par Source /proc/self/statm of Linux: resident pages less those of files and of shared memory
RESHARD_DECL index_t own_memory_bytes();

/// The most memory that a process came to have, at the moments of `look`, since it was made.
class memory_watch {
public:
    void look() { most_ = std::max(most_, own_memory_bytes() - before_); }
    index_t most_bytes() const { return most_; }

private:
    index_t before_ = own_memory_bytes();
    index_t most_ = 0;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/memory_watch.ipp>
#endif

#endif
