// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_TARGET_KINDS_HPP
#define RESHARD_PLAN_TARGET_KINDS_HPP

#include <reshard/core/sorting.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/plan/options.hpp>
#include <reshard/plan/source_indices.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

/// \file
/// Finds target tensors that have the same plan.

namespace reshard::detail {

/// The boxes that a scope could send, and the shards that it wants.
struct scope_parts {
    using numbers = vector<std::uint32_t>;

    /// For each spread of the sources: the boxes of its `shard_index` that a holder in the scope
    /// has. Empty if no holder outside the scope receives elements.
    vector<numbers> given;
    /// For each spread of the targets: the shards that a holder in the scope wants.
    vector<numbers> wanted;

    constexpr scope_parts(plan_scope const& scope, plan_options const& options,
                          source_indices const& sources, shard_kinds const& targets)
        : given(sources.kinds().spreads().size(), numbers{}) {
        bool const gives = !scope.targets.is_everybody() && !options.shared_sources;
        for (std::uint32_t i = 0; gives && i < given.size(); ++i)
            if (tensor_shards const& shards = sources.kinds().spreads()[i])
                given[i] = boxes_of(shards, sources.of_spread(i), scope.sources);
        wanted.reserve(targets.spreads().size());
        for (tensor_shards const& shards : targets.spreads())
            wanted.push_back(shards_of(shards, scope.targets));
    }

private:
    /// The distinct boxes of some holders' shards, ascending.
    static constexpr numbers boxes_of(tensor_shards const& shards, shard_index const& index,
                                      holder_set const& holders) {
        numbers boxes;
        if (index.is_computed()) {
            for (std::uint32_t const shard : shards_of(shards, holders)) {
                std::uint32_t const first = index.first_box(shard);
                std::size_t const count = // all blocks of a shard have one number
                    shards.flat(shard) ? shards.boxes(shard).size() : 1;
                for (std::uint32_t number = 0; number < count; ++number)
                    boxes.push_back(first + number);
            }
            std::sort(boxes.begin(), boxes.end());
            boxes.erase(std::unique(boxes.begin(), boxes.end()), boxes.end());
            return boxes;
        }
        for (std::uint32_t i = 0; i < index.size(); ++i)
            for (std::size_t which = 0; which < index.replicas(i); ++which)
                if (holders.contains(shards.holder(index.replica(i, which).shard))) {
                    boxes.push_back(i);
                    break;
                }
        return boxes;
    }

    /// The shards of some holders, ascending.
    static constexpr numbers shards_of(tensor_shards const& shards, holder_set const& holders) {
        numbers all_numbers;
        if (shards && !shards.table() && !holders.is_everybody()) {
            for (holder_t const holder : holders.listed())
                shards.for_each_of(holder,
                                   [&](std::uint32_t shard) { all_numbers.push_back(shard); });
            std::sort(all_numbers.begin(), all_numbers.end());
            return all_numbers;
        }
        for (std::uint32_t shard = 0; shard < shards.size(); ++shard)
            if (holders.contains(shards.holder(shard)))
                all_numbers.push_back(shard);
        return all_numbers;
    }
};

/// Target tensors by kind. Tensors of a kind have equal shards in the scope and are made in the
/// same way from equal sources. Tensors without transfers in the scope are idle, and form one kind.
///
/// Refers to its arguments, which must outlive it.
class target_kinds {
public:
    using numbers = scope_parts::numbers;

    constexpr target_kinds(plan_problem const& problem, source_indices const& sources,
                           shard_kinds const& targets, scope_parts const& numbers_in_scope)
        : problem_(problem), sources_(sources), targets_(targets), parts_(numbers_in_scope) {
        for (std::uint32_t i = 0; i < numbers_in_scope.given.size(); ++i)
            source_digests_.push_back(
                digest_of(sources.kinds().kind(i), numbers_in_scope.given[i]));
        for (std::uint32_t i = 0; i < numbers_in_scope.wanted.size(); ++i)
            target_digests_.push_back(digest_of(targets.kind(i), numbers_in_scope.wanted[i]));
    }

    /// The classes of tensors by kind; the class of idle tensors comes last.
    constexpr equal_classes classes() const {
        numbers busy;
        vector<std::uint64_t> digests;
        auto idle = static_cast<std::uint32_t>(problem_.targets.size());
        for (std::uint32_t t = 0; t < problem_.targets.size(); ++t) {
            if (problem_.example_of(t) != t)
                continue;
            if (is_idle(t)) {
                idle = std::min(idle, t);
                continue;
            }
            busy.push_back(t);
            digests.push_back(digest_of(t));
        }
        equal_classes result = classify(
            digests, [&](std::uint32_t a, std::uint32_t b) { return same_kind(busy[a], busy[b]); });
        auto const last = static_cast<std::uint32_t>(result.representative.size());
        vector<std::uint32_t> class_of(problem_.targets.size(), last);
        for (std::size_t i = 0; i < busy.size(); ++i)
            class_of[busy[i]] = result.class_of[i];
        for (std::uint32_t t = 0; t < class_of.size(); ++t)
            class_of[t] = class_of[problem_.example_of(t)];
        result.class_of = std::move(class_of);
        for (std::uint32_t& element : result.representative)
            element = busy[element];
        if (idle < problem_.targets.size())
            result.representative.push_back(idle);
        return result;
    }

