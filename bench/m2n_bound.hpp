// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_M2N_BOUND_HPP
#define RESHARD_BENCH_M2N_BOUND_HPP

#include "m2n_system.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

/// \file
/// The least time in which the links of a system can carry all bytes, computed from the description
/// of the system alone, without a plan.

namespace bench {

/// The bytes that ranks get, and the least bytes that must enter from outside.
struct m2n_wanted {
    double all = 0;
    double entering = 0;
};

/// The rates of a rank or node that gets bytes, in bytes per second. Each end of a byte that is
/// passed on inside uses `memory`.
struct m2n_rates {
    double link = 0;
    double memory = 0;
};

/// The least seconds in which all wanted bytes arrive, if some enter from outside and the others
/// are passed on inside. Found by bisection.
///
/// \param ends the number of ends of a passed-on byte that share `rates.memory`: 1 for a rank, 2
///             for a node
inline double least_seconds(m2n_wanted const& wanted, m2n_rates const& rates, double ends) {
    auto const is_enough = [&](double seconds) {
        double const entering = std::min(wanted.all, seconds * rates.link);
        return entering >= wanted.entering &&
               ends * (wanted.all - entering) <= seconds * rates.memory;
    };
    double low = 0, high = wanted.all / rates.link;
    for (int i = 0; i < 60; ++i) {
        double const middle = (low + high) / 2;
        (is_enough(middle) ? high : low) = middle;
    }
    return high;
}

/// The bytes that leave trainers, by the group of trainers that has them.
class m2n_senders {
public:
    m2n_senders(m2n_system const& system, std::vector<m2n_tensor> const& tensors)
        : system_(system) {
        for (m2n_tensor const& tensor : tensors) {
            bool const is_cut = tensor.axis && !tensor.expert;
            index_t const parts = is_cut ? system.tensor : 1;
            for (index_t part = 0; part < parts; ++part)
                bytes_[senders(tensor, is_cut ? part : any)] +=
                    tensor.bytes() / static_cast<double>(parts);
        }
    }

    /// The most bytes that some rank must send: the bytes that only the ranks of a group have,
    /// divided by the number of these ranks. The groups are the holders of each tensor, and the
    /// ranks of each stage.
    double most_of_a_rank() const {
        double most = 0;
        for (auto const& [group, unused] : bytes_)
            most = std::max(most, only_in(group) / static_cast<double>(group.size()));
        for (index_t stage = 0; stage < system_.stages; ++stage) {
            auto const group = senders({{}, {}, {}, stage, {}}, any);
            most = std::max(most, only_in(group) / static_cast<double>(group.size()));
        }
        return most;
    }

    /// The bytes that only the ranks of a node have.
    double only_on_node(holder_t node) const {
        std::vector<holder_t> group(system_.ranks_per_node);
        std::iota(group.begin(), group.end(), node * system_.ranks_per_node);
        return only_in(group);
    }

private:
    static constexpr index_t any = -1;

    std::vector<holder_t> senders(m2n_tensor const& tensor, index_t part) const {
        std::vector<holder_t> ranks;
        for (index_t m = 0; m < system_.replicas(); ++m)
            for (index_t t = 0; t < system_.tensor; ++t)
                if ((!tensor.expert || m % system_.expert == *tensor.expert) &&
                    (part == any || part == t))
                    ranks.push_back(static_cast<holder_t>(
                        (tensor.stage * system_.replicas() + m) * system_.tensor + t));
        return ranks;
    }

    double only_in(std::vector<holder_t> const& group) const {
        double sum = 0;
        for (auto const& [ranks, bytes] : bytes_)
            if (std::includes(group.begin(), group.end(), ranks.begin(), ranks.end()))
                sum += bytes;
        return sum;
    }

    m2n_system const& system_;
    std::map<std::vector<holder_t>, double> bytes_;
};

/// A bound, and the link that it limits.
struct m2n_bound {
    double seconds = 0;
    std::string_view of;
    double server_bytes = 0; ///< the bytes that each server gets
};

/// \pre no node has both trainers and servers, and each node of servers has whole replicas
inline m2n_bound bound_of(m2n_system const& system, std::vector<m2n_tensor> const& tensors) {
    reshard::network const over = network_of(system);
    auto const node_ranks = static_cast<double>(std::min(system.ranks, system.ranks_per_node));
    m2n_rates const rank{over.link.rank_bytes_per_second, over.memory.rank_bytes_per_second};
    m2n_rates const node{std::min(node_ranks * rank.link, over.link.node_bytes_per_second),
                         node_ranks * rank.memory};
    double once = 0;
    m2n_bound bound;
    for (m2n_tensor const& tensor : tensors) {
        once += tensor.bytes();
        bound.server_bytes +=
            tensor.bytes() / static_cast<double>(tensor.axis ? system.server_tensor : 1);
    }
    auto const keep = [&](double seconds, std::string_view of) {
        if (seconds > bound.seconds) {
            bound.seconds = seconds;
            bound.of = of;
        }
    };
    m2n_senders const senders(system, tensors);
    keep(senders.most_of_a_rank() / rank.link, "out of a rank");
    for (holder_t i = 0; i * system.ranks_per_node < system.ranks; ++i)
        keep(senders.only_on_node(i) / node.link, "out of a node");
    keep(least_seconds({bound.server_bytes, 0}, rank, 1), "into a rank");
    keep(least_seconds({node_ranks * bound.server_bytes, once}, node, 2), "into a node");
    return bound;
}

} // namespace bench

#endif
