// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_IMPL_BALANCE_SENDERS_IPP
#define RESHARD_PLAN_IMPL_BALANCE_SENDERS_IPP

#include <reshard/core/flat_range.hpp>
#include <reshard/core/sorting.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/plan/load_balance.hpp>
#include <reshard/plan/pattern_plan.hpp>
#include <reshard/plan/sender_classes.hpp>
#include <reshard/plan/source_indices.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

namespace reshard::detail {

/// The most transfers of a plan whose senders are balanced. With more transfers, replicas take
/// turns. Turns are as good for regular layouts, and they do not need the other ranks' targets.
inline constexpr std::size_t most_balanced_transfers = std::size_t{1} << 17;

/// Whether a plan has senders to balance. The result is the same on every process.
inline bool can_balance(plan_problem const& problem, plan_options const& options,
                        source_indices const& sources) {
    if (options.shared_sources || !sources.have_replicas())
        return false;
    std::size_t transfers = 0;
    for (std::uint32_t t = 0; t < problem.targets.size(); ++t) {
        target_side const& target = problem.targets[problem.example_of(t)];
        for (std::size_t i = 0; target.shards && !target.added && i < target.pieces->size(); ++i)
            if (key_id const source = target.pieces->source(i); source != zero_source)
                transfers += std::max(target.shards.size(), sources.of(source).size());
    }
    return transfers <= most_balanced_transfers;
}

/// How much the loads of the busiest sender and the busiest link may exceed the least possible
/// loads: by 4.8 % and 2.5 %. With these limits, few cuts have to be divided.
inline constexpr index_t sender_thousandths = 48;
inline constexpr index_t link_thousandths = 25;

/// The number of a plan's processes, in all and on each node.
struct plan_processes {
    holder_t count = 0;
    holder_t per_node = 1;

    plan_processes(plan_problem const& problem, plan_options const& options)
        : count(std::max(problem.source_holders, problem.target_holders)),
          per_node(std::max<holder_t>(options.processes_per_node, 1)) {
        if (options.processes != 0)
            count = std::min(options.processes, count);
    }

    holder_t node_of(holder_t process) const { return process / per_node; }
    holder_t nodes() const { return node_count(count, per_node); }
};

/// Gives each cut to the senders with the smallest load so far. That is usually good enough.
class cut_dealer {
public:
    cut_dealer(sender_classes& classes, plan_processes const& processes)
        : all_(classes),
          processes_(processes),
          sent_(processes.count, 0),
          left_(processes.nodes(), 0) {}

    /// Chooses the senders of all cuts.
    ///
    /// \return false if the result is not good enough; then no sender is chosen
    bool deal() {
        for (std::uint32_t const i : all_.largest_first())
            deal(all_.cuts[i]);
        if (busiest_sender(sent_, all_.loads).is_within(sender_thousandths) &&
            (processes_.per_node == 1 ||
             busiest_link(left_, all_.loads, processes_.per_node).is_within(link_thousandths)))
            return true;
        for (class_cut& cut : all_.cuts)
            if (cut.load != class_cut::no_load)
                cut.shares.clear();
        return false;
    }

private:
    void deal(class_cut& cut) {
        shared_load const& load = all_.loads[cut.load];
        vector<std::size_t> const bounds = node_bounds(load, processes_.per_node);
        vector<index_t> levels;
        for (std::size_t i = 0; i + 1 < bounds.size(); ++i)
            levels.push_back(left_[processes_.node_of(load.senders[bounds[i]])]);
        vector<index_t> const counts = dealt(levels, cut.bytes, all_.counts[cut.group]);
        for (std::size_t i = 0; i < counts.size(); ++i)
            if (counts[i] > 0)
                deal(cut, bounds[i], bounds[i + 1], counts[i]);
    }

