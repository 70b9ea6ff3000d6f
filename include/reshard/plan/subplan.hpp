// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_SUBPLAN_HPP
#define RESHARD_PLAN_SUBPLAN_HPP

#include <reshard/core/vector.hpp>
#include <reshard/plan/plan.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>

/// \file
/// The subplan that the planner of a job sends to a source holder.

namespace reshard::detail {

/// Transfers from a larger plan, with new numbers for targets, patterns, chains and sources.
struct subplan {
    vector<key_id> sources; ///< by source key of `part`: the number in the larger plan
    plan part;

    static constexpr void members(auto& self, auto&& visit) { visit(self.sources, self.part); }

    bool operator==(subplan const&) const = default;
};

template <>
inline constexpr stored_form form_of<subplan>{"part of a plan", 9};

/// \throws error with errc::bad_layout if a source has no number
inline void validate(subplan const& subplan) {
    if (subplan.sources.size() != subplan.part.source_dtypes.size())
        fail(errc::bad_layout, "it has numbers for ", subplan.sources.size(), " of ",
             counted(subplan.part.source_dtypes.size(), "source"));
}

/// Builds a subplan from transfers of a plan, in their order.
class subplan_builder {
public:
    explicit subplan_builder(plan const& plan) : whole_(plan) {}

    void take(transfer moved) {
        if (result_.part.target_dtypes.empty() || moved.target_key != target_)
            open(target_ = moved.target_key);
        plan& taken = result_.part;
        taken.patterns.back().push_back(cut_of(whole_, moved));
        moved.cut = static_cast<std::uint32_t>(taken.patterns.back().size() - 1);
        moved.target_key = static_cast<key_id>(taken.target_dtypes.size() - 1);
        moved.chain = chain_number(taken.chains, whole_.chains[moved.chain]);
        moved.source_key = source_number(moved.source_key);
        taken.transfers.push_back(moved);
    }

    subplan part() && { return std::move(result_); }

private:
    void open(key_id target) {
        plan& taken = result_.part;
        taken.target_dtypes.push_back(whole_.target_dtypes[target]);
        taken.pattern_of.push_back(static_cast<std::uint32_t>(taken.patterns.size()));
        taken.patterns.emplace_back(whole_.patterns[whole_.pattern_of[target]].ndim());
    }

    key_id source_number(key_id source) {
        auto const next = static_cast<key_id>(result_.sources.size());
        auto const [position, is_new] = numbers_.emplace(source, next);
        if (is_new) {
            result_.sources.push_back(source);
            result_.part.source_dtypes.push_back(whole_.source_dtypes[source]);
        }
        return position->second;
    }

    plan const& whole_;
    subplan result_;
    key_id target_ = 0;
    std::map<key_id, key_id> numbers_;
};

/// The transfers that holders other than `target` send to it, by source holder.
///
/// \post the transfers of each subplan are in the order of `plan`
inline std::map<holder_t, subplan> subplans_of(plan const& plan, holder_t target) {
    std::map<holder_t, subplan_builder> receivers;
    for (transfer const& moved : plan.transfers)
        if (moved.source_holder != no_holder && moved.source_holder != target)
            receivers.try_emplace(moved.source_holder, plan).first->second.take(moved);
    std::map<holder_t, subplan> parts;
    for (auto& [holder, receiver] : receivers)
        parts.emplace(holder, std::move(receiver).part());
    return parts;
}

/// Adds transfers that other holders sent, as transfers of separate targets.
///
/// \pre the sources of `subplan` are keys of `plan`
inline void append(plan& plan, subplan subplan) {
    auto const targets = static_cast<key_id>(plan.target_dtypes.size());
    auto const patterns = static_cast<std::uint32_t>(plan.patterns.size());
    vector<std::uint16_t> chains;
    for (step_chain const& chain : subplan.part.chains)
        chains.push_back(chain_number(plan.chains, chain));
    for (transfer moved : subplan.part.transfers) {
        moved.target_key += targets;
        moved.source_key = subplan.sources[moved.source_key];
        moved.chain = chains[moved.chain];
        plan.transfers.push_back(moved);
    }
    for (std::uint32_t const which : subplan.part.pattern_of)
        plan.pattern_of.push_back(which + patterns);
    std::ranges::move(subplan.part.patterns, std::back_inserter(plan.patterns));
    std::ranges::copy(subplan.part.target_dtypes, std::back_inserter(plan.target_dtypes));
}

} // namespace reshard::detail

#endif
