// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_MPI_GROUP_IPP
#define RESHARD_MPI_IMPL_MPI_GROUP_IPP

#include <reshard/mpi/mpi_group.hpp>

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/layout/holder.hpp>

#include <boost/assert.hpp>
#include <boost/mpi/communicator.hpp>
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace reshard::detail {

RESHARD_DECL gather_rounds::gather_rounds(vector<std::uint64_t> const& lengths,
                                          std::uint64_t round_bytes)
    : round_bytes_(round_bytes) {
    BOOST_ASSERT(0 < round_bytes && round_bytes <= std::numeric_limits<int>::max());
    begins_.reserve(lengths.size() + 1);
    begins_.push_back(0);
    for (std::uint64_t const length : lengths)
        begins_.push_back(begins_.back() + length);
}

RESHARD_DECL vector<int> gather_rounds::counts(std::uint64_t round) const {
    vector<int> counts;
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

RESHARD_DECL bool wait_limit::hears(int& caller) const {
    int there = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, tag, world_, &there, &status);
    caller = there ? status.MPI_SOURCE : MPI_PROC_NULL;
    return there;
}

RESHARD_DECL bool wait_limit::is_over(double waited) const {
    int caller = 0;
    return (seconds_ > 0 && waited > seconds_) || hears(caller);
}

/// Lists the ranks that are not `heard`.
inline std::string ranks_missing(vector<bool> const& heard) {
    std::string list;
    for (std::size_t rank = 0; rank < heard.size(); ++rank)
        if (!heard[rank])
            list += (list.empty() ? "" : ", ") + std::to_string(rank);
    return list;
}

RESHARD_DECL void wait_limit::give_up(double waited) const {
    vector<bool> heard(static_cast<std::size_t>(world_.size()));
    heard[static_cast<std::size_t>(world_.rank())] = true;
    request_memory<vector<MPI_Request>> calls;
    for (int peer = 0; peer < world_.size(); ++peer)
        if (peer != world_.rank())
            MPI_Isend(nullptr, 0, MPI_BYTE, peer, tag, world_, &calls->emplace_back());
    double const last = MPI_Wtime() + answer_seconds;
    while (std::find(heard.begin(), heard.end(), false) != heard.end() && MPI_Wtime() < last)
        if (int caller = 0; hears(caller)) {
            MPI_Recv(nullptr, 0, MPI_BYTE, caller, tag, world_, MPI_STATUS_IGNORE);
            heard[static_cast<std::size_t>(caller)] = true;
        }
    std::string const missing = ranks_missing(heard);
    fail(errc::deadline, "rank ", world_.rank(), " of ", world_.size(), " waited ",
         static_cast<long>(waited * 1000), " ms for ",
         missing.empty() ? "ranks that have given up by now"
                         : (missing.find(',') == missing.npos ? "rank " : "ranks ") + missing +
                               ", which did not answer: stopped, busy, or in another call",
         "; end the job with MPI_Abort, and increase options.deadline if it was too short");
}

RESHARD_DECL bounded_wait::bounded_wait(wait_limit const& limit)
    : limit_(limit), began_(MPI_Wtime()) {}

RESHARD_DECL void bounded_wait::restart() { began_ = MPI_Wtime(); }

RESHARD_DECL void bounded_wait::check() {
    double const waited = MPI_Wtime() - began_;
    if (limit_.is_over(waited))
        limit_.give_up(waited);
}

/// Returns once `request` is complete.
///
/// \throws error with errc::deadline
inline void finish(MPI_Request& request, wait_limit const& limit) {
    bounded_wait wait(limit);
    for (int done = 0; !done; wait.look())
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

/// The beginning of a rank's text, the text's length, and the rank's limit.
struct text_row {
    std::uint64_t length = 0;
    std::uint64_t limit = 0;
    std::string_view beginning;
};

/// The rows of all ranks while they are gathered. All rows have the same size.
struct gathered_rows {
    std::string mine, all;
    MPI_Datatype type = MPI_DATATYPE_NULL;
};

inline std::string machine_name() {
    char name[MPI_MAX_PROCESSOR_NAME];
    int length = 0;
    MPI_Get_processor_name(name, &length);
    return {name, static_cast<std::size_t>(length)};
}

inline constexpr std::size_t row_head = 2 * sizeof(std::uint64_t);

/// The bytes of a row. A short text, as in most agreements, fits into its row and needs no second
/// step.
inline std::size_t row_bytes(std::size_t ranks) {
    return std::clamp(std::size_t{65536} / ranks, std::size_t{256}, std::size_t{2048});
}

inline text_row row_at(gathered_rows const& rows, std::size_t rank) {
    std::size_t const each = rows.mine.size();
    char const* const begin = rows.all.data() + rank * each;
    text_row row;
    std::memcpy(&row.length, begin, sizeof row.length);
    std::memcpy(&row.limit, begin + sizeof row.length, sizeof row.limit);
    std::uint64_t const held_count = std::min<std::uint64_t>(row.length, each - row_head);
    row.beginning = {begin + row_head, static_cast<std::size_t>(held_count)};
    return row;
}

/// A round of texts while it is gathered.
struct gathered_round {
    std::string mine;
    vector<int> counts, offsets;
    vector<char> all;
};

} // namespace reshard::detail

namespace reshard {

RESHARD_DECL mpi_group mpi_group::with_deadline(detail::wait_duration longest) const {
    mpi_group limited = *this;
    if (longest.seconds > 0)
        limited.limit_ = {limit_.world(), longest.seconds};
    return limited;
}

RESHARD_DECL mpi_group mpi_group::duplicate_of(mpi_group const& world) {
    detail::request_memory<MPI_Comm> duplicate(MPI_COMM_NULL);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_idup(world.world_, &*duplicate, &request);
    detail::finish(request, world.limit_);
    duplicate.set_finished();
    MPI_Comm_set_errhandler(*duplicate, MPI_ERRORS_ARE_FATAL);
    return world.subgroup({*duplicate, boost::mpi::comm_take_ownership});
}

RESHARD_DECL detail::rank_notice mpi_group::notice() const {
    static std::atomic<std::uint64_t> numbers = 0;
    return {detail::machine_name(), own_messages_->number, ++numbers};
}

RESHARD_DECL mpi_group
mpi_group::with_own_messages(vector<detail::rank_notice> const& notices) const {
    constexpr int first_tag = 0x2000, tags = 0x2000; // every MPI permits these tags
    detail::own_messages& own = *own_messages_;
    bool const have_one =
        own.number != 0 && std::all_of(notices.begin(), notices.end(), [&](auto const& notice) {
            return notice.messages == own.number;
        });
    if (!have_one)
        own = {duplicate_of(*this).world_, notices.front().next_messages, 0};
    mpi_group group = subgroup(*own.world);
    group.tag_ = first_tag + own.calls++ % tags;
    return group;
}

RESHARD_DECL vector<std::string> mpi_group::all_gather(std::string const& bytes) const {
    detail::request_memory<detail::gathered_rows> rows;
    gather_rows(bytes, *rows);
    rows.set_finished();
    vector<std::string> all(static_cast<std::size_t>(size()));
    vector<std::uint64_t> lengths;
    bool are_complete = true;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        detail::text_row const row = detail::row_at(*rows, rank);
        if (row.limit != count_limit_)
            fail_with_limits(*rows);
        lengths.push_back(row.length);
        are_complete = are_complete && row.beginning.size() == row.length;
    }
    for (std::size_t rank = 0; rank < all.size(); ++rank)
        if (are_complete)
            all[rank] = detail::row_at(*rows, rank).beginning;
        else
            all[rank].reserve(lengths[rank]);
    detail::gather_rounds const rounds(lengths, count_limit_);
    for (std::uint64_t round = 0; !are_complete && round < rounds.size(); ++round)
        gather_round(rounds, round, bytes, all);
    return all;
}

RESHARD_DECL void mpi_group::gather_rows(std::string const& bytes,
                                         detail::gathered_rows& rows) const {
    auto const ranks = static_cast<std::size_t>(size());
    std::size_t const each = detail::row_bytes(ranks);
    std::uint64_t const head[] = {bytes.size(), count_limit_};
    rows.mine.assign(reinterpret_cast<char const*>(head), sizeof head);
    rows.mine.append(bytes, 0, each - detail::row_head);
    rows.mine.resize(each);
    rows.all.resize(ranks * each);
    MPI_Type_contiguous(static_cast<int>(each), MPI_BYTE, &rows.type);
    MPI_Type_commit(&rows.type);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallgather(rows.mine.data(), 1, rows.type, rows.all.data(), 1, rows.type, world_, &request);
    detail::finish(request, limit_);
    MPI_Type_free(&rows.type);
}

RESHARD_DECL void mpi_group::fail_with_limits(detail::gathered_rows const& rows) const {
    std::uint64_t const first = detail::row_at(rows, 0).limit;
    std::size_t rank = 1;
    while (detail::row_at(rows, rank).limit == first)
        ++rank;
    fail(errc::ranks_disagree, "rank 0 limits the count of an MPI call to ", first, ", but rank ",
         rank, " to ", detail::row_at(rows, rank).limit,
         "; every rank must give mpi_group the same limit");
}

RESHARD_DECL void mpi_group::gather_round(detail::gather_rounds const& rounds, std::uint64_t round,
                                          std::string const& bytes,
                                          vector<std::string>& all) const {
    detail::request_memory<detail::gathered_round> memory;
    auto const me = static_cast<std::size_t>(rank());
    vector<int> const& counts = memory->counts = rounds.counts(round);
    std::exclusive_scan(counts.begin(), counts.end(), std::back_inserter(memory->offsets), 0);
    memory->mine = bytes.substr(rounds.offset(me, round), static_cast<std::size_t>(counts[me]));
    memory->all.resize(rounds.bytes(round));
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallgatherv(memory->mine.data(), counts[me], MPI_BYTE, memory->all.data(), counts.data(),
                    memory->offsets.data(), MPI_BYTE, world_, &request);
    detail::finish(request, limit_);
    memory.set_finished();
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i].append(memory->all.data() + memory->offsets[i], static_cast<std::size_t>(counts[i]));
}

} // namespace reshard

