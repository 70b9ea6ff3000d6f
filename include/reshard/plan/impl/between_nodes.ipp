// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_IMPL_BETWEEN_NODES_IPP
#define RESHARD_PLAN_IMPL_BETWEEN_NODES_IPP

#include <reshard/core/vector.hpp>
#include <reshard/plan/between_nodes.hpp>

#include <reshard/core/sorting.hpp>
#include <reshard/plan/impl/balance_senders.ipp>
#include <reshard/plan/impl/relay_gain.ipp>
#include <reshard/plan/relay_finder.hpp>
#include <reshard/plan/senders.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>

namespace reshard {

namespace detail {

/// Adds a plan's relays to its lists.
class relay_lister final : public any_relays {
public:
    relay_lister(plan_problem const& problem, plan_options const& options,
                 source_indices const& sources, shard_kinds const& targets,
                 target_turns const& turns)
        : finder_(problem, options, sources, targets, turns) {}

    std::optional<relay_place> find(std::uint32_t tensor, cut_place const& at) override {
        return finder_.find(tensor, at);
    }

    relay_trees const& trees() const override { return finder_.trees(); }

    /// If a receiver in the scope passes a transfer on, that transfer is listed with the receiver's
    /// own transfer.
    void list(plan& made, transfer entry, relay_place const& at, plan_scope const& scope) override {
        relay_tree const tree = trees()[at.tree];
        bool const is_listed = at.is_passed_on()
                                   ? !scope.targets.contains(sender_of(tree, at.position)) &&
                                         scope.targets.contains(entry.target_holder)
                                   : scope.has_transfer(tree.source, entry.target_holder);
        if (!is_listed)
            return;
        vector<relay> next{{0, listed_tree(made, at.tree), at.position, at.box, relay::no_input}};
        while (!next.empty()) {
            relay step = next.back();
            next.pop_back();
            step.transfer = static_cast<std::uint32_t>(made.transfers.size());
            shard_part const receiver = finder_.part_of(at, step.position);
            entry.target_holder = tree.receivers[step.position];
            entry.target_shard = receiver.shard;
            entry.target_part = receiver.part;
            made.transfers.push_back(entry);
            made.relays.push_back(step);
            if (scope.targets.contains(entry.target_holder))
                for_each_child(tree, step.position, [&](std::uint32_t child) {
                    next.push_back({0, step.tree, child, step.box, step.transfer});
                });
        }
    }

    void sort(plan& made, std::size_t first, std::size_t first_relay,
              pattern const& cuts) const override {
        vector<transfer> const listed(made.transfers.begin() + static_cast<std::ptrdiff_t>(first),
                                      made.transfers.end());
        vector<std::uint32_t> order(listed.size(), 0), positions(listed.size(), 0);
        std::iota(order.begin(), order.end(), 0);
        sort_numbers(order, [&](std::uint32_t a, std::uint32_t b) {
            return order_of(listed[a], cuts) < order_of(listed[b], cuts);
        });
        for (std::uint32_t i = 0; i < order.size(); ++i) {
            positions[order[i]] = static_cast<std::uint32_t>(first) + i;
            made.transfers[first + i] = listed[order[i]];
        }
        std::span const relays = std::span(made.relays).subspan(first_relay);
        for (relay& step : relays) {
            step.transfer = positions[step.transfer - first];
            if (step.input != relay::no_input)
                step.input = positions[step.input - first];
        }
        sort_by(relays, [](relay const& a, relay const& b) { return a.transfer < b.transfer; });
    }

private:
    static constexpr std::uint32_t not_listed = 0xffffffff;

    /// The number that a tree of the finder has in the plan.
    std::uint32_t listed_tree(plan& made, std::uint32_t number) {
        return listed_number(number, tree_numbers_, made.trees.trees, [&] {
            stored_tree tree = trees().trees[number];
            vector<holder_t> const& receivers = trees().lists[tree.list];
            tree.list = listed_number(tree.list, list_numbers_, made.trees.lists,
                                      [&] { return receivers; });
            return tree;
        });
    }

    /// The number that an element of the finder has in `list`. The first call for an element adds
    /// `get()`.
    static std::uint32_t listed_number(std::uint32_t number, vector<std::uint32_t>& numbers,
                                       auto& list, auto&& get) {
        if (number >= numbers.size())
            numbers.resize(number + 1, not_listed);
        if (numbers[number] == not_listed) {
            numbers[number] = static_cast<std::uint32_t>(list.size());
            list.push_back(get());
        }
        return numbers[number];
    }

    static pattern_order order_of(transfer const& listed, pattern const& cuts) {
        return {listed.target_shard, listed.target_part, cuts.target_offset(listed.cut)};
    }

    relay_finder finder_;
    vector<std::uint32_t> tree_numbers_; ///< by number in the finder, here and below
    vector<std::uint32_t> list_numbers_;
};

inline std::unique_ptr<any_relays>
find_relays(plan_problem const& problem, plan_options const& options, source_indices const& sources,
            shard_kinds const& targets, target_turns const& turns) {
    return std::make_unique<relay_lister>(problem, options, sources, targets, turns);
}

/// Relays if they are faster, otherwise balanced senders.
inline plan_options faster_of(plan_problem const& problem, plan_options const& options,
                              source_indices const& sources, shard_kinds const& targets) {
    plan_options faster = options;
    relay_gain_finder finder(problem, options, sources, targets, options.between_nodes.over);
    auto const gain = finder.find();
    faster.between_nodes.choice =
        !gain || gain->is_worth_it() ? sender_choice::relayed : sender_choice::balanced;
    return faster;
}

inline constexpr node_steps steps_between_nodes{can_balance, balance_senders, find_relays,
                                                faster_of};

RESHARD_DECL node_traffic all_relays() {
    return {sender_choice::relayed, &steps_between_nodes, {}};
}

RESHARD_DECL relay_gain gain_of_relays(plan_problem const& problem, plan_options const& options,
                                       network const& over) {
    source_indices const sources(problem);
    shard_kinds const targets(problem.targets);
    return relay_gain_finder(problem, options, sources, targets, over)
        .find()
        .value_or(relay_gain());
}

} // namespace detail

RESHARD_DECL detail::node_traffic balanced_senders() {
    return {detail::sender_choice::balanced, &detail::steps_between_nodes, {}};
}

RESHARD_DECL detail::node_traffic relays(network const& over) {
    return {detail::sender_choice::faster, &detail::steps_between_nodes, over};
}

} // namespace reshard

#endif
