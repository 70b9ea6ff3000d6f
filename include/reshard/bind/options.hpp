// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_OPTIONS_HPP
#define RESHARD_BIND_OPTIONS_HPP

#include <reshard/bind/any_program.hpp>
#include <reshard/group/solo.hpp>
#include <reshard/layout/state_need.hpp>
#include <reshard/layout/strictness.hpp>
#include <reshard/plan/options.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// What may be asked of a redistribution.

namespace reshard {

namespace detail {

struct planned_job;

/// A few values by digest. When there are too many, the one that was asked for longest ago goes.
///
/// Copies share the values, which do not change.
///
/// \tparam Value `plan`, or what holds one
template <class Value>
class digest_cache {
public:
    using pointer = std::shared_ptr<Value const>;

    /// \pre `most > 0`
    explicit digest_cache(std::size_t most = 16) : most_(most) { BOOST_ASSERT(most > 0); }

    /// The value of that digest, or null. Counts as one use, whichever it is.
    pointer find(std::uint64_t digest) {
        auto const position =
            std::find_if(entries_.begin(), entries_.end(), [&](entry const& current_entry) {
                return current_entry.digest == digest;
            });
        if (position == entries_.end()) {
            ++misses_;
            return nullptr;
        }
        ++hits_;
        std::rotate(position, position + 1, entries_.end());
        return entries_.back().value;
    }

    /// The value that was used last of those that satisfy `condition`, or null. This is no use.
    Value const* latest(auto const& condition) const {
        for (std::size_t i = entries_.size(); i-- > 0;)
            if (condition(*entries_[i].value))
                return entries_[i].value.get();
        return nullptr;
    }

    /// Keeps a value, and replaces another one with that digest.
    pointer add(std::uint64_t digest, Value value) {
        return add(digest, std::make_shared<Value const>(std::move(value)));
    }

    /// The same of a value that is shared already.
    pointer add(std::uint64_t digest, pointer value) {
        forget(digest);
        if (entries_.size() == most_)
            entries_.erase(entries_.begin());
        entries_.push_back({digest, std::move(value)});
        return entries_.back().value;
    }

    /// Drops the value of that digest, if there is one.
    void forget(std::uint64_t digest) {
        std::erase_if(entries_,
                      [&](entry const& current_entry) { return current_entry.digest == digest; });
    }

    std::size_t size() const { return entries_.size(); }
    /// How often `find` found something, and nothing.
    std::size_t hits() const { return hits_; }
    std::size_t misses() const { return misses_; }

private:
    struct entry {
        std::uint64_t digest;
        pointer value;
    };

    std::vector<entry> entries_; ///< the one that was used last at the end
    std::size_t most_;
    std::size_t hits_ = 0;
    std::size_t misses_ = 0;
};

} // namespace detail

/// The plans of one rank, by a digest of the shards of all ranks. See `options::cache`.
using plan_cache = detail::digest_cache<detail::planned_job>;

namespace detail {

struct lookup_steps;
struct round_steps;

/// Whether ranks look up shards in a directory, made by `directory`: by default they do not.
struct shard_lookup {
    holder_t gather_up_to = 0; ///< up to this number of ranks send all others their shards
    lookup_steps const* steps = nullptr; ///< null if any number of ranks do

    /// True if `ranks` ranks send all others their shards.
    bool gathers(std::size_t ranks) const { return !steps || ranks <= gather_up_to; }

    static constexpr void members(auto& self, auto&& visit) { visit(self.gather_up_to); }
    static constexpr std::string_view member_names[] = {"gather_up_to"};
};

/// Whether targets are filled in rounds, made by `rounds`: by default they are not.
struct memory_rounds {
    index_t budget = any_budget;
    std::function<state_dict(std::vector<std::string> const& keys)> allocate = {};
    std::function<void(std::vector<std::string> const& keys)> release = {};
    round_steps const* steps = nullptr; ///< null if all targets are filled at once

    explicit operator bool() const { return steps != nullptr; }

