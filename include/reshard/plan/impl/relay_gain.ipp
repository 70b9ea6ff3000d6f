// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_IMPL_RELAY_GAIN_IPP
#define RESHARD_PLAN_IMPL_RELAY_GAIN_IPP

#include <reshard/core/vector.hpp>
#include <reshard/plan/between_nodes.hpp>

#include <reshard/plan/cost.hpp>
#include <reshard/plan/cut_list.hpp>
#include <reshard/plan/impl/balance_senders.ipp>
#include <reshard/plan/pattern_plan.hpp>
#include <reshard/plan/relays.hpp>
#include <reshard/plan/senders.hpp>
#include <reshard/plan/source_indices.hpp>
#include <reshard/plan/target_boxes.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace reshard::detail {

/// The time for which each link is busy with the bytes added so far.
///
/// Every process adds the same numbers in the same order, and a compiler cannot fuse a division
/// with an addition. So all processes get the same times.
class link_times {
public:
    link_times(network const& over, plan_processes const& processes)
        : over_(over), processes_(processes) {
        for (std::size_t kind = 0; kind < seconds_.size(); ++kind)
            seconds_[kind] = vector<double>(kind % 2 == 0 ? processes.count : processes.nodes(), 0);
    }

    void copy(holder_t process, double bytes) { add_memory(over_.copy, process, bytes, bytes); }

    /// \param ends the bytes that the process sends and receives within its node
    /// \param all  the bytes that count for the node, which counts each byte once
    void use_memory(holder_t process, double ends, double all) {
        add_memory(over_.memory, process, ends, all);
    }

    void leave(holder_t process, double bytes) { add(2, over_.link, process, bytes, bytes); }
    void enter(holder_t process, double bytes) { add(4, over_.link, process, bytes, bytes); }

    double longest() const {
        double most = 0;
        for (vector<double> const& kind : seconds_)
            for (double const seconds : kind)
                most = std::max(most, seconds);
        return most;
    }

private:
    void add_memory(network::speed const& speed, holder_t process, double ends, double all) {
        add(0, speed, process, ends, all);
    }

    /// \param kind 0: memory, 2: out, 4: in
    void add(std::size_t kind, network::speed const& speed, holder_t process, double of_rank,
             double of_node) {
        if (speed.rank_bytes_per_second > 0)
            seconds_[kind][process] += of_rank / speed.rank_bytes_per_second;
        if (speed.node_bytes_per_second > 0)
            seconds_[kind + 1][processes_.node_of(process)] +=
                of_node / speed.node_bytes_per_second;
    }

    network over_;
    plan_processes processes_;
    std::array<vector<double>, 6> seconds_; ///< memory, out, in: for ranks, then for nodes
};

/// Finds what relays would gain. It assumes that senders of the same elements send equal shares,
/// and that ranks of a node that want the same elements receive equal shares.
///
/// Refers to its arguments, which must outlive it.
class relay_gain_finder {
public:
    relay_gain_finder(plan_problem const& problem, plan_options const& options,
                      source_indices const& sources, shard_kinds const& targets,
                      network const& over)
        : problem_(problem),
          options_(options),
          sources_(sources),
          targets_(targets),
          over_(over),
          processes_(problem, options),
          direct_(over, processes_),
          relayed_(over, processes_) {}

    /// std::nullopt if there are more than `most_cuts` cuts: counting them would take longer than
    /// the plan of a rank.
    std::optional<relay_gain> find() {
        vector<double> tensors(problem_.targets.size(), 0); // by example
        for (std::uint32_t t = 0; t < tensors.size(); ++t)
            ++tensors[problem_.example_of(t)];
        boxes_ = vector<std::optional<target_boxes>>(targets_.representatives().size());
        for (std::uint32_t t = 0; t < tensors.size(); ++t)
            if (tensors[t] > 0 && moves(t))
                add_class(t, tensors[t]);
        if (cut_count_ > most_cuts)
            return std::nullopt;
        double last = 0;
        for (box_way const& way : ways_)
            last = std::max(last, seconds_behind(way));
        return relay_gain{direct_.longest(), relayed_.longest() + last};
    }

private:
    static constexpr std::size_t most_cuts = std::size_t{1} << 18;

    /// A box that is passed on.
    struct box_way {
        std::size_t processes = 0; ///< processes that get it from other nodes
        std::size_t nodes = 0;     ///< the number of their nodes
        double bytes = 0;          ///< bytes of the box, of all equal tensors
    };

