// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_SHARD_INDEX_HPP
#define RESHARD_PLAN_SHARD_INDEX_HPP

#include <reshard/core/flat_range.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/cover.hpp>
#include <reshard/layout/tensor_shards.hpp>
#include <reshard/plan/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

/// \file
/// An index of the distinct boxes of a tensor, for listed and computed shards.

namespace reshard::detail {

/// The distinct boxes of a tensor's shards, a search tree over them, and the holders of each box.
struct part_index {
    box_index boxes;             ///< each distinct box once
    vector<axis_cycles> cycles;  ///< of `boxes`; empty if no box is block-cyclic
    vector<std::uint32_t> first; ///< `parts[first[i]]` to `parts[first[i + 1]]` hold box `i`
    vector<shard_part> parts;

    /// The axes along which box `i` is block-cyclic.
    constexpr axis_cycles cycles_of(std::size_t i) const {
        if (cycles.empty()) // g++ 12 frees a constant twice if a conditional expression chooses it
            return {};
        return cycles[i];
    }

    constexpr std::size_t replicas(std::size_t i) const { return first[i + 1] - first[i]; }

    /// Replica `which` of box `i`.
    ///
    /// \pre `i < boxes.size()` and `which < replicas(i)`
    constexpr shard_part replica(std::size_t i, std::size_t which) const {
        return parts[first[i] + which];
    }
};

struct listed_parts {
    box_list boxes;
    vector<axis_cycles> cycles; ///< by box; empty if no box is block-cyclic
    vector<shard_part> parts;
};

constexpr listed_parts list_parts(shard_table const& table, bool splits_blocks) {
    listed_parts listed{box_list(table.ndim()), {}, {}};
    bool const keeps_cycles = !splits_blocks && !table.all_cycles().empty();
    for (std::uint32_t shard = 0; shard < table.size(); ++shard) {
        if (!table.flat(shard)) {
            auto const add = [&](box const& region) {
                listed.boxes.push_back(region);
                listed.parts.push_back({shard, 0});
                if (keeps_cycles)
                    listed.cycles.push_back(table.cycles(shard));
            };
            if (splits_blocks)
                for_each_block(table.region(shard), table.cycles(shard), add);
            else
                add(table.region(shard));
            continue;
        }
        std::uint8_t number = 0;
        for (box const& region : table.boxes(shard)) {
            listed.boxes.push_back(region);
            listed.parts.push_back({shard, number++});
            if (keeps_cycles)
                listed.cycles.emplace_back();
        }
    }
    return listed;
}

/// Indexes the shards of a tensor.
///
/// \param splits_blocks if true, each block of a shard is a separate box; otherwise all blocks are
///        one box
/// \post   replicas are in the order of the table, so that every process counts them in the same
///         way
/// \throws error with errc::shape_mismatch for a flat range that exceeds its region
constexpr part_index index_parts(shard_table const& table, bool splits_blocks = true) {
    listed_parts const listed = list_parts(table, splits_blocks);
    distinct_boxes different = distinct(listed.boxes, listed.cycles);
    part_index result;
    result.first = vector<std::uint32_t>(different.boxes.size() + 1, 0);
    for (std::uint32_t const which : different.which)
        ++result.first[which + 1];
    for (std::size_t i = 1; i < result.first.size(); ++i)
        result.first[i] += result.first[i - 1];
    vector<std::uint32_t> next(result.first.begin(), result.first.end());
    result.parts = vector<shard_part>(listed.parts.size(), shard_part{});
    for (std::size_t i = 0; i < listed.parts.size(); ++i)
        result.parts[next[different.which[i]]++] = listed.parts[i];
    result.boxes = box_index(std::move(different.boxes));
    result.cycles = std::move(different.cycles);
    return result;
}

/// The boxes of a tensor's shards, and the shards of each box. An index has only geometry, so
/// tensors of equal geometry share it, regardless of their holders.
///
/// Grids need no copy: queries go to the grid itself, which must outlive the index.
class shard_index {
public:
    /// An index for a tensor that nobody holds.
    constexpr shard_index() = default;

    /// \param splits_blocks if true, each listed block of a shard is a separate box
    /// \throws error with errc::shape_mismatch for a flat range that exceeds its region
    constexpr explicit shard_index(tensor_shards const& shards, bool splits_blocks = false)
        : grid_(shards.grid()), grids_(shards.grids()) {
        if (shards.table())
            parts_ = index_parts(*shards.table(), splits_blocks);
        most_replicas_ = count_replicas();
        has_whole_shards_ =
            shards.are_whole() && !(splits_blocks && shards.table() && shards.have_cycles());
        has_cycles_ = is_computed() ? shards.have_cycles() : !parts_.cycles.empty();
    }

    /// The number of distinct boxes, including computed boxes without elements.
    constexpr std::size_t size() const {
        return grid_ ? grid_->box_count() : grids_ ? grids_->box_count() : parts_.boxes.size();
    }

    /// A block-cyclic box spans its first to its last block.
    ///
    /// \pre `i < size()`, here and below
    constexpr box operator[](std::size_t i) const {
        return grid_ ? grid_->box_at(i) : grids_ ? grids_->box_at(i) : parts_.boxes[i];
    }

    /// Calls `visit(block)` for each block of box `i`; if the box is not block-cyclic, for the box.
    constexpr void for_each_block_of(std::size_t i, auto&& visit) const {
        for_each_block((*this)[i], cycles(i), visit);
    }

