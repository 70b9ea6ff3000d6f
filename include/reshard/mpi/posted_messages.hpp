// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_POSTED_MESSAGES_HPP
#define RESHARD_MPI_POSTED_MESSAGES_HPP

#include <reshard/core/vector.hpp>
#include <reshard/mpi/mpi_group.hpp>

#include <mpi.h>

#include <cstddef>

/// \file
/// Messages that are under way while a rank does something else.

namespace reshard::detail {

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
