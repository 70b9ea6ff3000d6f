// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_LOAD_BALANCE_HPP
#define RESHARD_PLAN_LOAD_BALANCE_HPP

#include <reshard/core/index_vector.hpp>
#include <reshard/core/sorting.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/shard_table.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

/// \file
/// Divides bytes among the processes that could send them, so that no process sends much more than
/// necessary.

namespace reshard::detail {

/// Bytes that any of several processes could send.
struct shared_load {
    vector<holder_t> senders; ///< ascending, distinct, and not empty
    index_t bytes = 0;
    bool leaves_node = false;
};

/// The load of the busiest sender, and a lower bound for it in any division.
///
/// \par Units bytes
struct busiest_load {
    index_t bytes = 0;
    index_t bound = 0; ///< no division has fewer `bytes`

    /// Whether no division is better by more than `thousandths` thousandths.
    constexpr bool is_within(index_t thousandths) const {
        return bytes - bound <= bound * thousandths / 1000;
    }

    constexpr bool operator==(busiest_load const&) const = default;
};

/// Pours `bytes` into vessels that already contain `levels`, so that the lowest vessels rise to a
/// common level. Returns the bytes that each vessel gets.
///
/// \pre `levels` is not empty
constexpr vector<index_t> poured(vector<index_t> const& levels, index_t bytes) {
    vector<std::uint32_t> order = ascending_numbers(levels.size());
    sort_numbers(order, [&](std::uint32_t a, std::uint32_t b) { return levels[a] < levels[b]; });
    std::size_t reached = 1;
    index_t sum = levels[order[0]] + bytes;
    while (reached < order.size() && sum / static_cast<index_t>(reached) > levels[order[reached]])
        sum += levels[order[reached++]];
    auto const count = static_cast<index_t>(reached);
    vector<index_t> result(levels.size(), 0);
    for (std::size_t i = 0; i < reached; ++i)
        result[order[i]] = sum / count + (static_cast<index_t>(i) < sum % count) - levels[order[i]];
    return result;
}

/// The same for `count` indivisible items of `bytes` each. Returns the number of items that each
/// vessel gets.
///
/// \pre `levels` is not empty
constexpr vector<index_t> dealt(vector<index_t> levels, index_t bytes, index_t count) {
    if (levels.size() == 1)
        return {count};
    vector<index_t> counts = poured(levels, bytes * count);
    index_t remainder = count;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        counts[i] = bytes == 0 ? 0 : counts[i] / bytes;
        remainder -= counts[i];
        levels[i] += counts[i] * bytes;
    }
    for (; remainder > 0; --remainder) {
        auto const lowest = static_cast<std::size_t>(
            std::min_element(levels.begin(), levels.end()) - levels.begin());
        ++counts[lowest];
        levels[lowest] += bytes;
    }
    return counts;
}

/// The number of nodes of `processes` processes, with `per_node` processes on each node. `per_node`
/// may exceed `processes`.
///
/// \pre `per_node > 0`
constexpr holder_t node_count(holder_t processes, holder_t per_node) {
    return processes / per_node + (processes % per_node != 0);
}

/// The index of each node's first sender, and the end of the last node's senders. All senders are
/// one group if the load does not leave the node, or if each process is a node.
constexpr vector<std::size_t> node_bounds(shared_load const& load, holder_t per_node) {
    vector<std::size_t> bounds{0};
    for (std::size_t i = 1; load.leaves_node && per_node > 1 && i < load.senders.size(); ++i)
        if (load.senders[i] / per_node != load.senders[i - 1] / per_node)
            bounds.push_back(i);
    bounds.push_back(load.senders.size());
    return bounds;
}

