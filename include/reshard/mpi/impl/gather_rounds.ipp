// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_GATHER_ROUNDS_IPP
#define RESHARD_MPI_IMPL_GATHER_ROUNDS_IPP

#include <reshard/mpi/gather_rounds.hpp>

#include <reshard/core/config.hpp>

#include <boost/assert.hpp>

#include <limits>

namespace reshard::detail {

RESHARD_DECL gather_rounds::gather_rounds(std::vector<std::uint64_t> const& lengths,
                                          std::uint64_t round_bytes)
    : round_bytes_(round_bytes) {
    BOOST_ASSERT(0 < round_bytes && round_bytes <= std::numeric_limits<int>::max());
    begins_.reserve(lengths.size() + 1);
    begins_.push_back(0);
    for (std::uint64_t const length : lengths)
        begins_.push_back(begins_.back() + length);
}

RESHARD_DECL std::vector<int> gather_rounds::counts(std::uint64_t round) const {
    std::vector<int> counts;
    counts.reserve(begins_.size());
    for (std::size_t rank = 0; rank + 1 < begins_.size(); ++rank)
        counts.push_back(static_cast<int>(clamped(rank + 1, round) - clamped(rank, round)));
    return counts;
}

RESHARD_DECL std::uint64_t gather_rounds::offset(std::size_t rank, std::uint64_t round) const {
    std::uint64_t const first = std::max(begins_[rank], round * round_bytes_);
    return std::min(first, begins_[rank + 1]) - begins_[rank];
}

RESHARD_DECL std::uint64_t gather_rounds::clamped(std::size_t rank, std::uint64_t round) const {
    std::uint64_t const first = round * round_bytes_;
    return std::clamp(begins_[rank], first, first + round_bytes_) - first;
}

} // namespace reshard::detail

#endif
