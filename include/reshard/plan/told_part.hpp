// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_TOLD_PART_HPP
#define RESHARD_PLAN_TOLD_PART_HPP

#include <reshard/plan/plan.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

/// \file
/// The subplan that the maker of a plan sends to a source holder.

namespace reshard::detail {

/// Transfers out of a larger plan, with numbers of their own for targets, patterns, chains and
/// sources.
struct told_part {
    std::vector<key_id> sources; ///< by source key of `part`: its number in the larger plan
    plan part;

    static constexpr void members(auto& self, auto&& visit) { visit(self.sources, self.part); }

    bool operator==(told_part const&) const = default;
};

template <>
inline constexpr stored_form form_of<told_part>{"part of a plan", 9};

/// \throws error with errc::bad_layout where a source has no number
inline void validate(told_part const& told) {
    if (told.sources.size() != told.part.source_dtypes.size())
        fail(errc::bad_layout, "it has numbers for ", told.sources.size(), " of ",
             counted(told.part.source_dtypes.size(), "source"));
}

/// Takes transfers out of a plan, in their order.
class part_taker {
public:
    explicit part_taker(plan const& whole) : whole_(whole) {}

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

    told_part part() && { return std::move(result_); }

private:
    void open(key_id target) {
        plan& taken = result_.part;
        taken.target_dtypes.push_back(whole_.target_dtypes[target]);
        taken.pattern_of.push_back(static_cast<std::uint32_t>(taken.patterns.size()));
        taken.patterns.emplace_back(whole_.patterns[whole_.pattern_of[target]].ndim());
    }

    key_id source_number(key_id source) {
        auto const next = static_cast<key_id>(result_.sources.size());
        auto const [place, is_new] = numbers_.emplace(source, next);
        if (is_new) {
            result_.sources.push_back(source);
            result_.part.source_dtypes.push_back(whole_.source_dtypes[source]);
        }
        return place->second;
    }

    plan const& whole_;
    told_part result_;
    key_id target_ = 0;
    std::map<key_id, key_id> numbers_;
};

/// By source holder, the transfers that holders other than `target` give it.
///
/// \post the transfers of each part stand in the order of `whole`
inline std::map<holder_t, told_part> told_parts(plan const& whole, holder_t target) {
    std::map<holder_t, part_taker> takers;
    for (transfer const& moved : whole.transfers)
        if (moved.source_holder != no_holder && moved.source_holder != target)
            takers.try_emplace(moved.source_holder, whole).first->second.take(moved);
    std::map<holder_t, told_part> parts;
    for (auto& [holder, taker] : takers)
        parts.emplace(holder, std::move(taker).part());
    return parts;
}

/// Adds transfers received from others, as those of targets of their own.
///
/// \pre the sources of `told` are keys of `whole`
inline void append(plan& whole, told_part told) {
    auto const targets = static_cast<key_id>(whole.target_dtypes.size());
    auto const patterns = static_cast<std::uint32_t>(whole.patterns.size());
    std::vector<std::uint16_t> chains;
    for (cast_chain const& chain : told.part.chains)
        chains.push_back(chain_number(whole.chains, chain));
    for (transfer moved : told.part.transfers) {
        moved.target_key += targets;
        moved.source_key = told.sources[moved.source_key];
        moved.chain = chains[moved.chain];
        whole.transfers.push_back(moved);
    }
    for (std::uint32_t const which : told.part.pattern_of)
        whole.pattern_of.push_back(which + patterns);
    std::ranges::move(told.part.patterns, std::back_inserter(whole.patterns));
    std::ranges::copy(told.part.target_dtypes, std::back_inserter(whole.target_dtypes));
}

} // namespace reshard::detail

#endif
