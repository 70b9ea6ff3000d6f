// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_TARGET_BOXES_HPP
#define RESHARD_PLAN_TARGET_BOXES_HPP

#include <reshard/core/vector.hpp>
#include <reshard/plan/options.hpp>
#include <reshard/plan/shard_index.hpp>
#include <reshard/plan/source_indices.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

/// \file
/// Finds target shards that want the same elements, and the stripes in which nodes receive these.

namespace reshard::detail {

/// Numbers the boxes of target shards: the boxes of a `shard_index`, by shard and part.
class target_boxes {
public:
    static constexpr std::uint32_t none = 0xffffffff;

    constexpr explicit target_boxes(tensor_shards const& shards) : index_(shards) {
        if (!index_.is_computed())
            number_listed(shards);
    }

    /// `none` if the shard has no box of that number.
    constexpr std::uint32_t number(std::uint32_t shard, std::uint8_t part) const {
        if (index_.is_computed())
            return index_.first_box(shard) + part;
        std::size_t const index = first_[shard] + part;
        return index < first_[shard + 1] ? numbers_[index] : none;
    }

    /// The number of shards with the box `box`.
    constexpr std::size_t holders(std::uint32_t box) const { return index_.replicas(box); }

    /// Calls `visit(shard_part)` for all shards with the box `box`.
    constexpr void for_each_holder(std::uint32_t box, auto&& visit) const {
        for (std::size_t i = 0; i < index_.replicas(box); ++i)
            visit(index_.replica(box, i));
    }

private:
    constexpr void number_listed(tensor_shards const& shards) {
        first_ = vector<std::uint32_t>(shards.size() + 1, 0);
        for_each_part([&](std::uint32_t, shard_part at) { ++first_[at.shard + 1]; });
        for (std::size_t i = 1; i < first_.size(); ++i)
            first_[i] += first_[i - 1];
        numbers_ = vector<std::uint32_t>(first_.back(), none);
        for_each_part(
            [&](std::uint32_t box, shard_part at) { numbers_[first_[at.shard] + at.part] = box; });
    }

    constexpr void for_each_part(auto&& visit) const {
        for (std::uint32_t box = 0; box < index_.size(); ++box)
            for (std::size_t which = 0; which < index_.replicas(box); ++which)
                visit(box, index_.replica(box, which));
    }

    shard_index index_;
    vector<std::uint32_t> first_;   ///< by shard, if shards are listed
    vector<std::uint32_t> numbers_; ///< by part, if shards are listed
};

/// The first source of a tensor, if holders want elements of it.
constexpr key_id first_source(target_side const& target) {
    return target.pieces && target.pieces->size() > 0 && target.shards ? target.pieces->source(0)
                                                                       : zero_source;
}

/// The stripes in which relayed tensors enter a node. If several ranks of the node want the same
/// elements, each of them gets one stripe from outside, and passes it on to the others.
///
/// Each of many tensors with equal sources is in one stripe; if their number is not a multiple of
/// the stripes, the last ones are cut. If there are many different sources, all tensors of one
/// source are in the same stripe. So there are few trees of relays.
class tensor_stripes {
public:
    /// Without relays: no tensor is cut.
    constexpr tensor_stripes() = default;

    constexpr tensor_stripes(plan_problem const& problem, plan_options const& options,
                             shard_kinds const& sources, shard_kinds const& targets)
        : options_(options), counts_(targets.spreads().size(), 1) {
        bool is_one = true;
        for (std::size_t i = 0; options.processes_per_node > 1 && i < counts_.size(); ++i)
            if (tensor_shards const& shards = targets.spreads()[i]; shards && shards.size() > 0) {
                counts_[i] = most_on_node(shards);
                is_one = is_one && counts_[i] == 1;
            }
        if (!is_one)
            choose(problem, sources, targets);
    }

    /// The stripe of a tensor; if the tensor is cut, its first stripe.
    constexpr std::uint32_t first(std::uint32_t tensor) const {
        return first_.empty() ? 0 : first_[tensor];
    }

    /// The number of stripes that the holders of a target's spread can get.
    constexpr std::uint32_t count(std::uint32_t spread) const {
        return counts_.empty() ? 1 : counts_[spread];
    }

