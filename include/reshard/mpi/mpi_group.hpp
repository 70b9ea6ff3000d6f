// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_MPI_GROUP_HPP
#define RESHARD_MPI_MPI_GROUP_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/solo.hpp>
#include <reshard/plan/options.hpp>

#include <boost/assert.hpp>
#include <boost/mpi/communicator.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

/// \file
/// A Boost.MPI communicator as a group.

namespace reshard::detail {

/// The texts of all ranks, one after the other, cut into rounds of equal size.
///
/// Every round except the last is full, even if the texts have very different lengths. So there are
/// few rounds.
///
/// \par Units bytes
/// \pre       `0 < round_bytes`, and it fits an `int`
class gather_rounds {
public:
    gather_rounds(vector<std::uint64_t> const& lengths, std::uint64_t round_bytes);

    std::uint64_t size() const {
        return begins_.back() / round_bytes_ + (begins_.back() % round_bytes_ != 0);
    }

    /// The number of bytes that each rank sends in a round: at most `round_bytes` in total.
    vector<int> counts(std::uint64_t round) const;

    /// The number of bytes in a round: `round_bytes`, or fewer in the last round.
    std::uint64_t bytes(std::uint64_t round) const {
        return std::min(round_bytes_, begins_.back() - round * round_bytes_);
    }

    /// The number of bytes of `rank`'s text that travel before a round.
    std::uint64_t offset(std::size_t rank, std::uint64_t round) const;

private:
    /// The offset in a round at which the text of `rank` begins, clamped to the round.
    std::uint64_t clamped(std::size_t rank, std::uint64_t round) const;

    std::uint64_t round_bytes_;
    vector<std::uint64_t> begins_;
};

struct gathered_rows;

/// The notice that a rank sends to all others when it enters a call.
struct rank_notice {
    std::string machine;             ///< ranks with equal names share memory
    std::uint64_t messages = 0;      ///< the number of the rank's `own_messages`; 0: none
    std::uint64_t next_messages = 0; ///< a number that the rank has not used yet

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.machine, self.messages, self.next_messages);
    }
};

/// A communicator for the messages of a group. Ranks with equal numbers share it.
struct own_messages {
    std::optional<boost::mpi::communicator> world;
    std::uint64_t number = 0;
    int calls = 0;
};

/// Limits how long the ranks of a communicator wait for each other, and finds missing ranks.
///
/// A rank whose time is over sends a call to all others. A waiting rank that receives a call does
/// the same. Ranks that send no call within `answer_seconds` are missing. A rank that arrives later
/// receives the calls in its first wait, and gives up too.
class wait_limit {
public:
    /// \param seconds 0: no limit, but the rank still receives calls
    wait_limit(boost::mpi::communicator const& world, double seconds)
        : world_(world), seconds_(seconds) {}

    boost::mpi::communicator const& world() const { return world_; }

    /// True if there is a limit.
    bool is_finite() const { return seconds_ > 0; }

    /// \param waited the seconds since the last arrival
    bool is_over(double waited) const;

    /// \throws error with errc::deadline, which names the ranks that are missing
    [[noreturn]] void give_up(double waited) const;

private:
    static constexpr int tag = 0x5e5e;
    static constexpr double answer_seconds = 1;

    /// True if another rank has sent a call; `caller` is then that rank.
    bool hears(int& caller) const;

    boost::mpi::communicator world_;
    double seconds_;
};

/// One wait. Code that polls calls `look` between two polls.
class bounded_wait {
public:
    /// \pre `limit` outlives the wait
    explicit bounded_wait(wait_limit const& limit);

    /// \throws error with errc::deadline once the time is over
    void look() {
        if (++looks_ % looks_each == 0)
            check();
    }

    /// Restarts the time, because something has arrived.
    void restart();

private:
    /// Reading the clock and probing for calls takes as long as many polls.
    static constexpr unsigned looks_each = 64;

    void check();

    wait_limit const& limit_;
    double began_;
    unsigned looks_ = 0;
};

/// Memory that MPI requests read and write. If the caller abandons the requests, the memory is kept
/// until exit, because MPI may still use it.
template <class T>
class request_memory {
public:
    explicit request_memory(T value = {}) : memory_(std::make_unique<T>(std::move(value))) {}
    request_memory(request_memory const&) = delete;
    request_memory& operator=(request_memory const&) = delete;
    ~request_memory() {
        if (!are_finished_)
            static_cast<void>(memory_.release());
    }

    T* operator->() const { return memory_.get(); }
    T& operator*() const { return *memory_; }

    void set_finished() { are_finished_ = true; }

private:
    std::unique_ptr<T> memory_;
    bool are_finished_ = false;
};

} // namespace reshard::detail

namespace reshard {

/// The processes of a communicator.
class mpi_group {
public:
    /// Far below the largest `int`: `all_gather` needs this number of bytes beside the texts.
    static constexpr std::size_t default_count_limit = std::size_t{64} << 20;