namespace reshard::detail {

RESHARD_DECL int ranks_per_node(int requested) {
    char const* const text = std::getenv("RESHARD_RANKS_PER_NODE");
    if (requested != 0 || !text)
        return requested;
    holder_t count = 0;
    auto const [end, problem] = std::from_chars(text, text + std::strlen(text), count);
    if (problem != std::errc() || *end != '\0' || count < 1 || count > most_ranks_named)
        fail(errc::usage, "RESHARD_RANKS_PER_NODE: '", text, "' is not a whole number from 1 to ",
             most_ranks_named);
    return static_cast<int>(count);
}

RESHARD_DECL node_ranks node_of(mpi_group const& world, int per_node) {
    MPI_Comm value = MPI_COMM_NULL;
    MPI_Comm_split_type(world.base(), MPI_COMM_TYPE_SHARED, world.rank(), MPI_INFO_NULL, &value);
    boost::mpi::communicator const machine(value, boost::mpi::comm_take_ownership);
    mpi_group node = world.subgroup(
        per_node == 0 ? machine : machine.split(machine.rank() / per_node, machine.rank()));
    vector<int> numbers = gather_values(node, world.rank());
    return {std::move(node), std::move(numbers)};
}

RESHARD_DECL node_ranks agreed_node_of(mpi_group const& ranks) {
    int per_node = 0;
    auto const problem = attempt([&] { per_node = ranks_per_node(0); });
    agree_to_run(ranks, "find the ranks of a node", {"RESHARD_RANKS_PER_NODE", per_node}, problem);
    return node_of(ranks, per_node);
}

RESHARD_DECL holder_t equal_ranks_per_node(vector<int> const& nodes) {
    auto const count =
        static_cast<std::size_t>(std::count(nodes.begin(), nodes.end(), nodes.front()));
    for (std::size_t rank = 0; rank < nodes.size(); ++rank)
        if (nodes[rank] != static_cast<int>(rank / count * count))
            return 0;
    return count == nodes.size() ? 0 : static_cast<holder_t>(count);
}

} // namespace reshard::detail

#endif
