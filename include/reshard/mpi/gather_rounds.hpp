// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_GATHER_ROUNDS_HPP
#define RESHARD_MPI_GATHER_ROUNDS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// How texts of any length are gathered by calls that count in `int`.

namespace reshard::detail {

/// The texts of all ranks, one behind the other, cut into rounds of equally many bytes.
///
/// Every round but the last is full however uneven the texts are, so that there are few of them.
///
/// \par Units bytes
/// \pre       `0 < round_bytes`, and it fits an `int`
class gather_rounds {
public:
    gather_rounds(std::vector<std::uint64_t> const& lengths, std::uint64_t round_bytes);

    std::uint64_t size() const {
        return begins_.back() / round_bytes_ + (begins_.back() % round_bytes_ != 0);
    }

    /// The bytes that each rank gives in a round.
    ///
    /// \post they sum to `round_bytes` at most
    std::vector<int> counts(std::uint64_t round) const;

    /// The bytes of a round: of all but the last `round_bytes`.
    std::uint64_t bytes(std::uint64_t round) const {
        return std::min(round_bytes_, begins_.back() - round * round_bytes_);
    }

    /// Where in its own text the bytes begin that `rank` gives in a round; its end where it gives
    /// none any more.
    std::uint64_t offset(std::size_t rank, std::uint64_t round) const;

private:
    /// Where text `rank` begins, counted from the beginning of the round and not beyond its ends.
    std::uint64_t clamped(std::size_t rank, std::uint64_t round) const;

    std::uint64_t round_bytes_;
    std::vector<std::uint64_t> begins_;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/gather_rounds.ipp>
#endif

#endif