    /// The shards of target tensor `t` that a holder in the scope wants.
    constexpr numbers const& wanted(std::uint32_t t) const {
        return parts_.wanted[targets_.spread(t)];
    }

    /// The boxes of a source tensor that a holder in the scope could send.
    constexpr numbers const& given(key_id source) const {
        return parts_.given[sources_.kinds().spread(source)];
    }

    /// Whether no transfer of target tensor `t` is in the scope.
    constexpr bool is_idle(std::uint32_t t) const {
        target_side const& target = problem_.targets[t];
        if (target.added)
            return true;
        bool is_given = !wanted(t).empty();
        for (std::size_t i = 0; i < target.pieces->size() && !is_given; ++i) {
            key_id const source = target.pieces->source(i);
            is_given = source != zero_source && !given(source).empty();
        }
        return !is_given;
    }

    /// A digest of all values that `same_kind` compares. One tensor may have thousands of pieces
    /// that differ only in their offsets.
    ///
    /// \pre `!is_idle(t)`
    constexpr std::uint64_t digest_of(std::uint32_t t) const {
        hasher digest;
        target_side const& target = problem_.targets[t];
        digest.add(target_digests_[targets_.spread(t)]);
        if (target.pieces->is_whole()) { // nearly all tensors of a large model
            key_id const source = target.pieces->source(0);
            digest.add(source == zero_source ? 0 : digest_of_source(source));
            digest.add(axes_of(target.pieces->whole_order(), target.pieces->ndim()));
            for (index_t const extent : target.pieces->whole_extent())
                digest.add(static_cast<std::uint64_t>(extent));
            return digest.value();
        }
        for (std::size_t i = 0; i < target.pieces->size(); ++i) {
            piece const p = (*target.pieces)[i];
            digest.add(p.source == zero_source ? 0 : digest_of_source(p.source));
            digest.add(axes_of(p.order, p.extent.size()));
            digest.add(p.target_offset);
            digest.add(p.extent);
            digest.add(std::uint64_t{p.joins.source} << 8 | p.joins.target);
            digest.add(p.source_offset);
        }
        if (target.pieces->size() > 1)
            add(digest, first_uses(*target.pieces));
        return digest.value();
    }

    /// Whether target tensors `a` and `b` have the same cuts, by number.
    ///
    /// \pre neither tensor is idle
    constexpr bool same_kind(std::uint32_t a, std::uint32_t b) const {
        piece_list const &x = *problem_.targets[a].pieces, &y = *problem_.targets[b].pieces;
        if (!same_parts(targets_, parts_.wanted, targets_.spread(a), targets_.spread(b)) ||
            x.size() != y.size() || x.is_whole() != y.is_whole())
            return false;
        if (x.is_whole())
            return x.whole_order() == y.whole_order() &&
                   std::equal(x.whole_extent().begin(), x.whole_extent().end(),
                              y.whole_extent().begin(), y.whole_extent().end()) &&
                   same_source(x.source(0), y.source(0));
        for (std::size_t i = 0; i < x.size(); ++i)
            if (!same_piece(x[i], y[i]))
                return false;
        return x.size() == 1 || first_uses(x) == first_uses(y);
    }

private:
    static constexpr void add(hasher& digest, numbers const& all_numbers) {
        digest.add(static_cast<std::uint64_t>(all_numbers.size()));
        for (std::uint32_t const number : all_numbers)
            digest.add(std::uint64_t{number});
    }

    static constexpr std::uint64_t digest_of(std::uint32_t kind, numbers const& numbers_in_scope) {
        hasher digest;
        digest.add(std::uint64_t{kind});
        add(digest, numbers_in_scope);
        return digest.value();
    }

    constexpr std::uint64_t digest_of_source(key_id source) const {
        return source_digests_[sources_.kinds().spread(source)];
    }

    /// Whether two spreads are of one kind and have the same numbers in the scope.
    static constexpr bool same_parts(shard_kinds const& kinds,
                                     vector<numbers> const& numbers_in_scope, std::uint32_t a,
                                     std::uint32_t b) {
        return a == b ||
               (kinds.kind(a) == kinds.kind(b) && numbers_in_scope[a] == numbers_in_scope[b]);
    }

    constexpr bool same_piece(piece const& a, piece const& b) const {
        if (a.order != b.order || a.source_offset != b.source_offset ||
            a.target_offset != b.target_offset || a.extent != b.extent || a.joins != b.joins)
            return false;
        return same_source(a.source, b.source);
    }

    constexpr bool same_source(key_id a, key_id b) const {
        if (a == zero_source || b == zero_source)
            return a == b;
        shard_kinds const& kinds = sources_.kinds();
        return same_parts(kinds, parts_.given, kinds.spread(a), kinds.spread(b));
    }

    plan_problem const& problem_;
    source_indices const& sources_;
    shard_kinds const& targets_;
    scope_parts const& parts_;
    vector<std::uint64_t> source_digests_; ///< by spread
    vector<std::uint64_t> target_digests_;
};

} // namespace reshard::detail

#endif
