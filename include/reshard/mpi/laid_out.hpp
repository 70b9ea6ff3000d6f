// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_LAID_OUT_HPP
#define RESHARD_MPI_LAID_OUT_HPP

#include <reshard/layout/compact_layout.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <optional>

/// \file
/// The tensors of one rank with what it knows of all ranks' tensors.

namespace reshard {

class shared_arena;

/// The tensors of one rank, and optionally the layout that all ranks' tensors make up together.
///
/// A layout that is known by placements saves telling every shard to everybody: then each rank's
/// memory and time grow with its own shards only, not with the number of ranks.
template <class View>
struct laid_out {
    basic_state_dict<View> held;
    std::optional<compact_layout> layout = std::nullopt; ///< nothing: other ranks know, or nobody
    shared_arena const* arena =
        nullptr; ///< where some of the tensors lie; every rank gives one, or none
};

} // namespace reshard

#endif