    /// Whether tensors may be cut.
    constexpr bool any() const { return !cuts_.empty(); }

    /// The number of stripes into which a tensor is cut; 1 if it is not cut.
    constexpr std::uint32_t cuts(std::uint32_t tensor) const {
        return cuts_.empty() ? 1 : cuts_[tensor];
    }

private:
    /// All tensors with one source spread.
    struct group {
        std::uint32_t tensors = 0;
        std::uint32_t stripes = 1;
        double bytes = 0; ///< bytes that a receiver gets
        std::optional<std::uint32_t> stripe = {};
    };

    /// The largest number of processes of one node that want the first box.
    constexpr std::uint32_t most_on_node(tensor_shards const& shards) const {
        vector<holder_t> processes;
        box const first = shards.region(0);
        for (std::uint32_t i = 0; i < shards.size(); ++i)
            if (shards.region(i) == first)
                processes.push_back(options_.process_of(shards.holder(i)));
        std::sort(processes.begin(), processes.end());
        processes.erase(std::unique(processes.begin(), processes.end()), processes.end());
        std::size_t most = 1, first_of_node = 0;
        for (std::size_t i = 0; i < processes.size(); ++i) {
            if (processes[i] / options_.processes_per_node !=
                processes[first_of_node] / options_.processes_per_node)
                first_of_node = i;
            most = std::max(most, i + 1 - first_of_node);
        }
        return static_cast<std::uint32_t>(most);
    }

    constexpr void choose(plan_problem const& problem, shard_kinds const& sources,
                          shard_kinds const& targets) {
        vector<group> groups(sources.spreads().size(), group{});
        vector<double> elements; // of a receiver, by target spread
        for (tensor_shards const& shards : targets.spreads())
            elements.push_back(shards && shards.size() > 0 ? static_cast<double>(shards.elements(0))
                                                           : 0);
        first_ = vector<std::uint32_t>(problem.targets.size(), 0);
        cuts_ = vector<std::uint32_t>(problem.targets.size(), 1);
        for (std::uint32_t t = 0; t < first_.size(); ++t)
            if (key_id const source = first_source(problem.targets[problem.example_of(t)]);
                source != zero_source) {
                group& equal = groups[sources.spread(source)];
                equal.stripes = std::max(equal.stripes, counts_[targets.spread(t)]);
                equal.bytes += elements[targets.spread(t)] *
                               static_cast<double>(bits(problem.targets[t].dtype)) / 8;
                first_[t] = equal.tensors++;
            }
        assign_small(groups);
        for (std::uint32_t t = 0; t < first_.size(); ++t)
            if (key_id const source = first_source(problem.targets[problem.example_of(t)]);
                source != zero_source) {
                group const& equal = groups[sources.spread(source)];
                std::uint32_t const stripes = counts_[targets.spread(t)];
                if (!equal.stripe && first_[t] >= equal.tensors - equal.tensors % stripes)
                    cuts_[t] = stripes;
                first_[t] = equal.stripe.value_or(first_[t]) % stripes;
            }
    }

    /// Gives each group that is small compared with a stripe the least loaded stripe, beginning
    /// with the largest group.
    static constexpr void assign_small(vector<group>& groups) {
        double sum = 0;
        std::uint32_t most = 1;
        for (group const& entry : groups) {
            sum += entry.bytes;
            most = std::max(most, entry.stripes);
        }
        vector<std::pair<double, std::uint32_t>> small;
        for (std::uint32_t i = 0; i < groups.size(); ++i)
            if (groups[i].stripes > 1 && 4 * groups[i].stripes * groups[i].bytes <= sum)
                small.push_back({-groups[i].bytes, i});
        std::sort(small.begin(), small.end());
        vector<double> loads(most, 0);
        for (auto const& [bytes, i] : small) {
            auto const end = loads.begin() + groups[i].stripes;
            auto const least = std::min_element(loads.begin(), end);
            groups[i].stripe = static_cast<std::uint32_t>(least - loads.begin());
            *least -= bytes;
        }
    }

    plan_options options_;
    vector<std::uint32_t> counts_; ///< by target spread; empty without relays
    vector<std::uint32_t> first_;  ///< by tensor, here and below; empty with only one stripe
    vector<std::uint32_t> cuts_;
};

} // namespace reshard::detail

#endif
