// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_NODE_SEGMENTS_IPP
#define RESHARD_MPI_IMPL_NODE_SEGMENTS_IPP

#include <reshard/core/vector.hpp>
#include <reshard/mpi/node_segments.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace reshard::detail {

RESHARD_DECL std::byte* node_segments::data(int rank) const { return at(rank).data() + head_bytes; }

RESHARD_DECL address_range node_segments::range(int rank) const {
    auto const first = reinterpret_cast<std::uintptr_t>(data(rank));
    return {first, first + static_cast<std::uintptr_t>(at(rank).bytes() - head_bytes)};
}

RESHARD_DECL barrier_state& node_segments::barrier() const {
    return *std::launder(reinterpret_cast<barrier_state*>(at(0).data()));
}

RESHARD_DECL void node_segments::open_others(vector<peer_segment> const& peer_segments, int me,
                                             system_calls const& calls) {
    vector<shared_segment> opened;
    for (std::size_t rank = 0; rank < peer_segments.size(); ++rank)
        if (static_cast<int>(rank) != me)
            opened.push_back(shared_segment::open(peer_segments[rank].address,
                                                  peer_segments[rank].bytes, calls));
    opened.insert(opened.begin() + me, std::move(all_.back()));
    all_ = std::move(opened);
}

} // namespace reshard::detail

#endif
