// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_PATTERN_PLAN_HPP
#define RESHARD_PLAN_PATTERN_PLAN_HPP

#include <reshard/core/sorting.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/plan/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

/// \file
/// A plan before its transfers are listed by tensor: all tensors of a kind share one pattern.

namespace reshard::detail {

/// The pieces and boxes of a cut, by number, so that all tensors of a kind share the cut. 16 bytes.
struct cut_place {
    std::uint32_t piece = 0;        ///< of the target tensor's pieces
    std::uint32_t source_box = 0;   ///< of the source tensor's `shard_index`
    std::uint32_t target_shard = 0; ///< index in the target tensor's shards
    std::uint8_t target_part = 0;   ///< number of a box of a flat shard
    bool is_rest = false;           ///< a cut was divided, and this is not its first part
    std::uint16_t replica = 0;      ///< of the source box, in a pattern of a single tensor; with
                                    ///< relays, the stripe

    constexpr bool operator==(cut_place const&) const = default;
};

/// One cut with its tensors and boxes.
struct placed_cut {
    cut geometry;
    cut_place at;
};

/// The order in which sender and receiver process the cuts of a target tensor: by target shard, by
/// box of the shard, by offset in the target.
using pattern_order = std::tuple<std::uint32_t, std::uint8_t, index_vector>;

/// The cuts of a kind of target tensors, packed and in order.
class placed_pattern {
public:
    constexpr placed_pattern() = default;
    constexpr explicit placed_pattern(std::size_t ndim) : geometry_(ndim) {}

    constexpr std::size_t size() const { return places_.size(); }
    constexpr pattern const& geometry() const& { return geometry_; }
    constexpr pattern geometry() && { return std::move(geometry_); }
    /// \pre `i < size()`, here and below
    constexpr cut_place const& place(std::size_t i) const { return places_[i]; }
    constexpr placed_cut operator[](std::size_t i) const { return {geometry_[i], places_[i]}; }

    /// \pre `placed.geometry.target_offset.size()` is the number of axes
    constexpr void push_back(placed_cut const& placed) {
        pattern_order const order = order_of(placed.at, placed.geometry.target_offset);
        is_sorted_ = is_sorted_ && (places_.empty() || last_ < order);
        last_ = order;
        geometry_.push_back(placed.geometry);
        places_.push_back(placed.at);
    }

    /// Sorts the cuts; usually they are already sorted.
    constexpr void sort() {
        if (is_sorted_)
            return;
        vector<std::uint32_t> order(size(), 0);
        for (std::uint32_t i = 0; i < order.size(); ++i)
            order[i] = i;
        sort_numbers(order, [&](std::uint32_t a, std::uint32_t b) {
            return order_of(places_[a], geometry_.target_offset(a)) <
                   order_of(places_[b], geometry_.target_offset(b));
        });
        if (geometry_.is_uniform())
            return bring_into(std::move(order));
        placed_pattern sorted(geometry_.ndim());
        sorted.geometry_.reserve(size());
        sorted.places_.reserve(size());
        for (std::uint32_t const i : order)
            sorted.push_back((*this)[i]);
        *this = std::move(sorted);
    }

    /// The memory of the pattern.
    ///
    /// \par Units bytes
    constexpr std::size_t bytes() const {
        return geometry_.bytes() + places_.capacity() * sizeof(cut_place);
    }

private:
    /// Moves cut `order[i]` to index `i`, for every `i`, without a second list.
    constexpr void bring_into(vector<std::uint32_t> order) {
        for (std::uint32_t start = 0; start < order.size(); ++start) {
            if (order[start] == start)
                continue;
            placed_cut const first = (*this)[start];
            std::uint32_t at = start;
            while (order[at] != start) {
                std::uint32_t const next = order[at];
                assign(at, (*this)[next]);
                order[at] = at;
                at = next;
            }
            assign(at, first);
            order[at] = at;
        }
        is_sorted_ = true;
        last_ = order_of(places_.back(), geometry_.target_offset(size() - 1));
    }

    constexpr void assign(std::uint32_t i, placed_cut const& placed) {
        geometry_.assign(i, placed.geometry);
        places_[i] = placed.at;
    }

    static constexpr pattern_order order_of(cut_place const& cut,
                                            index_vector const& target_offset) {
        return {cut.target_shard, cut.target_part, target_offset};
    }

