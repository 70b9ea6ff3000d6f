// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_SPARSE_EXCHANGE_IPP
#define RESHARD_MPI_IMPL_SPARSE_EXCHANGE_IPP

#include <reshard/mpi/sparse_exchange.hpp>

#include <reshard/core/config.hpp>

#include <algorithm>
#include <utility>

namespace reshard::detail {

RESHARD_DECL sparse_exchange::sparse_exchange(mpi_group const& world) : world_(world) {}

RESHARD_DECL std::vector<addressed_text>
sparse_exchange::run(std::vector<addressed_text> outgoing) {
    int const tag = first_tag + round_++ % tags;
    std::vector<MPI_Request> sends;
    std::size_t taken = 0;
    request_memory<std::vector<addressed_text>> texts(std::move(outgoing));
    for (addressed_text const& text : *texts)
        send(text, tag, sends);
    std::vector<addressed_text> arrived;
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
    std::sort(arrived.begin(), arrived.end(),
              [](addressed_text const& a, addressed_text const& b) { return a.rank < b.rank; });
    return arrived;
}

RESHARD_DECL void sparse_exchange::send(addressed_text const& one, int tag,
                                        std::vector<MPI_Request>& sends) const {
    std::size_t const whole = world_.count_limit();
    for (std::size_t first = 0;; first += whole) {
        std::size_t const bytes = std::min(whole, one.bytes.size() - first);
        sends.push_back(MPI_REQUEST_NULL);
        MPI_Issend(one.bytes.data() + first, static_cast<int>(bytes), MPI_BYTE, one.rank, tag,
                   world_.base(), &sends.back());
        if (bytes < whole)
            return;
    }
}

RESHARD_DECL bool sparse_exchange::are_taken(std::vector<MPI_Request>& sends,
                                             std::size_t& taken) const {
    for (int passed = 1; passed && taken < sends.size();) {
        std::size_t const count = std::min(world_.count_limit(), sends.size() - taken);
        MPI_Testall(static_cast<int>(count), sends.data() + taken, &passed, MPI_STATUSES_IGNORE);
        taken += passed ? count : 0;
    }
    return taken == sends.size();
}

RESHARD_DECL bool sparse_exchange::receive(int tag, std::vector<addressed_text>& arrived) const {
    int there = 0;
    MPI_Message message;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, tag, world_.base(), &there, &message, &status);
    if (!there)
        return false;
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    auto place = std::find_if(arrived.begin(), arrived.end(), [&](addressed_text const& one) {
        return one.rank == status.MPI_SOURCE;
    });
    if (place == arrived.end())
        place = arrived.insert(place, {status.MPI_SOURCE, {}});
    std::size_t const before = place->bytes.size();
    place->bytes.resize(before + static_cast<std::size_t>(bytes));
    MPI_Mrecv(place->bytes.data() + before, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    return true;
}

} // namespace reshard::detail

#endif