    /// Divides the next `count` tensors of a cut's class among a range of the senders.
    void deal(class_cut& cut, std::size_t first, std::size_t last, index_t count) {
        shared_load const& load = all_.loads[cut.load];
        vector<index_t> levels;
        for (std::size_t i = first; i < last; ++i)
            levels.push_back(sent_[load.senders[i]]);
        vector<index_t> const counts = dealt(levels, cut.bytes, count);
        for (std::size_t i = first; i < last; ++i) {
            index_t const requested = counts[i - first];
            if (requested == 0)
                continue;
            sent_[load.senders[i]] += requested * cut.bytes;
            if (load.leaves_node)
                left_[processes_.node_of(load.senders[i])] += requested * cut.bytes;
            std::uint32_t const before = cut.shares.empty() ? 0 : cut.shares.back().end;
            cut.shares.push_back(
                {before + static_cast<std::uint32_t>(requested), all_.replicas[cut.first + i]});
        }
    }

    sender_classes& all_;
    plan_processes processes_;
    vector<index_t> sent_; ///< by process
    vector<index_t> left_; ///< by node
};

/// A range of the elements of a cut of one tensor, in row-major order, and the sender of the range.
struct given_range {
    std::uint32_t group = 0;
    std::uint32_t number = 0; ///< index of the tensor in its class
    std::uint32_t cut = 0;
    std::uint16_t replica = 0;
    flat_range range;

    std::pair<std::uint32_t, std::uint32_t> tensor() const { return {group, number}; }
};

/// Gives senders their shares by `load_balance`. Divides a cut that does not fit a share.
class cut_divider {
public:
    cut_divider(sender_classes& classes, plan_processes const& processes,
                pattern_plan const& patterns)
        : all_(classes), processes_(processes), patterns_(patterns) {
        share_out(load_balance(classes.loads, processes.count, processes.per_node));
    }

    /// Chooses the senders of all cuts.
    ///
    /// \return ranges of cuts that are divided
    vector<given_range> divide() && {
        for (std::uint32_t const i : all_.largest_first())
            choose(all_.cuts[i]);
        return std::move(ranges_);
    }

private:
    /// Sets the bytes of each load that each sender has to send, and how much more it may send.
    void share_out(load_balance const& balance) {
        auto const spare = [](vector<index_t> const& sent, index_t thousandths) {
            index_t const most = *std::max_element(sent.begin(), sent.end());
            vector<index_t> remaining;
            for (index_t const bytes : sent)
                remaining.push_back(most + most * thousandths / 1000 - bytes);
            return remaining;
        };
        spare_ = spare(balance.sent(), sender_thousandths);
        spare_link_ = spare(balance.left(), link_thousandths);
        for (std::size_t i = 0; i < all_.loads.size(); ++i)
            rest_.push_back(balance.shares(i));
    }

    /// The number of bytes of a load that a sender may still get.
    index_t room(std::uint32_t load, std::size_t sender) const {
        holder_t const process = all_.loads[load].senders[sender];
        index_t spare = spare_[process];
        if (all_.loads[load].leaves_node)
            spare = std::min(spare, spare_link_[processes_.node_of(process)]);
        return std::max<index_t>(rest_[load][sender], 0) + std::max<index_t>(spare, 0);
    }

    void send(std::uint32_t load, std::size_t sender, index_t bytes) {
        index_t& remainder = rest_[load][sender];
        index_t const more = std::max<index_t>(bytes - std::max<index_t>(remainder, 0), 0);
        remainder -= bytes;
        holder_t const process = all_.loads[load].senders[sender];
        spare_[process] -= more;
        if (all_.loads[load].leaves_node)
            spare_link_[processes_.node_of(process)] -= more;
    }

    /// The sender with the most bytes left to send. If `bytes` exceed its room, another sender that
    /// has room, if there is one.
    std::size_t next_sender(std::uint32_t load, index_t bytes) const {
        vector<index_t> const& remaining = rest_[load];
        auto const best = static_cast<std::size_t>(
            std::max_element(remaining.begin(), remaining.end()) - remaining.begin());
        if (bytes <= remaining[best] || bytes <= room(load, best))
            return best;
        for (std::size_t i = 0; i < remaining.size(); ++i)
            if (bytes <= room(load, i))
                return i;
        return best;
    }