    /// The processes of a node that want the same box.
    using wanting = std::span<holder_t const>;

    bool moves(std::uint32_t t) const {
        return !problem_.targets[t].added && first_source(problem_.targets[t]) != zero_source;
    }

    /// Adds the bytes of some equal tensors.
    void add_class(std::uint32_t t, double tensors) {
        target_side const& target = problem_.targets[t];
        std::optional<target_boxes>& boxes = boxes_[targets_.kind(targets_.spread(t))];
        if (!boxes)
            boxes.emplace(target.shards);
        cut_finder const finder(problem_, target, sources_);
        vector<bool> is_done; // by box
        auto const is_new = [&](std::uint32_t box) {
            if (box == target_boxes::none || (box < is_done.size() && is_done[box]))
                return false;
            is_done.resize(std::max<std::size_t>(is_done.size(), std::size_t{box} + 1));
            return true;
        };
        for (std::uint32_t shard = 0; shard < target.shards.size(); ++shard) {
            if (!target.shards.flat(shard) && !is_new(boxes->number(shard, 0)))
                continue;
            placed_pattern cuts(target.shards.ndim());
            finder.find_sources_of(shard, cuts);
            cut_count_ += cuts.size();
            if (cut_count_ > most_cuts)
                return;
            for (std::size_t first = 0, i = 0; i < cuts.size(); first = i) {
                std::uint8_t const part = cuts.place(first).target_part;
                while (i < cuts.size() && cuts.place(i).target_part == part)
                    ++i;
                std::uint32_t const box = boxes->number(shard, part);
                if (!is_new(box))
                    continue;
                is_done[box] = true;
                vector<holder_t> const processes = processes_of(target, *boxes, box);
                add_box(t, by_node(processes), cuts, {first, i}, tensors);
            }
        }
    }

    /// The processes that want a box, ascending.
    vector<holder_t> processes_of(target_side const& target, target_boxes const& boxes,
                                  std::uint32_t box) const {
        vector<holder_t> processes;
        boxes.for_each_holder(box, [&](shard_part at) {
            processes.push_back(options_.process_of(target.shards.holder(at.shard)));
        });
        std::sort(processes.begin(), processes.end());
        processes.erase(std::unique(processes.begin(), processes.end()), processes.end());
        return processes;
    }

    vector<wanting> by_node(vector<holder_t> const& processes) const {
        vector<wanting> nodes;
        for (auto first = processes.begin(); first != processes.end();) {
            auto const last = std::find_if(first, processes.end(), [&](holder_t process) {
                return processes_.node_of(process) != processes_.node_of(*first);
            });
            nodes.emplace_back(first, last);
            first = last;
        }
        return nodes;
    }

    /// Adds the bytes of a box for all processes that want it, first as if every node received it.
    void add_box(std::uint32_t t, vector<wanting> const& nodes, placed_pattern const& cuts,
                 std::pair<std::size_t, std::size_t> range, double tensors) {
        std::size_t const all = count_of(nodes);
        std::array<double, 2> bytes{}; // not relayed, and relayed
        box_way way;
        for (std::size_t i = range.first; i < range.second; ++i) {
            cut_place const& at = cuts.place(i);
            key_id const source = problem_.targets[t].pieces->source(at.piece);
            if (source == zero_source)
                continue;
            data_type const wire = wire_dtype(problem_, t, at.piece);
            bool const is_relayed = wire == problem_.targets[t].dtype && all > 1;
            double const each =
                tensors * static_cast<double>(byte_count(cuts.geometry().elements(i), wire));
            bytes[is_relayed] += each;
            box_way const far =
                add_senders(sources_.senders_of(source, at.source_box,
                                                [&](holder_t h) { return options_.process_of(h); }),
                            nodes, is_relayed, each);
            if (is_relayed && far.processes >= way.processes)
                way = far;
        }
        way.bytes = bytes[1];
        if (way.processes > 1)
            ways_.push_back(way);
        received_ += (bytes[0] + bytes[1]) * static_cast<double>(all);
        for (std::size_t is_relayed = 0; is_relayed < bytes.size(); ++is_relayed)
            if (bytes[is_relayed] > 0)
                for (wanting const& node : nodes)
                    add_far(node, nodes.size(), is_relayed == 1, bytes[is_relayed]);
    }

