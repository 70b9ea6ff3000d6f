// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_SPARSE_EXCHANGE_HPP
#define RESHARD_MPI_SPARSE_EXCHANGE_HPP

#include <reshard/core/sorting.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/mpi/mpi_group.hpp>

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

/// \file
/// Sends texts to a few other ranks, if no rank knows which ranks will send to it.

namespace reshard::detail {

/// A text for a rank, or from a rank.
struct addressed_text {
    int rank = 0;
    std::string bytes;

    bool operator==(addressed_text const&) const = default;
};

/// Rounds in which each rank sends texts to some others. A rank's time and memory grow with the
/// bytes that it sends and receives, not with the number of ranks.
///
/// A round ends with a barrier, which a rank enters once the receivers have taken its texts. Rounds
/// have separate tags, because a rank may leave a round while another rank still probes for the
/// round's messages.
///
/// \par Source the NBX protocol of Hoefler, Siebert and Lumsdaine, "Scalable communication
///             protocols for dynamic sparse data exchange" (PPoPP 2010)
class sparse_exchange {
public:
    /// \par Collective no: nothing is sent before `run`
    /// \pre nothing else communicates over `world`, and MPI errors on it end the job
    explicit sparse_exchange(mpi_group const& world) : world_(world) {}

    /// Sends each text to its rank. Returns the texts that arrived, by rank, at most one per rank.
    ///
    /// \par Collective every rank of the group, in the same order
    /// \pre `outgoing` has at most one text per rank
    vector<addressed_text> run(vector<addressed_text> outgoing) {
        int const tag = first_tag + round_++ % tags;
        vector<MPI_Request> sends;
        std::size_t taken = 0;
        request_memory<vector<addressed_text>> texts(std::move(outgoing));
        for (addressed_text const& text : *texts)
            send(text, tag, sends);
        vector<addressed_text> arrived;
        MPI_Request barrier = MPI_REQUEST_NULL;
        bounded_wait wait(world_.limit());
        for (bool in_barrier = false, done = false; !done; wait.look()) {
            if (receive(tag, arrived))
                wait.restart();
            int passed = 0;
            if (in_barrier) {
                MPI_Test(&barrier, &passed, MPI_STATUS_IGNORE);
                done = passed != 0;
                continue;
            }
            in_barrier = are_taken(sends, taken);
            if (in_barrier)
                MPI_Ibarrier(world_.base(), &barrier);
        }
        texts.set_finished();
        sort_by(arrived, [](auto const& a, auto const& b) { return a.rank < b.rank; });
        return arrived;
    }

private:
    static constexpr int first_tag = 0x1000;
    static constexpr int tags = 0x100;

    /// Sends a text in pieces. All pieces except the last are full; the last may be empty. A piece
    /// counts as sent when the receiver has taken it.
    void send(addressed_text const& text, int tag, vector<MPI_Request>& sends) const {
        std::size_t const total = world_.count_limit();
        for (std::size_t first = 0;; first += total) {
            std::size_t const bytes = std::min(total, text.bytes.size() - first);
            sends.push_back(MPI_REQUEST_NULL);
            MPI_Issend(text.bytes.data() + first, static_cast<int>(bytes), MPI_BYTE, text.rank, tag,
                       world_.base(), &sends.back());
            if (bytes < total)
                return;
        }
    }

    /// True once the receivers have taken all pieces. The first `taken` pieces need no test.
    bool are_taken(vector<MPI_Request>& sends, std::size_t& taken) const {
        for (int passed = 1; passed && taken < sends.size();) {
            std::size_t const count = std::min(world_.count_limit(), sends.size() - taken);
            MPI_Testall(static_cast<int>(count), sends.data() + taken, &passed,
                        MPI_STATUSES_IGNORE);
            taken += passed ? count : 0;
        }
        return taken == sends.size();
    }

    /// Receives one piece if any has arrived.
    bool receive(int tag, vector<addressed_text>& arrived) const {
        int there = 0;
        MPI_Message message;
        MPI_Status status;
        MPI_Improbe(MPI_ANY_SOURCE, tag, world_.base(), &there, &message, &status);
        if (!there)
            return false;
        int bytes = 0;
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        auto position =
            std::find_if(arrived.begin(), arrived.end(), [&](addressed_text const& text) {
                return text.rank == status.MPI_SOURCE;
            });
        if (position == arrived.end())
            position = arrived.insert(position, {status.MPI_SOURCE, {}});
        std::size_t const before = position->bytes.size();
        position->bytes.resize(before + static_cast<std::size_t>(bytes));
        MPI_Mrecv(position->bytes.data() + before, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        return true;
    }

    mpi_group world_;
    int round_ = 0;
};

/// Messages that were started. Their memory must not change until they are complete.
class posted_messages {
public:
    /// \param about the expected number of messages under way in each direction
    /// \pre   nothing else communicates over `ranks` with the same tags
    posted_messages(mpi_group const& ranks, std::size_t about) : ranks_(ranks) {
        sends_.reserve(2 * about);
        receives_.reserve(about);
    }

    /// \pre `bytes` fits `ranks.count_limit()`
    void send(std::byte const* from, std::size_t bytes, int to, int tag) {
        MPI_Isend(from, static_cast<int>(bytes), MPI_BYTE, to, tag, ranks_.base(),
                  &sends_.emplace_back());
    }

    /// \param most the number of bytes that fit into the memory
    /// \pre   as `send`
    void receive(std::byte* into, std::size_t most, int from, int tag) {
        MPI_Irecv(into, static_cast<int>(most), MPI_BYTE, from, tag, ranks_.base(),
                  &receives_.emplace_back());
    }

    /// Calls `take(tag, bytes)` for each message that arrives, until all have arrived.
    ///
    /// \throws error with errc::deadline
    void take_all(auto&& take) {
        for (bounded_wait wait(ranks_.limit());; wait.look()) {
            int which = 0, has_come = 0, bytes = 0;
            MPI_Status status;
            MPI_Testany(static_cast<int>(receives_.size()), receives_.data(), &which, &has_come,
                        &status);
            if (has_come && which == MPI_UNDEFINED)
                return receives_.clear();
            if (!has_come)
                continue;
            wait.restart();
            MPI_Get_count(&status, MPI_BYTE, &bytes);
            take(status.MPI_TAG, static_cast<std::size_t>(bytes));
        }
    }

    /// True when all messages are sent; lets MPI make progress.
    bool are_sent() {
        int done = 0;
        MPI_Testall(static_cast<int>(sends_.size()), sends_.data(), &done, MPI_STATUSES_IGNORE);
        if (done)
            sends_.clear();
        return done != 0;
    }

    /// Returns when all messages are sent.
    ///
    /// \throws error with errc::deadline
    void finish() {
        for (bounded_wait wait(ranks_.limit()); !are_sent();)
            wait.look();
    }

private:
    mpi_group ranks_;
    vector<MPI_Request> sends_;
    vector<MPI_Request> receives_;
};

} // namespace reshard::detail

#endif