    /// Divides the tensors of a class among the possible senders of this cut.
    void choose(class_cut& cut) {
        for (std::uint32_t done = 0; done < all_.counts[cut.group];) {
            std::size_t const sender = next_sender(cut.load, cut.bytes);
            std::uint32_t count = all_.counts[cut.group] - done;
            if (cut.bytes > room(cut.load, sender) && can_be_cut(cut)) {
                cut_up(cut, done);
                count = 1;
            } else {
                index_t const fit = rest_[cut.load][sender] / std::max<index_t>(cut.bytes, 1);
                if (fit < index_t{count})
                    count = static_cast<std::uint32_t>(std::max<index_t>(fit, 1));
                send(cut.load, sender, cut.bytes * count);
            }
            done += count;
            cut.shares.push_back({done, all_.replicas[cut.first + sender]});
        }
    }

    /// Divides the elements of a cut of one tensor of a class into ranges.
    void cut_up(class_cut const& cut, std::uint32_t number) {
        index_t const elements = element_count(geometry_of(cut).extent);
        index_t const width = cut.bytes / elements;
        index_t const grain = grain_of(geometry_of(cut));
        for (index_t done = 0; done < elements;) {
            index_t take = elements - done;
            std::size_t const sender = next_sender(cut.load, take * width);
            if (take * width > room(cut.load, sender))
                take = std::min(
                    take, std::max<index_t>(rest_[cut.load][sender] / width / grain, 1) * grain);
            send(cut.load, sender, take * width);
            ranges_.push_back({cut.group,
                               number,
                               cut.number,
                               all_.replicas[cut.first + sender],
                               {done, done + take}});
            done += take;
        }
    }

    reshard::detail::cut geometry_of(class_cut const& cut) const {
        return patterns_.patterns[patterns_.pattern_of[all_.examples[cut.group]]]
            .geometry()[cut.number];
    }

    /// Cuts of reshaped or block-cyclic tensors, or of elements smaller than a byte, are not
    /// divided.
    bool can_be_cut(class_cut const& cut) const {
        reshard::detail::cut const geometry = geometry_of(cut);
        index_t const elements = element_count(geometry.extent);
        return elements > 1 && cut.bytes % elements == 0 && !geometry.joins.any() &&
               !geometry.repeats.any();
    }

    /// A cut is divided at multiples of this number of elements, in row-major order: between whole
    /// rows, if a row is at most 1/64 of the cut.
    static index_t grain_of(reshard::detail::cut const& geometry) {
        index_t const most = element_count(geometry.extent) / 64;
        index_t grain = 1;
        for (std::size_t axis = geometry.extent.size();
             axis-- > 0 && grain * geometry.extent[axis] <= most;)
            grain *= geometry.extent[axis];
        return grain;
    }

    sender_classes& all_;
    plan_processes processes_;
    pattern_plan const& patterns_;
    vector<vector<index_t>> rest_; ///< by load, by sender: the bytes that it still has to send
    vector<index_t> spare_;        ///< by process: the bytes that it may send in addition
    vector<index_t> spare_link_;   ///< by node
    vector<given_range> ranges_;
};

/// Gives a tensor a separate pattern if one of its cuts was divided.
class lone_patterns {
public:
    lone_patterns(pattern_plan& patterns, vector<sender_table::member> const& members,
                  vector<given_range> ranges)
        : patterns_(patterns), members_(members), ranges_(std::move(ranges)) {}

