// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_SENDER_CLASSES_HPP
#define RESHARD_PLAN_SENDER_CLASSES_HPP

#include <reshard/core/sorting.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/plan/load_balance.hpp>
#include <reshard/plan/senders.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <tuple>
#include <utility>

/// \file
/// The possible senders of cuts: equal tensors are listed once, with the bytes that each sender
/// could send.

namespace reshard::detail {

/// A process that holds a box, and the first replica of the box that the process plays.
struct box_sender {
    holder_t process = 0;
    std::uint16_t replica = 0;

    constexpr auto operator<=>(box_sender const&) const = default;
};

/// The possible senders of a cut.
struct candidate_senders {
    vector<box_sender> senders; ///< distinct, by process; empty without a source
    bool has_receiver = false;  ///< the receiver's process holds the box: no bytes are sent
    bool leaves_node = false;   ///< no sender is on the receiver's node
};

/// Finds the possible senders of boxes, once for each box.
///
/// Refers to its arguments, which must outlive it.
class sender_lists {
public:
    constexpr sender_lists(plan_problem const& problem, plan_options const& options,
                           source_indices const& sources)
        : problem_(problem), options_(options), sources_(sources) {
        for (std::uint32_t i = 0; i < sources.kinds().spreads().size(); ++i)
            of_box_.emplace_back(sources.of_spread(i).size());
    }

    /// The preferred senders: the receiver's process, else senders on its node, else all senders.
    constexpr candidate_senders of(std::uint32_t tensor, cut_place const& cut) {
        target_side const& target = problem_.targets[tensor];
        key_id const source = target.pieces->source(cut.piece);
        if (source == zero_source)
            return {};
        holder_t const receiver = options_.process_of(target.shards.holder(cut.target_shard));
        vector<box_sender> const& senders = holders_of(source, cut.source_box);
        auto const own = std::lower_bound(senders.begin(), senders.end(), box_sender{receiver, 0});
        if (own != senders.end() && own->process == receiver)
            return {{*own}, true, false};
        if (options_.processes_per_node > 1) {
            vector<box_sender> near;
            std::ranges::copy_if(senders, std::back_inserter(near), [&](box_sender const& sender) {
                return options_.node_of(sender.process) == options_.node_of(receiver);
            });
            if (!near.empty())
                return {std::move(near), false, false};
        }
        return {senders, false, true};
    }

private:
    constexpr vector<box_sender> const& holders_of(key_id source, std::uint32_t source_box) {
        vector<box_sender>& senders = of_box_[sources_.kinds().spread(source)][source_box];
        if (!senders.empty())
            return senders;
        shard_index const& index = sources_.of(source);
        for (std::size_t which = 0; which < index.replicas(source_box); ++which)
            senders.push_back({options_.process_of(problem_.sources[source].shards.holder(
                                   index.replica(source_box, which).shard)),
                               static_cast<std::uint16_t>(which)});
        sort_by(senders, std::less<>());
        auto const same = [](box_sender const& a, box_sender const& b) {
            return a.process == b.process;
        };
        senders.erase(std::unique(senders.begin(), senders.end(), same), senders.end());
        return senders;
    }

    plan_problem const& problem_;
    plan_options const& options_;
    source_indices const& sources_;
    vector<vector<vector<box_sender>>> of_box_; ///< by spread, by box
};

/// A cut of every tensor of a class.
struct class_cut {
    static constexpr std::uint32_t no_load = 0xffffffff; ///< no bytes are sent

    std::uint32_t load = no_load; ///< the load to which the cut belongs
    std::uint32_t group = 0;      ///< its class
    std::uint32_t number = 0;     ///< the index of the cut in its pattern
    std::uint32_t first = 0;      ///< `replicas[first + i]` is the replica of sender `i` of the
                                  ///< load
    index_t bytes = 0;
    vector<sender_table::share> shares = {}; ///< the senders chosen so far
};

/// Tensors whose cuts have the same possible senders form a class, and are counted together. Bytes
/// with the same possible senders form a load.
struct sender_classes {
    vector<sender_table::member> members; ///< by tensor
    vector<std::uint32_t> examples;       ///< by class: one of the class's tensors
    vector<std::uint32_t> counts;         ///< by class: the number of tensors
    vector<class_cut> cuts;               ///< class by class
    vector<std::uint16_t> replicas;       ///< by cut, by sender
    vector<shared_load> loads;

