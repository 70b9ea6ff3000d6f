// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_RELAY_TREES_HPP
#define RESHARD_PLAN_RELAY_TREES_HPP

#include <reshard/core/digest.hpp>
#include <reshard/core/members.hpp>
#include <reshard/core/sorting.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/holder.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>

/// \file
/// The receivers of relayed elements, in order. Trees share lists of receivers.

namespace reshard::detail {

/// Receivers of a tree that are neighbours in a list. At the list's end, the run continues at the
/// list's beginning.
struct receiver_run {
    std::uint32_t position = 0; ///< of the run's first receiver, in the tree
    std::uint32_t first = 0;    ///< the index of that receiver in the list

    static constexpr void members(auto& self, auto&& visit) { visit(self.position, self.first); }

    constexpr bool operator==(receiver_run const&) const = default;
};

/// A tree as numbers. Its receivers are runs of a list that trees of other sources share.
struct stored_tree {
    holder_t source = 0;
    std::uint32_t list = 0;
    std::uint32_t size = 0;     ///< the number of receivers
    std::uint32_t branches = 1; ///< the most receivers that a receiver sends to; 1: a chain
    vector<receiver_run> runs;  ///< by position

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.source, self.list, self.size, self.branches, self.runs);
    }

    /// The number of receivers in a run.
    ///
    /// \pre `run < runs.size()`
    constexpr std::uint32_t count(std::size_t run) const {
        return (run + 1 < runs.size() ? runs[run + 1].position : size) - runs[run].position;
    }

    constexpr bool operator==(stored_tree const&) const = default;
};

/// The receivers of a tree, by position.
///
/// Refers to the list and the tree that it is made from, which must outlive it.
class relay_receivers {
public:
    constexpr relay_receivers(vector<holder_t> const& list, stored_tree const& tree)
        : list_(&list), tree_(&tree) {}

    constexpr std::uint32_t size() const { return tree_->size; }

    /// \pre `index < size()`
    constexpr holder_t operator[](std::uint32_t index) const {
        auto const run = std::upper_bound(tree_->runs.begin(), tree_->runs.end(), index,
                                          [](std::uint32_t a, receiver_run const& b) {
                                              return a < b.position;
                                          }) -
                         1;
        std::size_t const at = std::size_t{run->first} + (index - run->position);
        return (*list_)[at < list_->size() ? at : at - list_->size()];
    }

    /// Compares the holders, not their lists.
    constexpr std::strong_ordering operator<=>(relay_receivers const& receivers) const {
        if (list_ == receivers.list_ && size() == receivers.size() &&
            tree_->runs == receivers.tree_->runs)
            return std::strong_ordering::equal;
        for (std::uint32_t i = 0; i < std::min(size(), receivers.size()); ++i)
            if (auto const order = (*this)[i] <=> receivers[i]; order != 0)
                return order;
        return size() <=> receivers.size();
    }

    constexpr bool operator==(relay_receivers const& receivers) const {
        return *this <=> receivers == 0;
    }

private:
    vector<holder_t> const* list_;
    stored_tree const* tree_;
};

/// Holders that want the same elements from one source. The source sends them to the first holder.
/// Each other holder gets them from an earlier receiver, which passes them on as they arrive.
struct relay_tree {
    holder_t source = 0;
    relay_receivers receivers;  ///< holders of the target, by node
    std::uint32_t branches = 1; ///< as in `stored_tree`

    constexpr auto operator<=>(relay_tree const&) const = default;
};

/// Trees, and the lists of their receivers. The holders that want a box share one list, for any
/// number of sources.
struct relay_trees {
    vector<vector<holder_t>> lists;
    vector<stored_tree> trees;

    static constexpr void members(auto& self, auto&& visit) { visit(self.lists, self.trees); }

    constexpr std::size_t size() const { return trees.size(); }

    /// Refers to these trees.
    ///
    /// \pre `number < size()`
    constexpr relay_tree operator[](std::size_t number) const {
        return with_receivers(trees[number]);
    }

    /// The same for a tree that refers to one of these lists.
    constexpr relay_tree with_receivers(stored_tree const& tree) const {
        return {tree.source, {lists[tree.list], tree}, tree.branches};
    }

    constexpr bool operator==(relay_trees const&) const = default;
};

/// Holders, each with its position in a list.
using holder_places = vector<std::pair<holder_t, std::size_t>>;

constexpr holder_places places_of(vector<holder_t> const& list) {
    holder_places places;
    for (std::size_t i = 0; i < list.size(); ++i)
        places.push_back({list[i], i});
    sort_by(places, std::less<>());
    return places;
}

inline constexpr auto holder_fault = "a relay tree that lists a holder twice, or lists no_holder";

