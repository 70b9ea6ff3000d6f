// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_RELAYED_WINDOWS_IPP
#define RESHARD_STORAGE_IMPL_RELAYED_WINDOWS_IPP

#include <reshard/storage/shared_reads.hpp>

#include <reshard/core/digest.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/storage/window_slots.hpp>

#include <utility>

namespace reshard::detail {

RESHARD_DECL group_nodes nodes_of(mpi_group const& world) {
    group_nodes nodes{agreed_node_of(world), 0, {}, 0};
    std::map<int, std::uint32_t> numbers; // by the first rank of a node
    auto const firsts = gather_values(world, nodes.own.numbers.front());
    for (int rank = 0; rank < world.size(); ++rank) {
        int const first = firsts[static_cast<std::size_t>(rank)];
        auto const number = static_cast<std::uint32_t>(nodes.ranks.size());
        auto const [position, is_new] = numbers.emplace(first, number);
        if (is_new)
            nodes.ranks.emplace_back();
        nodes.ranks[position->second].push_back(rank);
    }
    nodes.number = numbers.at(nodes.own.numbers.front());
    nodes.least_ranks = std::ranges::min(nodes.ranks, {}, &vector<int>::size).size();
    return nodes;
}

/// A value, and the numbers of the nodes that have it, ascending.
template <class T>
struct value_of_nodes {
    T value;
    vector<std::uint32_t> nodes;
};

/// The different values of all nodes. Nodes with replicas have equal values; only the first of them
/// sends its value.
///
/// \param own_value the value of this rank's node, the same on all its ranks
/// \par Collective every rank of the group, in the same order
template <class T>
vector<value_of_nodes<T>> gather_from_nodes(mpi_group const& world, group_nodes const& nodes,
                                            T own_value) {
    auto const digests = gather_values(world, digest_of_all(own_value));
    std::map<std::uint64_t, std::size_t> numbers;
    vector<value_of_nodes<T>> all_nodes;
    for (std::uint32_t node = 0; node < nodes.ranks.size(); ++node) {
        auto const first = static_cast<std::size_t>(nodes.ranks[node].front());
        auto const [number, is_new] = numbers.emplace(digests[first], all_nodes.size());
        if (is_new)
            all_nodes.push_back({});
        all_nodes[number->second].nodes.push_back(node);
    }
    bool const tells = std::ranges::any_of(all_nodes, [&](value_of_nodes<T> const& value) {
        return nodes.teller(value.nodes) == world.rank();
    });
    auto values = gather_values(world, tells ? std::move(own_value) : T());
    for (value_of_nodes<T>& value : all_nodes)
        value.value = std::move(values[static_cast<std::size_t>(nodes.teller(value.nodes))]);
    return all_nodes;
}

/// A shard from which a node needs windows, and a digest of these windows.
struct needed_shard {
    shard_place position;
    std::uint64_t digest = 0;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.position.tensor, self.position.shard, self.digest);
    }

    constexpr auto operator<=>(needed_shard const&) const = default;
};

using shard_windows = std::map<needed_shard, vector<window_run>>;

/// \param windows in the order of files
inline shard_windows windows_by_shard(vector<window_run> const& windows) {
    shard_windows all_windows;
    for (auto first = windows.begin(), last = first; first != windows.end(); first = last) {
        last = std::find_if(first, windows.end(),
                            [&](window_run const& run) { return run.position != first->position; });
        vector<window_run> some(first, last);
        std::uint64_t const digest = digest_of_all(some);
        all_windows.emplace(needed_shard{first->position, digest}, std::move(some));
    }
    return all_windows;
}

using shard_of_nodes = value_of_nodes<needed_shard>;

