// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_SHARD_INDEX_HPP
#define RESHARD_PLAN_SHARD_INDEX_HPP

#include <reshard/core/flat_range.hpp>
#include <reshard/layout/cover.hpp>
#include <reshard/layout/tensor_shards.hpp>
#include <reshard/plan/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

/// \file
/// A searchable index of the different boxes of a tensor, for listed and computed shards.

namespace reshard::detail {

/// The different boxes of a tensor's shards, a search tree over them, and the holders of each.
struct part_index {
    box_index boxes;                  ///< each different box once
    std::vector<std::uint32_t> first; ///< `parts[first[i]]` to `parts[first[i + 1]]` hold box `i`
    std::vector<shard_part> parts;

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
    std::vector<shard_part> parts;
};

constexpr listed_parts list_parts(shard_table const& table) {
    listed_parts listed{box_list(table.ndim()), {}};
    for (std::uint32_t shard = 0; shard < table.size(); ++shard) {
        if (!table.flat(shard)) {
            for_each_block(table.region(shard), table.cycles(shard), [&](box const& block) {
                listed.boxes.push_back(block);
                listed.parts.push_back({shard, 0});
            });
            continue;
        }
        std::uint8_t number = 0;
        for (box const& region : table.boxes(shard)) {
            listed.boxes.push_back(region);
            listed.parts.push_back({shard, number++});
        }
    }
    return listed;
}

/// Indexes the shards of a tensor.
///
/// \post   replicas are in the order of the table, so that every process counts them in the same
/// way
/// \throws error with errc::shape_mismatch for a flat range that exceeds its region
constexpr part_index index_parts(shard_table const& table) {
    listed_parts const listed = list_parts(table);
    distinct_boxes different = distinct(listed.boxes);
    part_index result;
    result.first = std::vector<std::uint32_t>(different.boxes.size() + 1, 0);
    for (std::uint32_t const which : different.which)
        ++result.first[which + 1];
    for (std::size_t i = 1; i < result.first.size(); ++i)
        result.first[i] += result.first[i - 1];
    std::vector<std::uint32_t> next(result.first.begin(), result.first.end());
    result.parts = std::vector<shard_part>(listed.parts.size(), shard_part{});
    for (std::size_t i = 0; i < listed.parts.size(); ++i)
        result.parts[next[different.which[i]]++] = listed.parts[i];
    result.boxes = box_index(std::move(different.boxes));
    return result;
}

/// The boxes of a tensor's shards, and the shards of each box. It has only geometry, so tensors of
/// equal geometry share it, regardless of their holders.
///
/// Grids need no index: the grid itself is asked. It must live as long, and takes no memory here.
class shard_index {
public:
    /// An index for a tensor that nobody holds.
    constexpr shard_index() = default;

    /// \throws error with errc::shape_mismatch for a flat range that exceeds its region
    constexpr explicit shard_index(tensor_shards const& shards)
        : grid_(shards.grid()), grids_(shards.grids()) {
        if (shards.table())
            parts_ = index_parts(*shards.table());
        most_replicas_ = count_replicas();
        has_whole_shards_ = find_whole_shards();
        has_cycles_ = find_cycles();
    }

    /// The number of different boxes; computed ones that have no elements are counted, too.
    constexpr std::size_t size() const {
        return grid_ ? grid_->box_count() : grids_ ? grids_->box_count() : parts_.boxes.size();
    }

    /// If blocks are dealt out, the box reaches from the first block to the last one.
    ///
    /// \pre `i < size()`, here and below
    constexpr box operator[](std::size_t i) const {
        return grid_ ? grid_->box_at(i) : grids_ ? grids_->box_at(i) : parts_.boxes[i];
    }

    /// Calls `visit(block)` for each block of box `i`, if blocks are dealt out; else for the whole
    /// box.
    constexpr void for_each_block_of(std::size_t i, auto&& visit) const {
        for_each_block((*this)[i], cycles(i), visit);
    }

    /// The block of box `i` that has an element, or the whole box.
    ///
    /// \pre the element is in box `i`
    constexpr box block_at(std::size_t i, index_vector const& position) const {
        return reshard::detail::block_at((*this)[i], cycles(i), position);
    }

    constexpr std::size_t replicas(std::size_t i) const {
        return grid_ ? grid_->replicas() : grids_ ? grids_->replicas(i) : parts_.replicas(i);
    }

    /// The most replicas that a box has.
    constexpr std::size_t most_replicas() const { return most_replicas_; }

