// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_SHARED_ARENA_HPP
#define RESHARD_MPI_SHARED_ARENA_HPP

#include <reshard/core/config.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/os/arena_resource.hpp>
#include <reshard/os/shared_barrier.hpp>
#include <reshard/os/shared_segment.hpp>
#include <reshard/tensor/view.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <string>
#include <vector>

/// \file
/// Memory for tensors that the ranks of a node reach without messages.

namespace reshard::detail {

/// The kind of memory of a segment.
struct segment_request {
    segment_kind kind = segment_kind::unnamed;
    page_advice pages = {};
    system_calls calls = {};
};

/// Segments of all ranks of a node as one of them sees them, its own among them.
class node_segments {
    struct peer_segment {
        segment_address address;
        index_t bytes = 0;

        static constexpr void members(auto& self, auto&& visit) { visit(self.address, self.bytes); }
    };

public:
    /// The head of each segment, before the memory that is allocated.
    static constexpr index_t head_bytes = 4096;

    /// Makes this rank's segment, and maps the others' segments.
    ///
    /// \par Collective every rank of the node, in the same order
    /// \throws error with errc::io, on every rank of the node, if the system refuses one something
    node_segments(group auto const& node, index_t bytes, segment_request const& wanted) {
        peer_segment segment;
        auto const problem = attempt([&] {
            all_.push_back(shared_segment::create(head_bytes + bytes, wanted.kind, wanted.pages,
                                                  wanted.calls));
            new (all_.back().data()) barrier_state;
            segment = {all_.back().address(), all_.back().bytes()};
        });
        agree(node, problem);
        auto const addresses = gather_values(node, segment);
        agree_on(node, [&] { open_others(addresses, node.rank(), wanted.calls); });
        all_[static_cast<std::size_t>(node.rank())].seal();
    }

    /// The memory of a rank of the node.
    std::byte* data(int rank) const;
    address_range range(int rank) const;

    barrier_state& barrier() const;

    /// True for the first that asks, of this process.
    bool is_first_use() const { return !is_used_.test_and_set(); }

private:
    shared_segment const& at(int rank) const { return all_[static_cast<std::size_t>(rank)]; }

    /// This rank's own segment is kept until all ranks succeed: others may still look for
    /// it.
    void open_others(std::vector<peer_segment> const& peer_segments, int me,
                     system_calls const& calls);

    std::vector<shared_segment> all_; ///< by rank of the node
    mutable std::atomic_flag is_used_;
};

/// What `make(kind)` makes of segments of the first kind that no rank of the node is refused; null
/// if both kinds are refused, or there is only one rank.
///
/// \param refusal why there is none; empty if there is one
/// \par Collective every rank of the node, in the same order
template <group Group, class Make>
auto with_segments(Group const& node, std::string& refusal, Make const& make)
    -> decltype(make(segment_kind::unnamed)) {
    if (node.size() == 1) {
        refusal = "this rank is alone on its node";
        return nullptr;
    }
    for (segment_kind const kind : {segment_kind::unnamed, segment_kind::named})
        try {
            auto result = make(kind);
            refusal.clear();
            return result;
        } catch (error const& problem) { // the same on every rank of the node
            if (problem.code() == errc::deadline)
                throw;
            if (refusal != problem.what())
                refusal += (refusal.empty() ? "" : "; ") + std::string(problem.what());
        }
    return nullptr;
}

} // namespace reshard::detail

namespace reshard {

/// How an arena is made.
struct arena_options {
    /// This number of ranks of a node counts as a separate node; 0: the number in the environment
    /// variable RESHARD_RANKS_PER_NODE, or else all.
    int ranks_per_node = 0;
    page_advice pages = {};
    detail::system_calls calls = {};
};

namespace detail {

/// Memory of this process alone, aligned as an arena's.
class private_memory {
public:
    explicit private_memory(index_t bytes)
        : bytes_(bytes),
          lines_(
              std::make_unique_for_overwrite<line[]>(static_cast<std::size_t>(bytes + 63) / 64)) {}

    std::byte* data() const { return lines_.get()->bytes; }
    index_t bytes() const { return bytes_; }

private:
    struct alignas(arena_resource::alignment) line {
        std::byte bytes[arena_resource::alignment];
    };

    index_t bytes_;
    std::unique_ptr<line[]> lines_;
};

/// The resources that an arena and the redistributions that use it own together.
struct arena_state {
    std::uint64_t number = 0;    ///< not 0; the same on all ranks, of no other arena of theirs
    mpi_group world;             ///< whose ranks made it
    mpi_group node;              ///< the ranks of them that share memory
    std::vector<int> node_ranks; ///< their numbers in `world`, ascending
    std::unique_ptr<node_segments> segments; ///< null if the system refuses
    std::string refusal;                     ///< why there are none
    std::unique_ptr<private_memory> own;     ///< instead of them
};

} // namespace detail

/// Memory for tensors, a piece for each rank, that all ranks of a node see.
///
/// Given to `prepare` with a target, the rank that has an element writes it to its target, without
/// messages, and the first such `prepare` prefaults the memory that will be written; with a source,
/// the rank that wants it reads it there. If the system refuses
/// shared memory to some rank of a node, or there is one rank, the arena has memory of the rank
/// alone: then all is as without it.
///
/// It owns communicators, so every rank destroys its arenas in the same order. Jobs made with one
/// keep its memory; the tensors in it are the caller's to keep. Its resource is for one thread at a
/// time.
class shared_arena {
public:
    /// Takes `bytes` of memory on this rank, which may differ from rank to rank; tensors need up to
    /// 128 bytes more than their elements.
    ///
    /// \par Collective every rank of the group, in the same order
    /// \throws error on every rank: errc::usage for fewer than 0 bytes, or a bad
    ///         RESHARD_RANKS_PER_NODE; errc::ranks_disagree if that differs; errc::io without
    ///         memory
    shared_arena(mpi_group const& world, index_t bytes, arena_options const& options = {});

    /// True if the ranks of this node see each other's memory, the same on all of them.
    bool is_shared() const { return state_->segments != nullptr; }

    /// Why they do not, for a log; the same on all of them, empty if they do.
    std::string const& refusal() const { return state_->refusal; }

    /// Allocates tensors in this rank's memory.
    std::pmr::memory_resource* resource() const { return resource_.get(); }

    /// The ranks of this node, by their numbers in the group, ascending.
    std::vector<int> const& node_ranks() const { return state_->node_ranks; }

    /// For `prepare`.
    std::shared_ptr<detail::arena_state const> const& state() const { return state_; }

private:
    void take(detail::arena_state& state, index_t bytes, arena_options const& options);

    std::shared_ptr<detail::arena_state const> state_;
    std::unique_ptr<detail::arena_resource> resource_;
};

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/mpi/impl/shared_arena.ipp>
#endif

#endif
