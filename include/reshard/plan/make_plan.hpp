// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_MAKE_PLAN_HPP
#define RESHARD_PLAN_MAKE_PLAN_HPP

#include <reshard/core/vector.hpp>
#include <reshard/plan/make_patterns.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

/// \file
/// Makes the transfers of some holders from two layouts and a mapping.

namespace reshard {

namespace detail {

/// Lists the transfers of each tensor from the pattern of its kind. For each class of tensors that
/// differ only in their numbers, the transfers are found once and then repeated.
class transfer_lister {
public:
    constexpr transfer_lister(plan_problem const& problem, plan_scope const& scope,
                              given_cuts& cuts)
        : problem_(problem), scope_(scope), cuts_(cuts) {}

    constexpr plan list(pattern_plan patterns) {
        count(patterns);
        for (std::uint32_t t = 0; t < problem_.targets.size(); ++t)
            if (patterns.patterns[patterns.pattern_of[t]].size() > 0)
                list(t, patterns);
        result_.source_dtypes = std::move(patterns.source_dtypes);
        result_.target_dtypes = std::move(patterns.target_dtypes);
        result_.pattern_of = std::move(patterns.pattern_of);
        for (placed_pattern& cuts : patterns.patterns)
            result_.patterns.push_back(std::move(cuts).geometry());
        return std::move(result_);
    }

private:
    /// Reserves memory for the transfers: about the largest possible number.
    constexpr void count(pattern_plan const& patterns) {
        std::size_t transfers = 0;
        for (std::uint32_t const which : patterns.pattern_of)
            transfers += patterns.patterns[which].size();
        result_.transfers.reserve(transfers);
    }

    /// The values that decide the holders of a tensor's transfers, and whether these are relayed.
    struct tensor_key {
        std::uint32_t example = 0; ///< the tensor's `problem_.example_of`
        std::uint32_t turn = 0;
        std::uint32_t stripe = 0;
        std::uint32_t pattern = 0;

        constexpr bool operator==(tensor_key const&) const = default;
    };

    /// The transfers and relays of the first tensor of a class.
    struct tensor_class {
        tensor_key key;
        std::size_t first = 0;
        std::size_t last = 0;
        std::size_t first_relay = 0;
        std::size_t last_relay = 0;
    };

    constexpr void list(std::uint32_t t, pattern_plan const& patterns) {
        if (patterns.senders.has(t)) // senders were chosen for each tensor
            return list_cuts(t, patterns);
        tensor_key const key{problem_.example_of(t), cuts_.turns.first(t),
                             cuts_.turns.stripes().first(t), patterns.pattern_of[t]};
        hasher digest;
        digest.add(std::uint64_t{key.example} << 32 | key.turn);
        digest.add(std::uint64_t{key.stripe} << 32 | key.pattern);
        std::uint32_t const number =
            class_numbers_.number(digest.value(), [&](std::uint32_t candidate) {
                return classes_[candidate].key == key;
            });
        if (number < classes_.size())
            return repeat(t, classes_[number], patterns.patterns[patterns.pattern_of[t]]);
        tensor_class added{key, result_.transfers.size(), 0, result_.relays.size(), 0};
        list_cuts(t, patterns);
        added.last = result_.transfers.size();
        added.last_relay = result_.relays.size();
        classes_.push_back(std::move(added));
    }

    constexpr void find_chains(target_side const& target) {
        chains_.clear();
        for (std::size_t i = 0; i < target.pieces->size(); ++i)
            chains_.push_back(chain_number(result_.chains, (*target.pieces)[i].steps));
    }

    /// Repeats the transfers of a class for another of its tensors.
    constexpr void repeat(std::uint32_t t, tensor_class const& known, placed_pattern const& cuts) {
        auto const more = static_cast<std::uint32_t>(result_.transfers.size() - known.first);
        for (std::size_t i = known.first; i < known.last; ++i) {
            transfer entry = result_.transfers[i];
            entry.target_key = t;
            if (entry.source_key != zero_source)
                entry.source_key = problem_.source_of(t, cuts.place(entry.cut).piece);
            result_.transfers.push_back(entry);
        }
        for (std::size_t i = known.first_relay; i < known.last_relay; ++i) {
            relay step = result_.relays[i];
            step.transfer += more;
            step.input += step.input == relay::no_input ? 0 : more;
            result_.relays.push_back(step);
        }
    }

    constexpr void list_cuts(std::uint32_t t, pattern_plan const& patterns) {
        find_chains(problem_.targets[t]);
        placed_pattern const& cuts = patterns.patterns[patterns.pattern_of[t]];
        target_side const& target = problem_.targets[t];
        std::size_t const first = result_.transfers.size(), first_relay = result_.relays.size();
        for (std::uint32_t i = 0; i < cuts.size(); ++i) {
            cut_place const& cut = cuts.place(i);
            transfer entry{.target_holder = target.shards.holder(cut.target_shard),
                           .target_key = t,
                           .target_shard = cut.target_shard,
                           .cut = i,
                           .target_part = cut.target_part,
                           .chain = chains_[cut.piece]};
            auto const relayed = cuts_.find_relay(t, cut);
            if (key_id const source = target.pieces->source(cut.piece); source != zero_source)
                name_source(entry, source,
                            relayed ? relayed->sender : cuts_.senders(patterns, t, i));
            if (relayed)
                cuts_.relays->list(result_, entry, *relayed, scope_);
            else if (scope_.has_transfer(entry.source_holder, entry.target_holder))
                result_.transfers.push_back(entry);
        }
        if (result_.relays.size() > first_relay)
            cuts_.relays->sort(result_, first, first_relay, cuts.geometry());
    }

    constexpr void name_source(transfer& entry, key_id source, shard_part chosen) const {
        entry.source_key = source;
        entry.source_shard = chosen.shard;
        entry.source_part = chosen.part;
        entry.source_holder = problem_.sources[source].shards.holder(chosen.shard);
    }

    plan_problem const& problem_;
    plan_scope const& scope_;
    given_cuts& cuts_;
    plan result_;
    vector<std::uint16_t> chains_; ///< by piece of a tensor
    class_table class_numbers_;
    vector<tensor_class> classes_;
};

} // namespace detail

/// The transfers of the holders in `scope`, listed for each tensor.
///
/// \par Units  elements; `bytes` only through `wire_bytes`
/// \post       `verify` finds no fault; the plan does not depend on the order of keys. The order of
///             a rank's shards affects at most the choice among several replicas
/// \throws     error with errc::not_covered if nobody holds elements of a wanted shard, with
///             errc::overlap if source shards that are not replicas share elements
/// \par Source Flex Checkpoint makes read items from all pairs of boxes; job G of bench/jobs.hpp
///             has 217 million pairs, but only 955,228 transfers
constexpr plan make_plan(detail::plan_problem const& problem, detail::plan_scope const& scope = {},
                         plan_options const& options = {}) {
    detail::given_cuts cuts(problem, scope, options);
    return detail::transfer_lister(problem, scope, cuts).list(std::move(cuts.patterns));
}

} // namespace reshard

#endif