    pattern geometry_;
    vector<cut_place> places_;
    pattern_order last_; ///< of the last cut added
    bool is_sorted_ = true;
};

/// For each cut of a tensor, the replica of the source box that sends it, if senders are balanced.
///
/// Tensors whose cuts have the same possible senders form a class. They are numbered in it, and
/// each sender gets a range of numbers. A pattern of a single tensor contains its replicas.
class sender_table {
public:
    /// The tensors of one replica: their numbers are below `end`, from the `end` of the previous
    /// share on.
    struct share {
        std::uint32_t end = 0;
        std::uint16_t replica = 0;
    };

    /// A tensor, by its class and its number in the class.
    struct member {
        std::uint32_t group = none;
        std::uint32_t number = 0;
    };

    static constexpr std::uint32_t none = 0xffffffff;  ///< replicas take turns
    static constexpr std::uint32_t alone = 0xfffffffe; ///< has a separate pattern

    constexpr sender_table() = default;
    constexpr explicit sender_table(vector<member> by_tensor) : members_(std::move(by_tensor)) {}

    constexpr bool has(std::uint32_t tensor) const {
        return tensor < members_.size() && members_[tensor].group != none;
    }
    constexpr bool is_alone(std::uint32_t tensor) const {
        return has(tensor) && members_[tensor].group == alone;
    }
    constexpr void set_alone(std::uint32_t tensor) { members_[tensor].group = alone; }

    /// Begins the next class. `add_cut` adds cuts to it.
    constexpr void add_class() { first_cut_.push_back(static_cast<std::uint32_t>(ends_.size())); }

    /// Adds the next cut to the last class.
    ///
    /// \pre the last share ends after all tensors of the class
    constexpr void add_cut(vector<share> const& shares) {
        shares_.insert(shares_.end(), shares.begin(), shares.end());
        ends_.push_back(static_cast<std::uint32_t>(shares_.size()));
    }

    /// \pre `has(tensor)`, the tensor shares its pattern, and the pattern has a cut of that number
    constexpr std::uint16_t replica(std::uint32_t tensor, std::size_t cut) const {
        member const& numbered = members_[tensor];
        std::size_t const index = first_cut_[numbered.group] + cut;
        std::size_t i = index == 0 ? 0 : ends_[index - 1];
        while (shares_[i].end <= numbered.number)
            ++i;
        return shares_[i].replica;
    }

    /// The memory of the table.
    ///
    /// \par Units bytes
    constexpr std::size_t bytes() const {
        return members_.capacity() * sizeof(member) +
               (first_cut_.capacity() + ends_.capacity()) * sizeof(std::uint32_t) +
               shares_.capacity() * sizeof(share);
    }

private:
    vector<member> members_;          ///< by tensor
    vector<std::uint32_t> first_cut_; ///< by class: the number of its first cut
    vector<std::uint32_t> ends_;      ///< by cut: the end of its shares
    vector<share> shares_;
};

/// All transfers of some holders. Tensors of a kind share a pattern.
///
/// For example, 126 equal layers share one pattern. `transfer_lister` makes the `plan` from it,
/// which is a hundred times larger.
struct pattern_plan {
    vector<data_type> source_dtypes;  ///< by source key
    vector<data_type> target_dtypes;  ///< by target key
    vector<std::uint32_t> pattern_of; ///< by target key
    vector<placed_pattern> patterns;
    sender_table senders;

    /// The replica of the source box that sends this cut, if senders are balanced.
    ///
    /// \pre `senders.has(tensor)`, and the tensor has a cut of that number
    constexpr std::uint16_t replica(std::uint32_t tensor, std::size_t cut) const {
        return senders.is_alone(tensor) ? patterns[pattern_of[tensor]].place(cut).replica
                                        : senders.replica(tensor, cut);
    }

    /// The memory of the patterns and their lists.
    ///
    /// \par Units bytes
    constexpr std::size_t bytes() const {
        std::size_t sum = senders.bytes() + source_dtypes.capacity() * sizeof(data_type) +
                          target_dtypes.capacity() * sizeof(data_type) +
                          pattern_of.capacity() * sizeof(std::uint32_t);
        for (placed_pattern const& cuts : patterns)
            sum += cuts.bytes();
        return sum;
    }
};

} // namespace reshard::detail

#endif