/// The reason why a tree is not valid, or null. A valid tree has distinct receivers from a list,
/// and its source is not among them.
constexpr char const* tree_fault(stored_tree const& tree, holder_places const& listed) {
    constexpr auto fault = "a relay tree with receivers that are not in its list";
    if (tree.branches == 0 || tree.branches > tree.size)
        return "a relay tree with no branches, or with more branches than receivers";
    if (tree.runs.empty() || tree.runs[0].position != 0)
        return fault;
    auto const round = [&](std::size_t index) { // position after the first receiver
        return (index + listed.size() - tree.runs[0].first) % listed.size();
    };
    auto const source =
        std::lower_bound(listed.begin(), listed.end(), std::pair{tree.source, std::size_t{0}});
    std::size_t end = 0;
    for (std::size_t i = 0; i < tree.runs.size(); ++i) {
        if (tree.runs[i].first >= listed.size())
            return fault;
        std::size_t const begin = round(tree.runs[i].first), count = tree.count(i);
        if (count == 0 || begin < end || count > listed.size() - begin)
            return fault;
        end = begin + count;
        if (source != listed.end() && source->first == tree.source &&
            round(source->second) >= begin && round(source->second) < end)
            return holder_fault;
    }
    return tree.source == no_holder ? holder_fault : nullptr;
}

/// The prefix sums of the digests of a list's holders, beginning with 0.
constexpr vector<std::uint64_t> sums_of_digests(vector<holder_t> const& list) {
    vector<std::uint64_t> sums{0};
    for (holder_t const holder : list)
        sums.push_back(sums.back() + digest_of_all(holder));
    return sums;
}

/// A key that distinguishes trees without a comparison of all receivers. Trees of one list with the
/// same key are equal, because their runs follow the list from the same first receiver.
struct tree_key {
    holder_t source = 0;
    holder_t first = 0;
    std::uint32_t size = 0;
    std::uint32_t branches = 0;
    std::uint64_t digest = 0; ///< of the receivers, in any order

    constexpr auto operator<=>(tree_key const&) const = default;
};

/// \pre `tree_fault` finds no error in the tree
constexpr tree_key key_of(stored_tree const& tree, vector<holder_t> const& list,
                          vector<std::uint64_t> const& sums) {
    tree_key key{tree.source, list[tree.runs[0].first], tree.size, tree.branches, 0};
    for (std::size_t i = 0; i < tree.runs.size(); ++i) {
        std::size_t const first = tree.runs[i].first, end = first + tree.count(i);
        key.digest += end <= list.size() ? sums[end] - sums[first]
                                         : sums.back() - sums[first] + sums[end - list.size()];
    }
    return key;
}

/// Whether two trees are equal, even if their receivers are in different lists.
///
/// \pre `tree_fault` finds no error in any tree
constexpr bool has_tree_twice(relay_trees const& trees) {
    vector<vector<std::uint64_t>> sums;
    for (vector<holder_t> const& list : trees.lists)
        sums.push_back(sums_of_digests(list));
    vector<std::pair<tree_key, std::uint32_t>> sorted;
    for (std::uint32_t i = 0; i < trees.size(); ++i) {
        std::uint32_t const list = trees.trees[i].list;
        sorted.emplace_back(key_of(trees.trees[i], trees.lists[list], sums[list]), i);
    }
    auto const order = [&](auto const& a, auto const& b) {
        if (auto const by_key = a.first <=> b.first;
            by_key != 0 || trees.trees[a.second].list == trees.trees[b.second].list)
            return by_key;
        return trees[a.second].receivers <=> trees[b.second].receivers;
    };
    sort_by(sorted, [&](auto const& a, auto const& b) { return order(a, b) < 0; });
    return std::adjacent_find(sorted.begin(), sorted.end(), [&](auto const& a, auto const& b) {
               return order(a, b) == 0;
           }) != sorted.end();
}

/// The reason why the trees of a plan are not valid, or null.
constexpr char const* tree_fault(relay_trees const& trees) {
    vector<holder_places> lists;
    for (vector<holder_t> const& list : trees.lists) {
        lists.push_back(places_of(list));
        holder_places const& places = lists.back();
        if (std::adjacent_find(places.begin(), places.end(),
                               [](auto const& a, auto const& b) { return a.first == b.first; }) !=
                places.end() ||
            (!places.empty() && places.back().first == no_holder))
            return holder_fault;
    }
    for (stored_tree const& tree : trees.trees) {
        if (tree.list >= lists.size())
            return "a relay tree of a list that does not exist";
        if (char const* const fault = tree_fault(tree, lists[tree.list]))
            return fault;
    }
    return has_tree_twice(trees) ? "the same relay tree twice" : nullptr;
}

} // namespace reshard::detail

#endif
