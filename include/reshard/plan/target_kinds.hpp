// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_TARGET_KINDS_HPP
#define RESHARD_PLAN_TARGET_KINDS_HPP

#include <reshard/plan/scope_parts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// \file
/// Which target tensors are planned alike.

namespace reshard::detail {

/// Target tensors by kind: those with equal shards in the scope, made in the same way of equal
/// sources.
///
/// Refers to all three things that it is made from, which must live as long.
class target_kinds {
public:
    constexpr target_kinds(plan_problem const& problem, source_indices const& sources,
                           scope_parts const& parts)
        : problem_(problem), sources_(sources), parts_(parts) {
        source_digests_.reserve(problem.sources.size());
        for (key_id id = 0; id < problem.sources.size(); ++id) {
            hasher digest;
            digest.add(std::uint64_t{sources.kind(id)});
            add(digest, parts.given[id]);
            source_digests_.push_back(digest.value());
        }
    }

    /// The kinds, numbered.
    constexpr equal_classes classes() const {
        std::vector<std::uint64_t> digests;
        digests.reserve(problem_.targets.size());
        for (std::uint32_t t = 0; t < problem_.targets.size(); ++t)
            digests.push_back(digest_of(t));
        return classify(digests, [&](std::uint32_t a, std::uint32_t b) { return same_kind(a, b); });
    }

    /// Everything that `same_kind` compares: the parts of one tensor are thousands, and alike but
    /// for their offsets in it.
    constexpr std::uint64_t digest_of(std::uint32_t t) const {
        target_side const& target = problem_.targets[t];
        hasher digest;
        digest.add(std::uint64_t{target.added});
        detail::add(digest, *target.shards);
        add(digest, parts_.wanted[t]);
        for (std::size_t i = 0; i < target.pieces->size(); ++i) {
            piece const part = (*target.pieces)[i];
            digest.add(part.source == zero_source ? 0 : source_digests_[part.source]);
            digest.add(axes_of(part.order, part.extent.size()));
            digest.add(part.target_offset);
            digest.add(part.extent);
            digest.add(std::uint64_t{part.joins.source} << 8 | part.joins.target);
            digest.add(part.source_offset);
        }
        add(digest, first_uses(*target.pieces));
        return digest.value();
    }

    /// True where target tensors `a` and `b` have the same cuts, by number.
    constexpr bool same_kind(std::uint32_t a, std::uint32_t b) const {
        target_side const &x = problem_.targets[a], &y = problem_.targets[b];
        if (x.added != y.added || !same_geometry(*x.shards, *y.shards) ||
            x.pieces->size() != y.pieces->size() || parts_.wanted[a] != parts_.wanted[b])
            return false;
        for (std::size_t i = 0; i < x.pieces->size(); ++i)
            if (!same_piece((*x.pieces)[i], (*y.pieces)[i]))
                return false;
        return first_uses(*x.pieces) == first_uses(*y.pieces);
    }

private:
    using numbers = scope_parts::numbers;

    static constexpr void add(hasher& digest, numbers const& all) {
        digest.add(static_cast<std::uint64_t>(all.size()));
        for (std::uint32_t const number : all)
            digest.add(std::uint64_t{number});
    }

    constexpr bool same_piece(piece const& a, piece const& b) const {
        if (a.order != b.order || a.source_offset != b.source_offset ||
            a.target_offset != b.target_offset || a.extent != b.extent || a.joins != b.joins)
            return false;
        if (a.source == zero_source || b.source == zero_source)
            return a.source == b.source;
        return sources_.kind(a.source) == sources_.kind(b.source) &&
               parts_.given[a.source] == parts_.given[b.source];
    }

    /// By piece, the first piece of the same source. Tensors that agree in it have one source twice
    /// in the same places: then planning them by number plans the same thing.
    static constexpr numbers first_uses(piece_list const& pieces) {
        std::vector<std::pair<key_id, std::uint32_t>> uses;
        for (std::uint32_t i = 0; i < pieces.size(); ++i)
            uses.push_back({pieces.source(i), i});
        std::sort(uses.begin(), uses.end());
        numbers first(pieces.size(), 0);
        for (std::size_t i = 0; i < uses.size(); ++i)
            first[uses[i].second] = i > 0 && uses[i].first == uses[i - 1].first
                                        ? first[uses[i - 1].second]
                                        : uses[i].second;
        return first;
    }

    plan_problem const& problem_;
    source_indices const& sources_;
    scope_parts const& parts_;
    std::vector<std::uint64_t> source_digests_; ///< by source key
};

} // namespace reshard::detail

#endif