    void add() && {
        sort_by(ranges_, [](given_range const& a, given_range const& b) {
            return std::tuple(a.tensor(), a.cut, a.range) < std::tuple(b.tensor(), b.cut, b.range);
        });
        for (std::uint32_t tensor = 0; !ranges_.empty() && tensor < members_.size(); ++tensor) {
            std::pair const wanted{members_[tensor].group, members_[tensor].number};
            auto const first = std::lower_bound(
                ranges_.begin(), ranges_.end(), wanted,
                [](given_range const& range, auto const& key) { return range.tensor() < key; });
            if (first != ranges_.end() && first->tensor() == wanted)
                add_pattern(tensor, first);
        }
    }

private:
    void add_pattern(std::uint32_t tensor, vector<given_range>::const_iterator range) {
        placed_pattern const cuts = patterns_.patterns[patterns_.pattern_of[tensor]];
        std::pair const pair = range->tensor();
        placed_pattern finer(cuts.geometry().ndim());
        for (std::uint32_t i = 0; i < cuts.size(); ++i) {
            placed_cut cut = cuts[i];
            cut.at.replica = patterns_.senders.replica(tensor, i);
            bool is_cut = false;
            for (; range != ranges_.end() && range->tensor() == pair && range->cut == i; ++range) {
                cut.at.replica = range->replica;
                for (box const& region : boxes_of(range->range, cut.geometry.extent)) {
                    cut.at.is_rest = std::exchange(is_cut, true);
                    finer.push_back({part_of(cut.geometry, region), cut.at});
                }
            }
            if (!is_cut)
                finer.push_back(cut);
        }
        finer.sort();
        patterns_.senders.set_alone(tensor);
        patterns_.pattern_of[tensor] = static_cast<std::uint32_t>(patterns_.patterns.size());
        patterns_.patterns.push_back(std::move(finer));
    }

    /// \pre the cut has no joins, and `region` is relative to the cut's first element
    static reshard::detail::cut part_of(reshard::detail::cut cut, box const& region) {
        cut.extent = region.shape;
        for (std::size_t axis = 0; axis < region.ndim(); ++axis) {
            cut.target_offset[axis] += region.offset[axis];
            cut.source_offset[cut.order[axis]] += region.offset[axis];
        }
        return cut;
    }

    pattern_plan& patterns_;
    vector<sender_table::member> const& members_; ///< by tensor
    vector<given_range> ranges_;
};

/// Writes the senders into `patterns`, for each class of tensors with several possible senders.
inline void write_senders(sender_classes const& classes, pattern_plan& patterns) {
    vector<std::uint8_t> has_choice(classes.examples.size(), 0);
    for (class_cut const& cut : classes.cuts)
        if (cut.load != class_cut::no_load && classes.loads[cut.load].senders.size() > 1)
            has_choice[cut.group] = 1;
    vector<sender_table::member> members = classes.members;
    for (sender_table::member& member : members)
        if (has_choice[member.group] == 0)
            member.group = sender_table::none;
    patterns.senders = sender_table(std::move(members));
    std::size_t next = 0;
    for (std::uint32_t group = 0; group < classes.examples.size(); ++group) {
        patterns.senders.add_class();
        for (; next < classes.cuts.size() && classes.cuts[next].group == group; ++next)
            patterns.senders.add_cut(classes.cuts[next].shares);
    }
}

/// Chooses the sender of each cut, and writes it into the patterns of all transfers.
///
/// Whole cuts go to the senders with the smallest loads. If that makes the busiest sender or node
/// link too busy, a fractional division decides how much each sender sends, and cuts that are too
/// large for one sender are divided.
inline void balance_senders(plan_problem const& problem, plan_options const& options,
                            source_indices const& sources, shard_kinds const& targets,
                            pattern_plan& patterns) {
    sender_classes classes =
        sender_class_finder(problem, options, sources, targets, patterns).find();
    if (std::none_of(classes.loads.begin(), classes.loads.end(),
                     [](shared_load const& load) { return load.senders.size() > 1; }))
        return;
    plan_processes const processes(problem, options);
    vector<given_range> ranges;
    if (!cut_dealer(classes, processes).deal())
        ranges = cut_divider(classes, processes, patterns).divide();
    write_senders(classes, patterns);
    lone_patterns(patterns, classes.members, std::move(ranges)).add();
}

} // namespace reshard::detail

#endif