    static std::size_t count_of(vector<wanting> const& nodes) {
        std::size_t count = 0;
        for (wanting const& node : nodes)
            count += node.size();
        return count;
    }

    /// Adds the bytes that the senders of a cut send, and subtracts bytes that a node with senders
    /// does not receive. Returns the processes that receive the cut from other nodes.
    box_way add_senders(vector<holder_t> const& senders, vector<wanting> const& nodes,
                        bool is_relayed, double bytes) {
        box_way way{count_of(nodes), nodes.size(), 0};
        for (auto first = senders.begin(); first != senders.end();) {
            holder_t const number = processes_.node_of(*first);
            auto const last = std::find_if(first, senders.end(), [&](holder_t process) {
                return processes_.node_of(process) != number;
            });
            auto const node = std::ranges::lower_bound(
                nodes, number, {}, [&](wanting const& n) { return processes_.node_of(n.front()); });
            if (node != nodes.end() && processes_.node_of(node->front()) == number) {
                way.processes -= node->size();
                --way.nodes;
                add_far(*node, nodes.size(), is_relayed, -bytes);
                add_near({first, last}, *node, bytes);
            }
            first = last;
        }
        auto const far = static_cast<double>(way.processes);
        double const each = bytes / static_cast<double>(senders.size());
        for (holder_t const sender : senders) {
            direct_.leave(sender, each * far);
            relayed_.leave(sender, each * (is_relayed ? std::min(far, 1.0) : far));
        }
        return way;
    }

    /// The delay between the first and the last receiver of a box: each receiver waits for a chunk.
    double seconds_behind(box_way const& way) const {
        auto const chunks =
            static_cast<std::size_t>(received_ / static_cast<double>(chunk_bytes) /
                                     std::max<holder_t>(1, problem_.target_holders));
        bool const is_chain = branches_for(way.processes, chunks) == 1;
        auto const steps = [&](std::size_t count) { // two branches: a receiver sends twice
            return is_chain ? count - 1 : 2 * (static_cast<std::size_t>(std::bit_width(count)) - 1);
        };
        std::size_t const far = steps(way.nodes), all = std::max(steps(way.processes), far);
        double const bytes = std::min(way.bytes, static_cast<double>(chunk_bytes));
        return std::fma(static_cast<double>(far), seconds_of_one(over_.link, bytes),
                        static_cast<double>(all - far) * seconds_of_one(over_.memory, bytes));
    }

    /// The time of these bytes on an otherwise idle link.
    static double seconds_of_one(network::speed const& speed, double bytes) {
        double seconds = 0;
        for (double const rate : {speed.rank_bytes_per_second, speed.node_bytes_per_second})
            if (rate > 0)
                seconds = std::max(seconds, bytes / rate);
        return seconds + speed.latency_seconds;
    }

    /// Adds bytes that processes receive from a sender on their node.
    void add_near(wanting const& senders, wanting const& node, double bytes) {
        double const each = bytes / static_cast<double>(senders.size());
        for (link_times* const times : {&direct_, &relayed_})
            for (holder_t const process : node) {
                if (std::ranges::binary_search(senders, process)) {
                    times->copy(process, bytes);
                    continue;
                }
                times->use_memory(process, bytes, bytes);
                for (holder_t const sender : senders)
                    times->use_memory(sender, each, 0);
            }
    }

    /// Adds bytes that the processes of a node receive from other nodes; with relays, once, in
    /// stripes.
    void add_far(wanting const& node, std::size_t nodes, bool is_relayed, double bytes) {
        auto const size = static_cast<double>(node.size());
        for (holder_t const process : node) {
            direct_.enter(process, bytes);
            if (!is_relayed) {
                relayed_.enter(process, bytes);
                continue;
            }
            double const stripe = bytes / size;
            relayed_.enter(process, stripe);
            relayed_.use_memory(process, 2 * (bytes - stripe), bytes - stripe);
            relayed_.leave(process, stripe - stripe / static_cast<double>(nodes));
        }
    }

    plan_problem const& problem_;
    plan_options const& options_;
    source_indices const& sources_;
    shard_kinds const& targets_;
    network over_;
    plan_processes processes_;
    link_times direct_;
    link_times relayed_;
    vector<std::optional<target_boxes>> boxes_; ///< by kind of targets
    vector<box_way> ways_;
    double received_ = 0;       ///< bytes that all processes receive
    std::size_t cut_count_ = 0; ///< counted so far
};

} // namespace reshard::detail

#endif
