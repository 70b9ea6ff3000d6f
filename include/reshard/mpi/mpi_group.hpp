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

    /// The bytes that each rank gives in a round: `round_bytes` in total, or fewer.
    vector<int> counts(std::uint64_t round) const;

    /// The bytes of a round: `round_bytes`, or fewer in the last round.
    std::uint64_t bytes(std::uint64_t round) const {
        return std::min(round_bytes_, begins_.back() - round * round_bytes_);
    }

    /// The index of the first byte that `rank` gives in a round; the index of its text's end if it
    /// gives none.
    std::uint64_t offset(std::size_t rank, std::uint64_t round) const;

private:
    /// Where text `rank` begins in a round, not beyond the ends of the round.
    std::uint64_t clamped(std::size_t rank, std::uint64_t round) const;

    std::uint64_t round_bytes_;
    vector<std::uint64_t> begins_;
};

struct gathered_rows;

/// The notice of a rank to the others when it enters a call.
struct rank_notice {
    std::string machine;             ///< ranks with equal names share memory
    std::uint64_t messages = 0;      ///< the number of its `own_messages`, or 0
    std::uint64_t next_messages = 0; ///< a number that it has not used yet

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.machine, self.messages, self.next_messages);
    }
};

/// A communicator for the messages of a group. Ranks with the same number share it.
struct own_messages {
    std::optional<boost::mpi::communicator> world;
    std::uint64_t number = 0;
    int calls = 0;
};

/// How long ranks of a communicator wait for each other, and how they learn which ranks are
/// missing.
///
/// A rank whose time is over sends a call to all others, and so does each rank that receives a call
/// while it waits. Ranks that send no call within `answer_seconds` are missing. A rank that comes
/// later receives the calls in its first wait, and gives up as well.
class wait_limit {
public:
    /// \param seconds 0: no limit; the rank still receives the calls of others
    wait_limit(boost::mpi::communicator const& world, double seconds)
        : world_(world), seconds_(seconds) {}

    boost::mpi::communicator const& world() const { return world_; }

    /// True if there is a limit.
    bool is_finite() const { return seconds_ > 0; }

    /// \param waited seconds since anything arrived
    bool is_over(double waited) const;

    /// \throws error with errc::deadline, which names the ranks that are missing
    [[noreturn]] void give_up(double waited) const;

private:
    static constexpr int tag = 0x5e5e;
    static constexpr double answer_seconds = 1;

    /// True if a rank calls; `caller` is then its number.
    bool hears(int& caller) const;

    boost::mpi::communicator world_;
    double seconds_;
};

/// One wait. The code that polls calls `look` between two polls.
class bounded_wait {
public:
    /// \pre `limit` outlives the wait
    explicit bounded_wait(wait_limit const& limit);

    /// \throws error with errc::deadline once the time is over
    void look() {
        if (++looks_ % looks_each == 0)
            check();
    }

    /// Something arrived: the time begins again.
    void restart();

private:
    /// A look at the clock and for messages costs about the time of many polls.
    static constexpr unsigned looks_each = 64;

    void check();

    wait_limit const& limit_;
    double began_;
    unsigned looks_ = 0;
};

/// Memory that MPI requests read and write. If the requests are given up, the memory is kept until
/// exit, because they may still be under way.
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
    /// Far below what an `int` counts; `all_gather` needs that number of bytes beside the texts.
    static constexpr std::size_t default_count_limit = std::size_t{64} << 20;

    /// \param count_limit the most that one call of MPI counts, of bytes or of requests; a
    ///                    redistribution needs 128 requests and one element
    /// \pre `0 < count_limit`, and it fits an `int`; ranks that differ learn it when they gather
    mpi_group(boost::mpi::communicator const& world, std::size_t count_limit = default_count_limit)
        : mpi_group(world, count_limit, {world, 0}) {}

    /// The same over a communicator of MPI, which the caller still owns.
    mpi_group(MPI_Comm world, std::size_t count_limit = default_count_limit)
        : mpi_group(boost::mpi::communicator(world, boost::mpi::comm_attach), count_limit) {}

    /// The same processes and limit with separate messages, so that they are not confused with
    /// other messages. Errors of MPI on it end the job, as MPI does by default.
    ///
    /// \par Collective every rank of `world`
    static mpi_group duplicate_of(mpi_group const& world);

    /// The data that the other ranks need from this rank.
    detail::rank_notice notice() const;

    /// As `duplicate_of`, but the ranks make one communicator for all copies of this group. The
    /// messages of each call have a separate tag there.
    ///
    /// \param notices of all ranks, by rank
    /// \par Collective every rank of this group, in the same order
    mpi_group with_own_messages(vector<detail::rank_notice> const& notices) const;

    /// The same group with a limit, in every call, on how long ranks wait for each other: see
    /// `options::deadline`.
    ///
    /// \param longest seconds, or a duration of `std::chrono`; 0: this group's
    mpi_group with_deadline(detail::wait_duration longest) const;

    /// Some of the processes, over a separate communicator.
    ///
    /// \pre all of `ranks` are processes of this group
    mpi_group subgroup(boost::mpi::communicator const& ranks) const {
        return {ranks, count_limit_, limit_};
    }

    int rank() const { return world_.rank(); }
    int size() const { return world_.size(); }

    /// The texts of all ranks, in their order, of any lengths.
    ///
    /// MPI counts in `int`; here the lengths have 64 bits, and the bytes move in rounds.
    ///
    /// \par Collective every rank of the communicator, in the same order
    /// \throws error with errc::ranks_disagree, on every rank, for different limits
    vector<std::string> all_gather(std::string const& bytes) const;

    boost::mpi::communicator const& base() const { return world_; }

    /// The most that one call of MPI counts.
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

    /// Each rank sends its limit, too: with different limits it would wait for rounds that no other
    /// rank makes.
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
    vector<int> numbers; ///< in the group that was divided, ascending
};

/// How many ranks of a machine form a node: the given number or, if it is 0, the number in the
/// environment variable RESHARD_RANKS_PER_NODE. 0: all ranks of the machine.
///
/// \throws error with errc::usage if the variable is not a number of ranks
RESHARD_DECL int ranks_per_node(int requested);

/// The ranks that share memory with this one, `per_node` of them at most; 0: all.
///
/// \par Collective every rank of the group, with the same `per_node`
RESHARD_DECL node_ranks node_of(mpi_group const& world, int per_node);

/// The ranks of this rank's node, if all ranks give the same number of ranks per node.
///
/// \par Collective every rank of the group, in the same order
/// \throws error on every rank: errc::usage for a bad RESHARD_RANKS_PER_NODE,
///         errc::ranks_disagree if that differs
RESHARD_DECL node_ranks agreed_node_of(mpi_group const& ranks);

/// How many ranks each node has, if all nodes have the same number of consecutive ranks; the last
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
