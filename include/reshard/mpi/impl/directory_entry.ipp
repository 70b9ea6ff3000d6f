// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_DIRECTORY_ENTRY_IPP
#define RESHARD_MPI_IMPL_DIRECTORY_ENTRY_IPP

#include <reshard/mpi/directory_entry.hpp>

namespace reshard::detail {

RESHARD_DECL void validate(directory_key const& one) {
    for (bucket_level const& level : one.levels) {
        bool is_level = level.size() == one.shape.size();
        for (index_t const halvings : level)
            is_level = is_level && 0 <= halvings && halvings < 64;
        if (!is_level)
            fail(errc::bad_layout, "it has the level " + to_string(level) +
                                       " of a tensor of shape " + to_string(one.shape));
    }
}

} // namespace reshard::detail

#endif