/// The load of the busiest vessel, and a bound from the loads that only the fullest vessels can
/// take.
///
/// \param counts whether a load goes into a vessel
/// \param vessel_of the vessel of a sender
constexpr busiest_load busiest_of(vector<index_t> const& levels, vector<shared_load> const& loads,
                                  auto&& counts, auto&& vessel_of) {
    vector<holder_t> order;
    for (holder_t i = 0; i < levels.size(); ++i)
        if (levels[i] > 0)
            order.push_back(i);
    sort_numbers(order, [&](holder_t a, holder_t b) { return levels[b] < levels[a]; });
    vector<std::size_t> positions(levels.size(), order.size()); // empty vessels come last
    for (std::size_t i = 0; i < order.size(); ++i)
        positions[order[i]] = i;
    vector<index_t> confined(order.size() + 1, 0);
    for (shared_load const& load : loads) {
        std::size_t last = 0;
        for (holder_t const sender : load.senders)
            last = std::max(last, positions[vessel_of(sender)]);
        if (counts(load))
            confined[last] += load.bytes;
    }
    busiest_load result{order.empty() ? 0 : levels[order[0]], 0};
    index_t sum = 0, vessels = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        ++vessels;
        sum += confined[i];
        result.bound = std::max(result.bound, (sum + vessels - 1) / vessels);
    }
    return result;
}

constexpr busiest_load busiest_sender(vector<index_t> const& sent,
                                      vector<shared_load> const& loads) {
    return busiest_of(
        sent, loads, [](shared_load const&) { return true; },
        [](holder_t process) { return process; });
}

constexpr busiest_load busiest_link(vector<index_t> const& left, vector<shared_load> const& loads,
                                    holder_t per_node) {
    return busiest_of(
        left, loads, [](shared_load const& load) { return load.leaves_node; },
        [&](holder_t process) { return process / per_node; });
}

/// Divides loads among their senders: minimises the load of the busiest node link, then of the
/// busiest sender.
///
/// Each load is removed and poured in again, until no division could be better. If replicas are
/// nested, as in meshes, one pass is enough. All numbers are integers, so all processes get the
/// same result.
class load_balance {
public:
    /// \param per_node process `p` is on node `p / per_node`; if 0, each process is a node
    /// \pre   every sender is below `processes`
    constexpr load_balance(vector<shared_load> loads, holder_t processes, holder_t per_node)
        : loads_(std::move(loads)),
          per_node_(std::max<holder_t>(per_node, 1)),
          sent_(processes, 0),
          left_(node_count(processes, per_node_), 0),
          prices_(left_.size(), 0) {
        for (shared_load const& load : loads_)
            shares_.push_back(vector<index_t>(load.senders.size(), 0));
        if (per_node_ > 1)
            level_links();
        level_senders();
    }

    /// The bytes that each sender of load `i` sends.
    constexpr vector<index_t> const& shares(std::size_t i) const { return shares_[i]; }
    /// The bytes that each process sends.
    constexpr vector<index_t> const& sent() const { return sent_; }
    /// The bytes that leave each node.
    constexpr vector<index_t> const& left() const { return left_; }
    constexpr holder_t node_of(holder_t process) const { return process / per_node_; }

    constexpr busiest_load sender() const { return busiest_sender(sent_, loads_); }
    constexpr busiest_load link() const { return busiest_link(left_, loads_, per_node_); }

private:
    using share_lists = vector<vector<index_t>>;

    /// The number of passes over all loads. Many loads get fewer passes, so that the last
    /// thousandth does not cost too much time.
    constexpr int most_sweeps() const {
        std::size_t edges = 1;
        for (shared_load const& load : loads_)
            edges += load.senders.size();
        return static_cast<int>(
            std::clamp<std::size_t>((std::size_t{1} << 22) / edges, 4, per_node_ > 1 ? 256 : 64));
    }

    /// Passes over the loads, in alternating order.
    constexpr void sweep(int number, auto&& pour) {
        for (std::size_t k = 0; k < loads_.size(); ++k)
            pour(number % 2 == 0 ? k : loads_.size() - 1 - k);
    }