    /// The cuts that are sent. Cuts with only one possible sender come first, then the others.
    /// Larger cuts come before smaller ones: small cuts fill the gaps.
    constexpr vector<std::uint32_t> largest_first() const {
        vector<std::uint32_t> order;
        vector<std::pair<bool, index_t>> keys(cuts.size());
        for (std::uint32_t i = 0; i < cuts.size(); ++i)
            if (cuts[i].load != class_cut::no_load) {
                order.push_back(i);
                keys[i] = {loads[cuts[i].load].senders.size() > 1, -cuts[i].bytes};
            }
        sort_numbers(order, [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
        return order;
    }
};

/// Finds the classes.
class sender_class_finder {
public:
    /// \param relays null if no rank passes elements on
    /// \pre   `patterns` have all transfers
    constexpr sender_class_finder(plan_problem const& problem, plan_options const& options,
                                  source_indices const& sources, shard_kinds const& targets,
                                  pattern_plan const& patterns, any_relays* relays = nullptr)
        : relays_(relays),
          problem_(problem),
          sources_(sources),
          targets_(targets),
          patterns_(patterns),
          lists_(problem, options, sources),
          loads_of_all_(sources.kinds().spreads().size()) {
        source_kinds_.reserve(problem.sources.size());
        for (key_id i = 0; i < problem.sources.size(); ++i)
            source_kinds_.push_back(std::uint64_t{sources.kinds().spread(i)} << 8 |
                                    static_cast<std::uint64_t>(problem.sources[i].dtype));
    }

    constexpr sender_classes find() && {
        find_classes();
        return std::move(result_);
    }

private:
    constexpr placed_pattern const& pattern_of(std::uint32_t tensor) const {
        return patterns_.patterns[patterns_.pattern_of[tensor]];
    }

    /// Calls `visit(number)` for each number that affects the possible senders of a tensor's cuts,
    /// or the bytes of these cuts.
    constexpr void visit_key(std::uint32_t tensor, auto&& visit) const {
        visit(patterns_.pattern_of[tensor]);
        if (pattern_of(tensor).size() == 0)
            return;
        target_side const& target = problem_.targets[tensor];
        visit(targets_.spread(tensor));
        visit(static_cast<std::uint64_t>(target.dtype));
        for (std::size_t i = 0; i < target.pieces->size(); ++i) {
            key_id const source = target.pieces->source(i);
            visit(source == zero_source ? no_spread : source_kinds_[source]);
        }
    }

    constexpr void find_classes() {
        equal_classes classes =
            classify_by_key(problem_.targets.size(),
                            [&](std::uint32_t tensor, auto&& visit) { visit_key(tensor, visit); });
        result_.examples = std::move(classes.representative);
        result_.counts = vector<std::uint32_t>(result_.examples.size(), 0);
        result_.members.reserve(problem_.targets.size());
        for (std::uint32_t const group : classes.class_of)
            result_.members.push_back({group, result_.counts[group]++});
        for (std::uint32_t group = 0; group < result_.examples.size(); ++group)
            add_cuts(group);
    }

    constexpr void add_cuts(std::uint32_t group) {
        placed_pattern const& cuts = pattern_of(result_.examples[group]);
        for (std::uint32_t i = 0; i < cuts.size(); ++i) {
            candidate_senders const possible = lists_.of(result_.examples[group], cuts.place(i));
            class_cut cut{class_cut::no_load, group, i,
                          static_cast<std::uint32_t>(result_.replicas.size()),
                          wire_bytes(problem_, result_.examples[group], cuts.place(i).piece,
                                     cuts.geometry().elements(i))};
            for (box_sender const& sender : possible.senders)
                result_.replicas.push_back(sender.replica);
            if (possible.senders.empty() || possible.has_receiver ||
                is_passed_on(result_.examples[group], cuts.place(i))) {
                cut.shares.push_back({result_.counts[group], possible.senders.empty()
                                                                 ? std::uint16_t{0}
                                                                 : possible.senders[0].replica});
            } else {
                cut.load = load_of(result_.examples[group], cuts.place(i), possible);
                result_.loads[cut.load].bytes += cut.bytes * result_.counts[group];
            }
            result_.cuts.push_back(std::move(cut));
        }
    }

    /// Whether a receiver, not the source, sends that cut of a tensor.
    constexpr bool is_passed_on(std::uint32_t tensor, cut_place const& cut) const {
        auto const relayed = relays_ ? relays_->find(tensor, cut) : std::nullopt;
        return relayed && relayed->is_passed_on();
    }

    /// The load of the possible senders of a cut. If all holders of the box are possible senders,
    /// all cuts of the box have the same load.
    constexpr std::uint32_t load_of(std::uint32_t tensor, cut_place const& cut,
                                    candidate_senders const& possible) {
        if (!possible.leaves_node)
            return load_number(possible);
        key_id const source = problem_.targets[tensor].pieces->source(cut.piece);
        vector<std::uint32_t>& candidates = loads_of_all_[sources_.kinds().spread(source)];
        if (candidates.empty())
            candidates = vector<std::uint32_t>(sources_.of(source).size(), class_cut::no_load);
        if (candidates[cut.source_box] == class_cut::no_load)
            candidates[cut.source_box] = load_number(possible);
        return candidates[cut.source_box];
    }

    constexpr std::uint32_t load_number(candidate_senders const& possible) {
        vector<holder_t> senders;
        hasher digest;
        digest.add(std::uint64_t{possible.leaves_node});
        for (box_sender const& sender : possible.senders) {
            senders.push_back(sender.process);
            digest.add(std::uint64_t{sender.process});
        }
        std::uint32_t const number =
            load_numbers_.number(digest.value(), [&](std::uint32_t candidate) {
                return result_.loads[candidate].senders == senders &&
                       result_.loads[candidate].leaves_node == possible.leaves_node;
            });
        if (number == result_.loads.size())
            result_.loads.push_back({std::move(senders), 0, possible.leaves_node});
        return number;
    }

    any_relays* relays_;
    plan_problem const& problem_;
    source_indices const& sources_;
    shard_kinds const& targets_;
    pattern_plan const& patterns_;
    sender_lists lists_;
    sender_classes result_;
    class_table load_numbers_;
    vector<vector<std::uint32_t>> loads_of_all_; ///< by source spread, by box
    vector<std::uint64_t> source_kinds_;         ///< by source: its spread and its data type
};

} // namespace reshard::detail

#endif