    /// The block of box `i` that contains an element; if the box is not block-cyclic, the box.
    ///
    /// \pre the element is in box `i`
    constexpr box block_at(std::size_t i, index_vector const& position) const {
        return reshard::detail::block_at((*this)[i], cycles(i), position);
    }

    constexpr std::size_t replicas(std::size_t i) const {
        return grid_ ? grid_->replicas() : grids_ ? grids_->replicas(i) : parts_.replicas(i);
    }

    /// The largest number of replicas of a box.
    constexpr std::size_t most_replicas() const { return most_replicas_; }

    /// Replica `which` of box `i`.
    ///
    /// \pre `which < replicas(i)`
    constexpr shard_part replica(std::size_t i, std::size_t which) const {
        return grid_    ? shard_part{grid_->replica(i, which), 0}
               : grids_ ? grids_->replica(i, which)
                        : parts_.replica(i, which);
    }

    /// Calls `visit(i, common)` for each box that shares elements with `region`, and for each block
    /// of a block-cyclic box; `common` is the box of shared elements.
    constexpr void for_each_overlap(box const& region, auto&& visit) const {
        if (grid_)
            grid_->for_each_overlap(region, visit);
        else if (grids_)
            grids_->for_each_overlap(region, visit);
        else if (parts_.cycles.empty())
            parts_.boxes.for_each_overlap(region, visit);
        else
            parts_.boxes.for_each_overlap(region, [&](std::uint32_t i, box const& common) {
                for_each_common_block(parts_.boxes[i], parts_.cycles[i], common,
                                      [&](box const& block) { visit(i, block); });
            });
    }

    /// The replica of box `i` that sends to the holder `target` at that turn: the result of
    /// `choose_replica`. With grids, it is computed by arithmetic if a node has no more processes
    /// than the box has replicas.
    ///
    /// \pre `shards` have the geometry of this index
    constexpr std::size_t choose(std::size_t i, tensor_shards const& shards, holder_t target,
                                 std::uint64_t turn, plan_options const& options) const {
        if (replicas(i) == 1)
            return 0;
        if (!computes_choice(i, options))
            return choose_replica(
                replicas(i),
                [&](std::size_t which) { return shards.holder(replica(i, which).shard); }, target,
                turn, options);
        if (auto const own = replica_held(i, shards, target))
            return *own;
        return near_replica(i, shards, target, turn, options).value_or(in_turn(turn, replicas(i)));
    }

    constexpr bool is_computed() const { return grid_ || grids_; }

    /// Whether `choose` works without a look at each replica of box `i`.
    constexpr bool computes_choice(std::size_t i, plan_options const& options) const {
        return is_computed() && options.processes == 0 && !options.shared_sources &&
               options.processes_per_node <= replicas(i);
    }

    /// The number of a shard's first box; its other boxes have the following numbers.
    ///
    /// \pre `is_computed()`
    constexpr std::uint32_t first_box(std::size_t shard) const {
        return grid_ ? grid_->box_of(shard) : grids_->first_box(shard);
    }

    /// The first two listed boxes that share elements; empty if boxes are computed.
    constexpr std::optional<cover_fault> find_overlap() const {
        return reshard::detail::find_overlap(parts_.boxes, parts_.cycles);
    }

    /// The axes along which box `i` is block-cyclic.
    constexpr axis_cycles cycles(std::size_t i) const {
        // g++ 12 frees a constant twice if a conditional expression chooses it.
        if (grid_)
            return grid_->cycles_at(i);
        if (grids_)
            return grids_->cycles_at(i);
        return parts_.cycles_of(i);
    }

    /// Whether each box is a shard with all of its blocks.
    constexpr bool has_whole_shards() const { return has_whole_shards_; }
    /// Whether a box is block-cyclic.
    constexpr bool has_cycles() const { return has_cycles_; }

private:
    constexpr std::size_t count_replicas() const {
        std::size_t most = grid_ ? grid_->replicas() : 0;
        for (std::size_t i = 0; grids_ && i < grids_->recipe().size(); ++i)
            most = std::max(most, grids_->recipe()[i].replicas());
        for (std::size_t i = 0; !is_computed() && i < size(); ++i)
            most = std::max(most, replicas(i));
        return most;
    }

    /// The replica of box `i` that a holder has, or std::nullopt.
    static constexpr std::optional<std::size_t>
    replica_held(std::size_t i, tensor_shards const& shards, holder_t holder) {
        if (shards.grids())
            return shards.grids()->replica_held(i, holder);
        auto const shard = shards.grid()->find(holder);
        if (!shard || shards.grid()->box_of(*shard) != i)
            return std::nullopt;
        return shards.grid()->replica_of(*shard);
    }

    /// A replica on the node of `target`, or std::nullopt. If there are several, they take turns.
    static constexpr std::optional<std::size_t> near_replica(std::size_t i,
                                                             tensor_shards const& shards,
                                                             holder_t target, std::uint64_t turn,
                                                             plan_options const& options) {
        if (options.processes_per_node <= 1)
            return std::nullopt;
        holder_t const first = options.node_of(target) * options.processes_per_node;
        vector<std::size_t> near;
        for (holder_t on_node = 0; on_node < options.processes_per_node; ++on_node)
            if (auto const which = replica_held(i, shards, first + on_node))
                near.push_back(*which);
        return near.empty() ? std::nullopt : std::optional(near[in_turn(turn, near.size())]);
    }

    shard_grid const* grid_ = nullptr;
    grid_list const* grids_ = nullptr;
    part_index parts_;
    std::size_t most_replicas_ = 0;
    bool has_whole_shards_ = false;
    bool has_cycles_ = false;
};

} // namespace reshard::detail

#endif
