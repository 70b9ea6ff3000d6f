// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_SOURCE_INDICES_HPP
#define RESHARD_PLAN_SOURCE_INDICES_HPP

#include <reshard/core/sorting.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/plan/plan_problem.hpp>
#include <reshard/plan/shard_index.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

/// \file
/// The search trees of all source tensors; tensors with the same shards share a tree.

namespace reshard::detail {

/// Classifies items 0 to `count - 1` by keys: `visit_key(i, visit)` calls `visit(number)` for each
/// number of item `i`'s key, in order.
constexpr equal_classes classify_by_key(std::size_t count, auto&& visit_key) {
    vector<std::uint64_t> digests, keys[2];
    digests.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        hasher digest;
        visit_key(i, [&](std::uint64_t number) { digest.add(number); });
        digests.push_back(digest.value());
    }
    return classify(digests, [&](std::uint32_t a, std::uint32_t b) {
        for (vector<std::uint64_t>& key : keys)
            key.clear();
        visit_key(a, [&](std::uint64_t number) { keys[0].push_back(number); });
        visit_key(b, [&](std::uint64_t number) { keys[1].push_back(number); });
        return keys[0] == keys[1];
    });
}

/// For each piece, the first piece with the same source. If two tensors have equal results, their
/// pieces repeat sources at the same positions, so both have the same plan by number.
constexpr vector<std::uint32_t> first_uses(piece_list const& pieces) {
    vector<std::pair<key_id, std::uint32_t>> uses;
    for (std::uint32_t i = 0; i < pieces.size(); ++i)
        uses.push_back({pieces.source(i), i});
    sort_by(uses, std::less<>());
    vector<std::uint32_t> first(pieces.size(), 0);
    for (std::size_t i = 0; i < uses.size(); ++i)
        first[uses[i].second] = i > 0 && uses[i].first == uses[i - 1].first
                                    ? first[uses[i - 1].second]
                                    : uses[i].second;
    return first;
}

/// The distinct shards of one side, and which of them have equal geometry.
///
/// A tensor refers to its `spread`, which other tensors may share. Spreads with the same boxes are
/// one kind, regardless of their holders.
class shard_kinds {
public:
    /// \tparam Side `source_side` or `target_side`
    template <class Side>
    constexpr explicit shard_kinds(vector<Side> const& sides) {
        vector<std::uint32_t> spread_of_number;
        spread_of_.reserve(sides.size());
        for (Side const& side : sides)
            add(side.shards, side.spread, spread_of_number);
        find_kinds();
    }

    /// The shards of each spread.
    constexpr vector<tensor_shards> const& spreads() const { return spreads_; }
    /// One spread of each kind.
    constexpr vector<std::uint32_t> const& representatives() const { return kinds_.representative; }
    /// The spread of a tensor.
    constexpr std::uint32_t spread(std::size_t tensor) const { return spread_of_[tensor]; }
    /// The kind of a spread.
    constexpr std::uint32_t kind(std::uint32_t spread) const { return kinds_.class_of[spread]; }
    /// The first tensor with that spread.
    constexpr std::uint32_t first_tensor(std::uint32_t spread) const { return first_[spread]; }

private:
    /// Adds a tensor; `number` is the number of its spread, or `no_spread`.
    constexpr void add(tensor_shards const& shards, std::uint32_t number,
                       vector<std::uint32_t>& spread_of_number) {
        auto const next = static_cast<std::uint32_t>(spreads_.size());
        std::uint32_t spread = next;
        if (number != no_spread) {
            if (number >= spread_of_number.size())
                spread_of_number.resize(number + 1, no_spread);
            if (spread_of_number[number] == no_spread)
                spread_of_number[number] = next;
            spread = spread_of_number[number];
        }
        if (spread == next) {
            spreads_.push_back(shards);
            first_.push_back(static_cast<std::uint32_t>(spread_of_.size()));
        }
        spread_of_.push_back(spread);
    }

    constexpr void find_kinds() {
        vector<std::uint64_t> digests;
        for (tensor_shards const& shards : spreads_) {
            hasher digest;
            shards.add_geometry(digest);
            digests.push_back(digest.value());
        }
        kinds_ = classify(digests, [&](std::uint32_t a, std::uint32_t b) {
            return spreads_[a].same_geometry(spreads_[b]);
        });
    }

    vector<tensor_shards> spreads_;
    vector<std::uint32_t> first_;     ///< by spread
    vector<std::uint32_t> spread_of_; ///< by tensor
    equal_classes kinds_;             ///< of spreads
};

/// A `shard_index` for each source tensor; tensors whose shards have equal geometry share it.
class source_indices {
public:
    /// \throws error with errc::overlap if shards that are not replicas share elements
    constexpr explicit source_indices(plan_problem const& problem)
        : problem_(problem), kinds_(problem.sources) {
        for (std::uint32_t const spread : kinds_.representatives())
            indices_.push_back(index_spread(spread));
    }

    constexpr shard_index const& of(key_id source) const { return indices_[kind(source)]; }
    constexpr shard_index const& of_spread(std::uint32_t spread) const {
        return indices_[kinds_.kind(spread)];
    }

    /// Equal for tensors whose shards have equal geometry, and only for these.
    constexpr std::uint32_t kind(key_id source) const { return kinds_.kind(kinds_.spread(source)); }

    constexpr shard_kinds const& kinds() const { return kinds_; }

    /// The distinct values of `number_of(holder)` for the holders of a source's box, ascending.
    constexpr vector<holder_t> senders_of(key_id source, std::uint32_t box,
                                          auto&& number_of) const {
        vector<holder_t> senders;
        shard_index const& index = of(source);
        for (std::size_t i = 0; i < index.replicas(box); ++i)
            senders.push_back(
                number_of(problem_.sources[source].shards.holder(index.replica(box, i).shard)));
        std::sort(senders.begin(), senders.end());
        senders.erase(std::unique(senders.begin(), senders.end()), senders.end());
        return senders;
    }

    /// Whether several senders are possible for a box.
    constexpr bool have_replicas() const {
        return std::any_of(indices_.begin(), indices_.end(),
                           [](shard_index const& index) { return index.most_replicas() > 1; });
    }

private:
    constexpr shard_index index_spread(std::uint32_t spread, bool splits_blocks = false) const {
        shard_index index(kinds_.spreads()[spread], splits_blocks);
        auto const fault = index.find_overlap();
        if (!fault)
            return index;
        if (index.has_cycles()) // one rank may list blocks that another rank has as one shard
            return index_spread(spread, true);
        fail_overlap(problem_.sources[kinds_.first_tensor(spread)], index, *fault);
    }

    [[noreturn]] void fail_overlap(source_side const& source, shard_index const& index,
                                   cover_fault const& fault) const;

    plan_problem const& problem_;
    shard_kinds kinds_;
    vector<shard_index> indices_; ///< by kind
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/plan/impl/source_indices.ipp>
#endif

#endif