    static constexpr void members(auto& self, auto&& visit) { visit(self.budget); }
    static constexpr std::string_view member_names[] = {"budget"};
};

} // namespace detail

/// How ranks of a node exchange elements in private memory.
enum class node_exchange : std::uint8_t {
    chosen,   ///< rings, if there is more than a little to move
    rings,    ///< slots of shared memory, if the system has it
    messages, ///< MPI, as between nodes
};

/// How ranks of a node read bytes of files that several of them need.
enum class file_reads : std::uint8_t {
    chosen, ///< once, if that reads a quarter less or more, of files of some MiB
    once,   ///< one of the ranks reads and verifies them, and all copy from memory that they share
    direct, ///< each rank for itself
};

/// The options of a redistribution; equal on every rank, except the cache, the functions and the
/// deadline.
struct options {
    /// The program of the target tensors. By default, each is the source tensor of the same name. A
    /// function gets the catalogs of all ranks' tensors.
    any_program program = {};
    /// Fills the targets in rounds within a memory budget: `rounds(budget, allocate, release)` of
    /// `bind/rounds.hpp`. By default, all at once.
    detail::memory_rounds memory = {};
    /// Rank `r` runs on node `r / processes_per_node`; 0: on the node that MPI says, if nodes have
    /// equally many ranks one after the other. Of several ranks that hold the same elements, one on
    /// the same node gives them.
    holder_t processes_per_node = 0;
    /// Elements that several ranks on other nodes want from one rank leave it once, and they pass
    /// them on chunk by chunk, from their targets; see `plan_options::relays`. Nothing is passed on
    /// if `processes_per_node` is 0 and all ranks are on one node, or nodes differ; nor are tensors
    /// that are filled in rounds, or found in a directory
    /// (`lookup`).
    ///
    /// Of a load: bytes of files that several nodes need are read by one rank of all, and passed on
    /// from node to node. That is faster if all nodes together read files more slowly than one of
    /// them sends. Files that only some ranks see are read by these, as without it.
    bool relays = false;
    /// The cache of plans. Every time, the ranks compare a digest of their shards, of the program
    /// and of the options. If each of them has the plan from before, nothing else is exchanged; a
    /// change on any rank, or a rank that has forgotten the plan, makes all of them plan. Every
    /// rank gives one, or none.
    ///
    /// \par Source Megatron-Core's assume_constant_structure is a promise of the caller, and a
    ///             structure that changed none the less corrupts a checkpoint; here it is planned
    ///             again
    plan_cache* cache = nullptr;
    /// Patterns of target keys whose shapes may differ from the source's or the program's (see
    /// `fit_shapes`): they are cropped, or extended with zeros.
    std::vector<std::string> shape_mismatch = {};
    /// The treatment of keys that only one side has. Without a value, a target tensor that the
    /// source does not have is an error, and an unwanted source tensor is skipped.
    std::optional<strictness> strict = {};
    /// How ranks learn a layout that no rank knows: `directory()` of `mpi/directory_query.hpp` for
    /// many ranks. By default, all ranks send all others their shards.
    detail::shard_lookup lookup = {};
    /// Which ranks share a node is detected, or set by the environment variable
    /// RESHARD_RANKS_PER_NODE.
    node_exchange on_node = node_exchange::chosen;
    /// The longest that this rank waits for others at any one place, as seconds or as a duration of
    /// `std::chrono`; 0 and infinity: as long as it takes. A negative value, or not a number, is
    /// refused with errc::usage by the rank that gives it alone. When the time is over, all ranks
    /// that wait get an error with errc::deadline, a second later at most, which names the ranks
    /// that do not wait: they were stopped, are still at work, or are in another call. The
    /// communicator is then good for `MPI_Abort` alone, and memory that messages may still reach is
    /// kept until exit: a program keeps its tensors as well. Give more than the slowest rank needs
    /// to come, and to move its own bytes.
    ///
    /// \par Source monitored_barrier of PyTorch, which names the ranks that do not reach it; here
    ///             every wait does
    detail::wait_duration deadline = 0.0;
    /// A load compares the chunks that it reads with the digests that were saved with them, if the
    /// files have any.
    bool verify = true;
    /// Of a load. Files that are mapped are read directly.
    file_reads reads = file_reads::chosen;
    /// The tensors that a load must fill, over all ranks: it is refused before anything is written
    /// if a key is lacking, or omitted by `strict`. Patterns are matched with the keys that the
    /// ranks want. A redistribution takes none.
    std::vector<state_need> needs = {};
    /// A load may cut fused tensors otherwise than they were made for: if ranks gather a tensor
    /// before they use it, as with FSDP, any cut is right.
    bool cut_fused = false;

    /// The options that ranks compare before they do anything; programs have separate digests.
    static constexpr void members(auto& self, auto&& visit) {
        visit(self.memory, self.processes_per_node, self.relays, self.shape_mismatch, self.lookup,
              self.on_node, self.needs);
    }
    static constexpr std::string_view member_names[] = {
        "memory", "processes_per_node", "relays", "shape_mismatch", "lookup", "on_node", "needs"};
};

} // namespace reshard

#endif
