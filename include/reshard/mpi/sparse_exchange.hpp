// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_SPARSE_EXCHANGE_HPP
#define RESHARD_MPI_SPARSE_EXCHANGE_HPP

#include <reshard/mpi/mpi_group.hpp>

#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

/// \file
/// Texts for a few other ranks, where no rank knows how many it will receive from.

namespace reshard::detail {

/// A text for a rank, or from one.
struct addressed_text {
    int rank = 0;
    std::string bytes;

    bool operator==(addressed_text const&) const = default;
};

/// Rounds in which each rank sends texts to some others; time and memory grow with what a rank
/// itself sends and gets, not with the number of ranks.
///
/// A round ends with a barrier that each rank enters once its own texts have been taken. Rounds
/// have tags of their own, as a rank may leave one while another still looks for its messages.
///
/// \par Source the NBX protocol of Hoefler, Siebert and Lumsdaine, "Scalable communication
///             protocols for dynamic sparse data exchange" (PPoPP 2010)
class sparse_exchange {
public:
    /// \par Collective no: nothing is sent before `run`
    /// \pre nothing else communicates over `world`, and its errors end the job
    explicit sparse_exchange(mpi_group const& world);

    /// Sends each text to its rank. Returns those that came, by ranks, one a rank.
    ///
    /// \par Collective every rank of the group, in the same order
    /// \pre `outgoing` has one text a rank at most
    std::vector<addressed_text> run(std::vector<addressed_text> outgoing);

private:
    static constexpr int first_tag = 0x1000;
    static constexpr int tags = 0x100;

    /// Pieces of a text, the last one shorter than a whole one. They count as sent when they are
    /// taken.
    void send(addressed_text const& one, int tag, std::vector<MPI_Request>& sends) const;

    /// True once all pieces are taken; the first `taken` of them are known to be.
    bool are_taken(std::vector<MPI_Request>& sends, std::size_t& taken) const;

    /// Takes one piece, where one has come.
    bool receive(int tag, std::vector<addressed_text>& arrived) const;

    mpi_group world_;
    int round_ = 0;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/sparse_exchange.ipp>
#endif

#endif