/// The shards from which several nodes need windows. A shard has an entry for each different list
/// of windows.
///
/// \param nodes the shards that each node needs
inline vector<shard_of_nodes>
shards_of_several(vector<value_of_nodes<vector<needed_shard>>> const& nodes) {
    vector<std::pair<needed_shard, std::uint32_t>> sorted;
    for (auto const& list : nodes)
        for (needed_shard const& shard : list.value)
            for (std::uint32_t const node : list.nodes)
                sorted.emplace_back(shard, node);
    std::ranges::sort(sorted);
    vector<shard_of_nodes> several;
    for (std::size_t first = 0, last = 0; first < sorted.size(); first = last) {
        std::size_t const before = several.size();
        for (; last < sorted.size() && sorted[last].first.position == sorted[first].first.position;
             ++last) {
            if (several.size() == before || several.back().value != sorted[last].first)
                several.push_back({sorted[last].first, {}});
            several.back().nodes.push_back(sorted[last].second);
        }
        if (last - first == 1)
            several.pop_back();
    }
    return several;
}

/// Windows of a shard, and the nodes that need them.
using windows_of_nodes = value_of_nodes<vector<window_run>>;

/// The windows of the shards that several nodes need. For other shards, nodes send only digests.
///
/// \param own the windows that this rank's node needs
/// \par Collective every rank of the group, in the same order
inline vector<windows_of_nodes> gather_windows(mpi_group const& world, group_nodes const& nodes,
                                               vector<window_run> const& own) {
    shard_windows windows;
    vector<needed_shard> shards;
    agree_on(world, [&] {
        windows = windows_by_shard(own);
        for (auto const& [shard, some] : windows)
            shards.push_back(shard);
    });
    auto const elements = gather_from_nodes(world, nodes, std::move(shards));
    vector<shard_of_nodes> several;
    vector<vector<window_run>> telling;
    agree_on(world, [&] {
        several = shards_of_several(elements);
        for (shard_of_nodes const& shard : several)
            if (nodes.teller(shard.nodes) == world.rank())
                telling.push_back(windows.at(shard.value));
    });
    auto values = gather_values(world, telling);
    vector<std::size_t> next(values.size(), 0);
    vector<windows_of_nodes> result;
    for (shard_of_nodes& shard : several) {
        auto const rank = static_cast<std::size_t>(nodes.teller(shard.nodes));
        result.push_back({std::move(values[rank][next[rank]++]), std::move(shard.nodes)});
    }
    return result;
}

RESHARD_DECL found_windows find_relayed(mpi_group const& world, group_nodes const& nodes,
                                        chunk_reader const& reader, window_reads const& reads,
                                        vector<window_run> const& runs, file_reads file_reads) {
    auto const of_node = gather_values(nodes.own.group, runs);
    vector<window_run> own;
    agree_on(world, [&] {
        for_each_listed(reads, of_node,
                        [&](window_run const& window, auto const&) { own.push_back(window); });
    });
    auto needed = gather_windows(world, nodes, own);
    found_windows windows{relayed_windows(nodes)};
    agree_on(world, [&] {
        vector<vector<window_run>> lists;
        for (windows_of_nodes& shard : needed)
            lists.push_back(std::move(shard.value));
        std::uint64_t const most = std::min<std::uint64_t>(most_slot_bytes, world.count_limit());
        for_each_listed(reads, lists, [&](window_run const& run, auto const& entries) {
            std::uint64_t const once = reader.whole_chunks(run.position, run.bytes).size();
            std::uint64_t alone = 0;
            vector<std::uint32_t> receivers;
            for (listed_window const& entry : entries) {
                auto const& those = needed[entry.list].nodes;
                byte_run const bytes =
                    reader.whole_chunks(entry.window.position, entry.window.bytes);
                alone += bytes.size() * those.size();
                receivers.insert(receivers.end(), those.begin(), those.end());
            }
            if (once > most || !is_worth_reading_once(alone, once, file_reads))
                return;
            std::ranges::sort(receivers);
            windows.relayed.add(run, receivers);
            windows.most_bytes = std::max(windows.most_bytes, once);
        });
    });
    return windows;
}

} // namespace reshard::detail

#endif
