// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_RING_LANES_IPP
#define RESHARD_MPI_IMPL_RING_LANES_IPP

#include <reshard/mpi/ring_lanes.hpp>

#include <reshard/core/config.hpp>

#include <algorithm>

namespace reshard::detail {

RESHARD_DECL void ring_lanes::rewind() {
    for (auto& one : sends_)
        one.next = 0;
    for (auto& one : receives_)
        one.next = 0;
}

RESHARD_DECL bool ring_lanes::advance() {
    bool any = false;
    for (auto& one : receives_)
        any |= unpack(one);
    for (auto& one : sends_)
        any |= pack(one);
    return any;
}

RESHARD_DECL bool ring_lanes::is_done() const {
    auto const ended = [](auto const& one) { return one.is_done(); };
    return std::all_of(sends_.begin(), sends_.end(), ended) &&
           std::all_of(receives_.begin(), receives_.end(), ended);
}

RESHARD_DECL bool ring_lanes::pack(lane_state<std::byte const, ring_sender>& lane) const {
    return move_chunk(lane, [](auto& blocks, auto const& copy, auto const& one, auto* slot) {
        blocks.add(copy, one.memory, slot + one.wire, one.joins_next);
    });
}

RESHARD_DECL bool ring_lanes::unpack(lane_state<std::byte, ring_receiver>& lane) const {
    return move_chunk(lane, [](auto& blocks, auto const& copy, auto const& one, auto* slot) {
        blocks.add(copy, slot + one.wire, one.memory, one.joins_next);
    });
}

} // namespace reshard::detail

#endif