    /// \param count_limit the most bytes, or requests, of one MPI call. A redistribution needs 128
    ///                    requests, and the bytes of an element
    /// \pre `0 < count_limit`, and it fits an `int`; `all_gather` fails if ranks have different
    ///      limits
    mpi_group(boost::mpi::communicator const& world, std::size_t count_limit = default_count_limit)
        : mpi_group(world, count_limit, {world, 0}) {}

    /// The same for an `MPI_Comm`, which the caller still owns.
    mpi_group(MPI_Comm world, std::size_t count_limit = default_count_limit)
        : mpi_group(boost::mpi::communicator(world, boost::mpi::comm_attach), count_limit) {}

    /// The same processes and limit over a separate communicator, so that messages are not confused
    /// with others. An MPI error on it ends the job, as MPI does by default.
    ///
    /// \par Collective every rank of `world`
    static mpi_group duplicate_of(mpi_group const& world);

    /// The notice that this rank sends to the others.
    detail::rank_notice notice() const;

    /// As `duplicate_of`, but all copies of this group share one communicator. The messages of each
    /// call have a separate tag there.
    ///
    /// \param notices the notices of all ranks, by rank
    /// \par Collective every rank of this group, in the same order
    mpi_group with_own_messages(vector<detail::rank_notice> const& notices) const;

    /// The same group, but in each call ranks wait for each other at most for `longest`: see
    /// `options::deadline`.
    ///
    /// \param longest seconds, or a duration of `std::chrono`; 0: this group's limit
    mpi_group with_deadline(detail::wait_duration longest) const;

    /// A group of some of these processes, over the communicator `ranks`.
    ///
    /// \pre all of `ranks` are processes of this group
    mpi_group subgroup(boost::mpi::communicator const& ranks) const {
        return {ranks, count_limit_, limit_};
    }

    int rank() const { return world_.rank(); }
    int size() const { return world_.size(); }

    /// The texts of all ranks, by rank. Their lengths may differ.
    ///
    /// MPI counts in `int`; here the lengths have 64 bits, and the bytes move in rounds.
    ///
    /// \par Collective every rank of the communicator, in the same order
    /// \throws error with errc::ranks_disagree, on every rank, if limits differ
    vector<std::string> all_gather(std::string const& bytes) const;

    boost::mpi::communicator const& base() const { return world_; }

    /// The most bytes, or requests, of one MPI call.
    std::size_t count_limit() const { return count_limit_; }

    detail::wait_limit const& limit() const { return limit_; }

    /// The tag of messages with elements.
    int tag() const { return tag_; }

private:
    mpi_group(boost::mpi::communicator const& world, std::size_t count_limit,
              detail::wait_limit limit)
        : world_(world), count_limit_(count_limit), limit_(std::move(limit)) {
        BOOST_ASSERT(0 < count_limit && std::in_range<int>(count_limit));
    }

    /// Each rank also sends its limit. With a different limit, it would wait for rounds that no
    /// other rank makes.
    void gather_rows(std::string const& bytes, detail::gathered_rows& rows) const;

    [[noreturn]] void fail_with_limits(detail::gathered_rows const& rows) const;

    void gather_round(detail::gather_rounds const& rounds, std::uint64_t round,
                      std::string const& bytes, vector<std::string>& all) const;

    boost::mpi::communicator world_;
    std::size_t count_limit_;
    detail::wait_limit limit_;
    int tag_ = 0x5e5d;
    std::shared_ptr<detail::own_messages> own_messages_ = std::make_shared<detail::own_messages>();
};

static_assert(group<mpi_group>);

} // namespace reshard

namespace reshard::detail {

/// The ranks of a node.
struct node_ranks {
    mpi_group group;
    vector<int> numbers; ///< the ranks' numbers in the undivided group, ascending
};

/// How many ranks of a machine form a node: `requested` or, if it is 0, the value of the
/// environment variable RESHARD_RANKS_PER_NODE. A result of 0 means all ranks of the machine.
///
/// \throws error with errc::usage if the variable is not a number of ranks
RESHARD_DECL int ranks_per_node(int requested);

/// The ranks of this rank's node. They share memory; there are at most `per_node` of them, or any
/// number if it is 0.
///
/// \par Collective every rank of the group, with the same `per_node`
RESHARD_DECL node_ranks node_of(mpi_group const& world, int per_node);

/// The ranks of this rank's node, if all ranks have the same RESHARD_RANKS_PER_NODE.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank: errc::usage for a bad RESHARD_RANKS_PER_NODE, errc::ranks_disagree
///         if the values differ
RESHARD_DECL node_ranks agreed_node_of(mpi_group const& ranks);

/// The number of ranks of each node, if every node has this number of consecutive ranks; the last
/// node may have fewer. 0 for other nodes, and for a single node, because then no rank is nearer
/// than another.
///
/// \param nodes for each rank, the lowest rank on its node
RESHARD_DECL holder_t equal_ranks_per_node(vector<int> const& nodes);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/mpi_group.ipp>
#endif

#endif