    constexpr void level_links() {
        for (int i = 0, last = most_sweeps(); i < last && !(i > 0 && link().is_within(1)); ++i)
            sweep(i, [&](std::size_t load) { pour_into_nodes(load); });
        index_t const busiest = link().bytes;
        highest_link_ = busiest + busiest / 100; // leaves room to level the senders
    }

    /// Links with too much load become expensive, and links with less load become cheaper again. A
    /// sender on an expensive link counts as if it had a larger load.
    ///
    /// \par Source dual ascent for the smallest sum of squares under limits of links
    constexpr void level_senders() {
        std::optional<std::pair<index_t, share_lists>> best;
        if (per_node_ > 1)
            best = {busiest(), shares_};
        for (int i = 0, last = most_sweeps(); i < last; ++i) {
            sweep(i, [&](std::size_t load) { pour_into_senders(load); });
            if (link_has_room() && (!best || busiest() < best->first)) {
                best = {busiest(), shares_};
                if (sender().is_within(1))
                    return;
            }
            for (std::size_t node = 0; node < left_.size(); ++node)
                prices_[node] =
                    std::max<index_t>(0, prices_[node] + (left_[node] - highest_link_) /
                                                             static_cast<index_t>(per_node_));
        }
        for (std::size_t i = 0; i < loads_.size(); ++i)
            for (std::size_t which = 0; which < shares_[i].size(); ++which)
                set_share(i, which, best->second[i][which]);
    }

    constexpr index_t busiest() const { return *std::max_element(sent_.begin(), sent_.end()); }

    constexpr bool link_has_room() const {
        return *std::max_element(left_.begin(), left_.end()) <= highest_link_ + highest_link_ / 100;
    }

    constexpr void set_share(std::size_t i, std::size_t which, index_t bytes) {
        holder_t const process = loads_[i].senders[which];
        index_t const more = bytes - std::exchange(shares_[i][which], bytes);
        sent_[process] += more;
        if (loads_[i].leaves_node)
            left_[node_of(process)] += more;
    }

    constexpr void take_out(std::size_t i) {
        for (std::size_t which = 0; which < shares_[i].size(); ++which)
            set_share(i, which, 0);
    }

    /// The level of a sender, with respect to a load.
    constexpr index_t level_of(std::size_t i, std::size_t which) const {
        holder_t const process = loads_[i].senders[which];
        return sent_[process] + (loads_[i].leaves_node ? prices_[node_of(process)] : 0);
    }

    /// Pours a load into the senders in `[first, last)`.
    constexpr void pour(std::size_t i, std::size_t first, std::size_t last, index_t bytes) {
        vector<index_t> levels;
        for (std::size_t which = first; which < last; ++which)
            levels.push_back(level_of(i, which));
        vector<index_t> const shares = poured(levels, bytes);
        for (std::size_t which = first; which < last; ++which)
            set_share(i, which, shares[which - first]);
    }

    constexpr void pour_into_nodes(std::size_t i) {
        take_out(i);
        vector<std::size_t> const bounds = node_bounds(loads_[i], per_node_);
        vector<index_t> levels;
        for (std::size_t k = 0; k + 1 < bounds.size(); ++k)
            levels.push_back(left_[node_of(loads_[i].senders[bounds[k]])]);
        vector<index_t> const shares = poured(levels, loads_[i].bytes);
        for (std::size_t k = 0; k < shares.size(); ++k)
            pour(i, bounds[k], bounds[k + 1], shares[k]);
    }

    constexpr void pour_into_senders(std::size_t i) {
        take_out(i);
        pour(i, 0, loads_[i].senders.size(), loads_[i].bytes);
    }

    vector<shared_load> loads_;
    holder_t per_node_;
    share_lists shares_;     ///< by load, by sender
    vector<index_t> sent_;   ///< by process
    vector<index_t> left_;   ///< by node
    vector<index_t> prices_; ///< by node: the price of its link
    index_t highest_link_ = std::numeric_limits<index_t>::max() / 2;
};

} // namespace reshard::detail

#endif