    /// Replica `which` of box `i`.
    ///
    /// \pre `which < replicas(i)`
    constexpr shard_part replica(std::size_t i, std::size_t which) const {
        return grid_    ? shard_part{grid_->replica(i, which), 0}
               : grids_ ? grids_->replica(i, which)
                        : parts_.replica(i, which);
    }

    /// Calls `visit(i, common)` for each box that shares elements with `region`, for each block of
    /// it if blocks are dealt out; `common` are the shared elements.
    constexpr void for_each_overlap(box const& region, auto&& visit) const {
        if (grid_)
            grid_->for_each_overlap(region, visit);
        else if (grids_)
            grids_->for_each_overlap(region, visit);
        else
            parts_.boxes.for_each_overlap(region, visit);
    }

    /// The replica of box `i` that sends to the holder `target` at that turn. The answer equals
    /// `choose_replica`'s; it is computed by arithmetic if there are grids and a node does not
    /// exceed the replicas.
    ///
    /// \pre `shards` are the shards of this index, or others of equal geometry
    constexpr std::size_t choose(std::size_t i, tensor_shards const& shards, holder_t target,
                                 std::uint64_t turn, plan_options const& options) const {
        if (replicas(i) == 1)
            return 0;
        if (!is_computed() || options.processes != 0 || options.shared_sources ||
            options.processes_per_node > replicas(i))
            return choose_replica(
                replicas(i),
                [&](std::size_t which) { return shards.holder(replica(i, which).shard); }, target,
                turn, options);
        if (auto const own = replica_held(i, shards, target))
            return *own;
        return near_replica(i, shards, target, turn, options).value_or(in_turn(turn, replicas(i)));
    }

    constexpr bool is_computed() const { return grid_ || grids_; }

    /// The numbers of the boxes of a shard, one after the other, if they are computed.
    ///
    /// \pre `is_computed()`
    constexpr std::uint32_t first_box(std::size_t shard) const {
        return grid_ ? grid_->box_of(shard) : grids_->first_box(shard);
    }

    /// The listed boxes; empty if boxes are computed.
    constexpr box_index const& listed_boxes() const { return parts_.boxes; }

    /// The axes along which box `i` is blocks, if the boxes are computed.
    constexpr axis_cycles cycles(std::size_t i) const {
        // g++ 12 frees a constant twice that a conditional expression chooses.
        if (grid_)
            return grid_->cycles_at(i);
        if (grids_)
            return grids_->cycles_at(i);
        return {};
    }

    /// True if each box is a shard, or blocks of one, and computed.
    constexpr bool has_whole_shards() const { return has_whole_shards_; }
    /// True if a computed box is blocks.
    constexpr bool has_cycles() const { return has_cycles_; }

private:
    constexpr bool find_whole_shards() const {
        bool is_whole = is_computed();
        for (std::size_t i = 0; grids_ && i < grids_->recipe().size(); ++i)
            is_whole = is_whole && !grids_->recipe()[i].sharing();
        return is_whole;
    }

    constexpr bool find_cycles() const {
        auto const deals = [](shard_grid const& grid) {
            return std::any_of(grid.axes().begin(), grid.axes().end(), [](auto const& axis) {
                return axis.spread.type == placement::kind::cyclic;
            });
        };
        bool result = grid_ && deals(*grid_);
        for (std::size_t i = 0; grids_ && i < grids_->recipe().size(); ++i)
            result = result || deals(grids_->recipe()[i].grid());
        return result;
    }

    constexpr std::size_t count_replicas() const {
        std::size_t most = grid_ ? grid_->replicas() : 0;
        for (std::size_t i = 0; grids_ && i < grids_->recipe().size(); ++i)
            most = std::max(most, grids_->recipe()[i].replicas());
        for (std::size_t i = 0; !is_computed() && i < size(); ++i)
            most = std::max(most, replicas(i));
        return most;
    }

    /// The replica of box `i` that a holder has, if any.
    static constexpr std::optional<std::size_t>
    replica_held(std::size_t i, tensor_shards const& shards, holder_t holder) {
        if (shards.grids())
            return shards.grids()->replica_held(i, holder);
        auto const shard = shards.grid()->find(holder);
        if (!shard || shards.grid()->box_of(*shard) != i)
            return std::nullopt;
        return shards.grid()->replica_of(*shard);
    }

    /// One of the replicas on the node of `target`, by turns, if any.
    static constexpr std::optional<std::size_t> near_replica(std::size_t i,
                                                             tensor_shards const& shards,
                                                             holder_t target, std::uint64_t turn,
                                                             plan_options const& options) {
        if (options.processes_per_node <= 1)
            return std::nullopt;
        holder_t const first = options.node_of(target) * options.processes_per_node;
        std::vector<std::size_t> near;
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
