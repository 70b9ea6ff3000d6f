// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_TREE_TABLE_HPP
#define RESHARD_PLAN_TREE_TABLE_HPP

#include <reshard/core/vector.hpp>
#include <reshard/plan/options.hpp>
#include <reshard/plan/relays.hpp>
#include <reshard/plan/source_indices.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <span>
#include <utility>

/// \file
/// Stores each tree and each list of receivers once, without a look at every receiver of every
/// tree.

namespace reshard::detail {

/// Numbers trees, and the lists of receivers that the trees share.
///
/// A list is sorted by node. On each node it is sorted by process, in a cycle that may begin at any
/// process. So the receivers on some nodes are a few ranges of the list, for any first receiver of
/// a tree. Refers to the options, which must outlive it.
class tree_table {
public:
    static constexpr std::uint32_t none = 0xffffffff;

    constexpr explicit tree_table(plan_options const& options) : options_(options) {}

    constexpr relay_trees const& trees() const { return trees_; }

    /// Adds a list if it is new, and returns its number.
    ///
    /// \pre no process plays two of the holders, and they are sorted as above
    constexpr std::uint32_t add_list(vector<holder_t> holders) {
        vector<std::uint64_t> sums = sums_of_digests(holders);
        std::uint32_t const number =
            list_numbers_.number(sums.back(), [&](std::uint32_t candidate) {
                return trees_.lists[candidate] == holders;
            });
        if (number == trees_.lists.size()) {
            trees_.lists.push_back(std::move(holders));
            sums_.push_back(std::move(sums));
        }
        return number;
    }

    /// Adds the tree of a list's holders that are not on the nodes `near`, if it is new, and
    /// returns its number. The tree begins after the source. `none` if there are fewer than two
    /// such holders.
    ///
    /// \param chunks the number of chunks that a holder receives
    /// \pre   `near` is sorted and distinct, and has the source's node
    constexpr std::uint32_t add_tree(holder_t source, std::uint32_t list, vector<holder_t> near,
                                     std::size_t chunks) {
        std::rotate(near.begin(), std::find(near.begin(), near.end(), options_.node_of(source)),
                    near.end());
        stored_tree tree{source, list, 0, 1, {}};
        std::uint64_t const digest = add_far(tree, near);
        if (tree.size < 2)
            return none;
        tree.branches = branches_for(tree.size, chunks);
        std::uint32_t const number =
            tree_numbers_.number(digest_of_all(source, digest), [&](std::uint32_t candidate) {
                return trees_[candidate] == trees_.with_receivers(tree);
            });
        if (number == trees_.size())
            trees_.trees.push_back(std::move(tree));
        return number;
    }

    /// The position of a holder in a list, or std::nullopt.
    constexpr std::optional<std::uint32_t> place_in_list(std::uint32_t list,
                                                         holder_t holder) const {
        auto const [first, last] = range_of(list, options_.node_of(holder));
        if (first == last)
            return std::nullopt;
        std::span const listed = std::span(trees_.lists[list]).subspan(first, last - first);
        auto const after_first = [&](holder_t index) { // cyclically
            return options_.process_of(index) - options_.process_of(listed[0]);
        };
        auto const at =
            std::ranges::lower_bound(listed, after_first(holder), {}, after_first) - listed.begin();
        std::size_t const index = static_cast<std::size_t>(at);
        return index < listed.size() && listed[index] == holder
                   ? std::optional(static_cast<std::uint32_t>(first + index))
                   : std::nullopt;
    }

    /// The position of a holder in a tree, or std::nullopt.
    constexpr std::optional<std::uint32_t> place_in_tree(std::uint32_t number,
                                                         holder_t holder) const {
        stored_tree const& tree = trees_.trees[number];
        auto const listed = place_in_list(tree.list, holder);
        if (!listed)
            return std::nullopt;
        std::size_t const size = trees_.lists[tree.list].size();
        auto const after_first = [&](std::size_t index) { // cyclically
            return (index + size - tree.runs[0].first) % size;
        };
        auto const run = std::ranges::upper_bound(
                             tree.runs, after_first(*listed), {},
                             [&](receiver_run const& entry) { return after_first(entry.first); }) -
                         1;
        auto const index =
            static_cast<std::uint32_t>(after_first(*listed) - after_first(run->first));
        return index < tree.count(static_cast<std::size_t>(run - tree.runs.begin()))
                   ? std::optional(run->position + index)
                   : std::nullopt;
    }

private:
    /// Adds the receivers between each node of `near` and the next node. Returns a digest of them
    /// that does not depend on the list.
    constexpr std::uint64_t add_far(stored_tree& tree, vector<holder_t> const& near) const {
        vector<std::uint64_t> const& sums = sums_[tree.list];
        std::size_t const listed = trees_.lists[tree.list].size();
        std::uint64_t digest = sums.back();
        for (std::size_t i = 0; i < near.size(); ++i) {
            holder_t const next = near[(i + 1) % near.size()];
            auto const [first, last] = range_of(tree.list, near[i]);
            digest -= sums[last] - sums[first];
            std::size_t const end = range_of(tree.list, next).first;
            add_run(tree, last, next <= near[i] ? end + listed : end, listed);
        }
        return digest;
    }

    /// Adds the receivers in the cyclic range `[first, last)`. They extend the last run if they
    /// follow it directly.
    static constexpr void add_run(stored_tree& tree, std::size_t first, std::size_t last,
                                  std::size_t listed) {
        if (first == last)
            return;
        auto const end = [&] { return tree.runs.back().first + tree.count(tree.runs.size() - 1); };
        if (tree.runs.empty() || end() % listed != first % listed)
            tree.runs.push_back({tree.size, static_cast<std::uint32_t>(first % listed)});
        tree.size += static_cast<std::uint32_t>(last - first);
    }

    /// The range of a node's holders in a list: the first position, and the end.
    constexpr std::pair<std::size_t, std::size_t> range_of(std::uint32_t list,
                                                           holder_t node) const {
        vector<holder_t> const& holders = trees_.lists[list];
        auto const match = std::ranges::equal_range(
            holders, node, {}, [&](holder_t holder) { return options_.node_of(holder); });
        return {static_cast<std::size_t>(match.begin() - holders.begin()),
                static_cast<std::size_t>(match.end() - holders.begin())};
    }

    plan_options const& options_;
    relay_trees trees_;
    class_table list_numbers_;
    class_table tree_numbers_;
    vector<vector<std::uint64_t>> sums_; ///< by list: sums of the first holders' digests
};

} // namespace reshard::detail

#endif
