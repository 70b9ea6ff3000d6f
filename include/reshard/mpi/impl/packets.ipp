// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_PACKETS_IPP
#define RESHARD_MPI_IMPL_PACKETS_IPP

#include <reshard/mpi/packets.hpp>

#include <reshard/mpi/cut_transfer.hpp>

#include <algorithm>

namespace reshard::detail {

RESHARD_DECL std::vector<chunk>
chunks_of(plan const& whole, std::vector<std::uint32_t> const& numbers, index_t limit) {
    std::vector<chunk> chunks;
    for (std::uint32_t const number : numbers) {
        transfer const& transfer = whole.transfers[number];
        data_type const dtype = wire_dtype(whole, transfer);
        index_t const elements = std::max<index_t>(1, limit * 8 / bits(dtype));
        cut_transfer(cut_of(whole, transfer), elements, [&](box const& region) {
            index_t const bytes = byte_count(element_count(region), dtype);
            if (chunks.empty() || chunks.back().bytes + bytes > limit)
                chunks.emplace_back();
            chunks.back().packets.push_back({number, packet::all_of_it, bytes});
            if (element_count(region) != element_count(cut_of(whole, transfer).extent)) {
                chunks.back().packets.back().region =
                    static_cast<std::uint32_t>(chunks.back().regions.size());
                chunks.back().regions.push_back(region);
            }
            chunks.back().bytes += bytes;
        });
    }
    return chunks;
}

RESHARD_DECL box region_of(plan const& whole, chunk const& all, packet const& one) {
    return one.region == packet::all_of_it
               ? reshard::whole(cut_of(whole, whole.transfers[one.transfer]).extent)
               : all.regions[one.region];
}

} // namespace reshard::detail

#endif
