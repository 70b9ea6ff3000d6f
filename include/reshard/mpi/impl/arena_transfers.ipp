// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_ARENA_TRANSFERS_IPP
#define RESHARD_MPI_IMPL_ARENA_TRANSFERS_IPP

#include <reshard/core/vector.hpp>
#include <reshard/mpi/shared_arena.hpp>

#include <reshard/group/agree.hpp>
#include <reshard/group/bytes.hpp>
#include <reshard/mpi/node_transfers.hpp>
#include <reshard/mpi/sparse_exchange.hpp>
#include <reshard/os/page_advice.hpp>
#include <reshard/tensor/view.hpp>

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace reshard::detail {

/// The number of `rank` among the ranks that share the arena's memory with this rank; std::nullopt
/// if `rank` does not share it.
inline std::optional<int> node_number(arena_state const* arena, int rank) {
    if (!arena || !arena->segments)
        return std::nullopt;
    auto const& ranks = arena->node_ranks;
    auto const position = std::lower_bound(ranks.begin(), ranks.end(), rank);
    if (position == ranks.end() || *position != rank)
        return std::nullopt;
    return static_cast<int>(position - ranks.begin());
}

/// Finds transfers whose source or target lies in an arena, and lets one of the two ranks make
/// them.
///
/// Both ranks of a pair list the transfers between them in the order of the plan, and send each
/// other the positions of the ends that the other rank can access. So both have the same facts. The
/// source rank pushes a transfer if the target's position is known; otherwise the target rank pulls
/// it if the source's position is known.
class node_transfers {
public:
    node_transfers(bound_plan const& bound, side_arenas const& arenas, mpi_group const& ranks)
        : bound_(bound), arenas_(arenas), rank_(ranks.rank()), size_(ranks.size()) {}

    /// For each peer, the positions of the ends in this rank's memory that the peer can access.
    vector<addressed_text> tell(sorted_transfers const& transfers) const {
        vector<addressed_text> texts;
        for (int peer = 0; peer < static_cast<int>(transfers.to.size()); ++peer) {
            vector<peer_end> ends;
            for (std::uint32_t const number : incoming(transfers, peer))
                ends.push_back(described(own_target(number), arenas_.target));
            for (std::uint32_t const number : outgoing(transfers, peer))
                ends.push_back(described(own_source(number), arenas_.source));
            if (!ends.empty())
                texts.push_back({peer, list_to_bytes(ends)});
        }
        return texts;
    }

    /// Removes from `transfers` all transfers that need no message. Returns the removed transfers
    /// that this rank makes.
    ///
    /// \pre `addressed_texts` are the texts that arrived from all ranks
    vector<node_transfer> take(sorted_transfers& transfers,
                               vector<addressed_text> const& addressed_texts) const {
        vector<node_transfer> new_transfers;
        std::size_t most = 0;
        for (std::size_t peer = 0; peer < transfers.to.size(); ++peer)
            most += transfers.to[peer].size() + (arenas_.source ? transfers.from[peer].size() : 0);
        new_transfers.reserve(most);
        for (int peer = 0; peer < static_cast<int>(transfers.to.size()); ++peer) {
            auto const text =
                std::find_if(addressed_texts.begin(), addressed_texts.end(),
                             [&](auto const& element) { return element.rank == peer; });
            auto const ends = text == addressed_texts.end()
                                  ? vector<peer_end>()
                                  : list_from_bytes<peer_end>(text->bytes);
            auto from = ends.begin();
            take_pushed(from, peer, transfers.to[at(peer)], new_transfers);
            take_pulled(from, peer, transfers.from[at(peer)], new_transfers);
        }
        return new_transfers;
    }

private:
    using numbers = vector<std::uint32_t>;

    /// The position of an end, in bytes from the beginning of its rank's arena; std::nullopt if the
    /// end is not in the arena.
    using peer_end = std::optional<bound_end<index_t>>;
    using peer_ends = vector<peer_end>::const_iterator;

    /// The transfers from `peer` whose targets may lie in the arena; below, the transfers to `peer`
    /// whose sources may lie there.
    numbers const& incoming(sorted_transfers const& transfers, int peer) const {
        return node_number(arenas_.target.get(), peer) ? transfers.from[at(peer)] : none_;
    }
    numbers const& outgoing(sorted_transfers const& transfers, int peer) const {
        return node_number(arenas_.source.get(), peer) ? transfers.to[at(peer)] : none_;
    }

    static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

    transfer const& moved(std::uint32_t number) const { return bound_.whole.transfers[number]; }

    /// This rank's end of a transfer, if it lies in the arena.
    ///
    /// std::nullopt for elements of less than a byte: two ranks could write to the same byte.
    std::optional<bound_end<void const*>> own_target(std::uint32_t number) const {
        transfer const& transfer = moved(number);
        if (bits(bound_.whole.target_dtypes[transfer.target_key]) < 8 ||
            !holds(*arenas_.target, bound_.targets.at(transfer.target_key, transfer.target_shard)))
            return std::nullopt;
        auto const end = target_end(bound_, transfer);
        return bound_end<void const*>{end.data, end.position};
    }
    std::optional<bound_end<void const*>> own_source(std::uint32_t number) const {
        transfer const& transfer = moved(number);
        source_side const& side = bound_.problem.sources[transfer.source_key];
        bool const needs_scales = bound_.whole.chains[transfer.chain].dequantizes();
        if (needs_scales || // only this rank has the scales of its elements
            !holds(*arenas_.source, bound_.sources.at(side.tensor, transfer.source_shard)))
            return std::nullopt;
        return source_end(bound_, transfer);
    }

    static bool holds(arena_state const& arena, const_tensor_view const& tensor) {
        return tensor.memory.is_host() &&
               arena.segments->range(arena.node.rank()).contains(addresses(tensor));
    }

    static peer_end described(std::optional<bound_end<void const*>> const& end,
                              std::shared_ptr<arena_state const> const& arena) {
        if (!end)
            return std::nullopt;
        auto const* const data = static_cast<std::byte const*>(end->data);
        return bound_end<index_t>{data - arena->segments->data(arena->node.rank()), end->position};
    }

    /// \pre `peer` is a rank of the arena's node, and has sent one more end
    static std::optional<bound_end<void*>> next_end(peer_ends& from, arena_state const& arena,
                                                    int peer) {
        peer_end const end = *from++;
        if (!end)
            return std::nullopt;
        std::byte* const first = arena.segments->data(*node_number(&arena, peer));
        return bound_end<void*>{first + end->data, end->position};
    }

    /// Takes the transfers to `peer` that this rank pushes or the peer pulls.
    void take_pushed(peer_ends& from, int peer, numbers& all_numbers,
                     vector<node_transfer>& transfers) const {
        bool const is_stated = node_number(arenas_.target.get(), peer).has_value();
        bool const tells = node_number(arenas_.source.get(), peer).has_value();
        erase_if(all_numbers, [&](std::uint32_t number) {
            auto const target = is_stated ? next_end(from, *arenas_.target, peer) : std::nullopt;
            if (target)
                transfers.push_back(
                    {number, turn_of(peer), false, {source_end(bound_, moved(number)), *target}});
            return target || (tells && own_source(number));
        });
    }

    /// Takes the transfers from `peer` that the peer pushes or this rank pulls.
    void take_pulled(peer_ends& from, int peer, numbers& all_numbers,
                     vector<node_transfer>& transfers) const {
        bool const is_stated = node_number(arenas_.source.get(), peer).has_value();
        bool const tells = node_number(arenas_.target.get(), peer).has_value();
        erase_if(all_numbers, [&](std::uint32_t number) {
            auto const source = is_stated ? next_end(from, *arenas_.source, peer) : std::nullopt;
            if (tells && own_target(number))
                return true;
            if (source)
                transfers.push_back({number,
                                     turn_of(peer),
                                     true,
                                     {bound_end<void const*>{source->data, source->position},
                                      target_end(bound_, moved(number))}});
            return source.has_value();
        });
    }

    /// The cyclic distance from this rank to `peer`.
    int turn_of(int peer) const { return peer > rank_ ? peer - rank_ : peer - rank_ + size_; }

    bound_plan const& bound_;
    side_arenas const& arenas_;
    int rank_;
    int size_;
    numbers none_ = {};
};

inline vector<node_transfer> take_on_node(mpi_group const& ranks, bound_plan const& bound,
                                          side_arenas const& arenas, sorted_transfers& sorted) {
    node_transfers const reach(bound, arenas, ranks);
    vector<addressed_text> texts;
    agree_on(ranks, [&] { texts = reach.tell(sorted); });
    auto const received = sparse_exchange(ranks).run(std::move(texts));
    vector<node_transfer> taken;
    agree_on(ranks, [&] { taken = reach.take(sorted, received); });
    return taken;
}

inline vector<shared_barrier> meetings_of(side_arenas const& arenas) {
    vector<shared_barrier> meetings;
    for (arena_state const* const state : {arenas.source.get(), arenas.target.get()})
        if (state && state->segments && (meetings.empty() || arenas.source != arenas.target))
            meetings.emplace_back(state->segments->barrier(),
                                  static_cast<std::uint32_t>(state->node.size()));
    return meetings;
}

/// The segments of an arena, without writes yet: this rank's segment first, then the segments of
/// the ranks after it.
inline vector<segment_writes> segments_of(arena_state const& arena) {
    vector<segment_writes> writes;
    int const size = arena.node.size();
    for (int i = 0; i < size; ++i) {
        writes.push_back({arena.segments->range((arena.node.rank() + i) % size)});
    }
    return writes;
}

/// The bytes that this process writes to the segments of an arena, its own segment first.
///
/// \pre   the arena has segments
/// \param taken the transfers with other ranks that this process makes
/// \param local the numbers of the transfers within this process
inline vector<segment_writes> writes_of(bound_plan const& bound, arena_state const& arena,
                                        vector<node_transfer> const& taken,
                                        vector<std::uint32_t> const& local) {
    auto elements = segments_of(arena);
    auto const add = [&](std::uint32_t number, bound_end<void const*> const& end) {
        transfer const& moved = bound.whole.transfers[number];
        data_type const dtype = bound.whole.target_dtypes[moved.target_key];
        index_vector const shape = cut_of(bound.whole, moved).loop_extent();
        auto const* const data = static_cast<std::byte const*>(end.data) +
                                 byte_place_of(end.position.offset, dtype).bytes;
        address_range const range = addresses({data, dtype, shape, end.position.strides});
        auto const at = std::ranges::find_if(
            elements, [&](segment_writes const& writes) { return writes.segment.contains(range); });
        if (at != elements.end() && !range.empty())
            at->add(range, element_count(shape) * bits(dtype) / 8);
    };
    for (std::uint32_t const number : local) {
        auto const end = target_end(bound, bound.whole.transfers[number]);
        add(number, {end.data, end.position});
    }
    for (node_transfer const& transfer : taken) {
        bound_end<void*> const end = transfer.ends.target;
        add(transfer.number, {end.data, end.position});
    }
    return elements;
}

/// Prefaults the pages that this process will write, many in one call. A fault for each page would
/// take 1.5 times as long.
inline void prefault(bound_plan const& bound, arena_state const& target,
                     vector<node_transfer> const& taken, vector<std::uint32_t> const& local) {
    if (!target.segments || !target.segments->is_first_use())
        return;
    for (segment_writes const& writes : writes_of(bound, target, taken, local))
        if (writes.is_dense())
            populate(reinterpret_cast<void*>(writes.hull.begin),
                     writes.hull.end - writes.hull.begin);
}

inline void check_arena(mpi_group const& world, arena_state const& arena) {
    int mode = MPI_IDENT;
    MPI_Comm_compare(world.base(), arena.world.base(), &mode);
    if (mode != MPI_IDENT && mode != MPI_CONGRUENT)
        fail(errc::usage, "the arena's communicator does not consist of the ", world.size(),
             " ranks of this redistribution in the same order; make an arena over the same "
             "communicator");
}

RESHARD_DECL arena_steps const& steps_of_arenas() {
    static constexpr arena_steps steps{check_arena, take_on_node, node_copies, meetings_of,
                                       prefault};
    return steps;
}

} // namespace reshard::detail

#endif
