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
    group_nodes all{agreed_node_of(world), 0, {}, 0};
    std::map<int, std::uint32_t> numbers; // by the first rank
    auto const firsts = gather_values(world, all.own.numbers.front());
    for (int rank = 0; rank < world.size(); ++rank) {
        int const first = firsts[static_cast<std::size_t>(rank)];
        auto const number = static_cast<std::uint32_t>(all.ranks.size());
        auto const [place, is_new] = numbers.emplace(first, number);
        if (is_new)
            all.ranks.emplace_back();
        all.ranks[place->second].push_back(rank);
    }
    all.number = numbers.at(all.own.numbers.front());
    all.least_ranks = std::ranges::min(all.ranks, {}, &std::vector<int>::size).size();
    return all;
}

/// A value that nodes have, and which ones do, ascending.
template <class T>
struct value_of_nodes {
    T value;
    std::vector<std::uint32_t> nodes;
};

/// What nodes have: as replicas have the same, the first node that has a value tells it.
///
/// \param mine the same on all ranks of a node
/// \par Collective every rank of the group, in the same order
template <class T>
std::vector<value_of_nodes<T>> gather_from_nodes(mpi_group const& world, group_nodes const& nodes,
                                                 T mine) {
    auto const digests = gather_values(world, digest_of_all(mine));
    std::map<std::uint64_t, std::size_t> numbers;
    std::vector<value_of_nodes<T>> all;
    for (std::uint32_t node = 0; node < nodes.ranks.size(); ++node) {
        auto const first = static_cast<std::size_t>(nodes.ranks[node].front());
        auto const [number, is_new] = numbers.emplace(digests[first], all.size());
        if (is_new)
            all.push_back({});
        all[number->second].nodes.push_back(node);
    }
    bool const tells = std::ranges::any_of(all, [&](value_of_nodes<T> const& value) {
        return nodes.teller(value.nodes) == world.rank();
    });
    auto told = gather_values(world, tells ? std::move(mine) : T());
    for (value_of_nodes<T>& value : all)
        value.value = std::move(told[static_cast<std::size_t>(nodes.teller(value.nodes))]);
    return all;
}

/// That a node needs windows of a shard, and a digest of these.
struct needed_shard {
    shard_place place;
    std::uint64_t digest = 0;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.place.tensor, self.place.shard, self.digest);
    }

    constexpr auto operator<=>(needed_shard const&) const = default;
};

using shard_windows = std::map<needed_shard, std::vector<window_run>>;

/// \param windows in the order of files
inline shard_windows windows_by_shard(std::vector<window_run> const& windows) {
    shard_windows all;
    for (auto first = windows.begin(), last = first; first != windows.end(); first = last) {
        last = std::find_if(first, windows.end(),
                            [&](window_run const& other) { return other.place != first->place; });
        std::vector<window_run> some(first, last);
        std::uint64_t const digest = digest_of_all(some);
        all.emplace(needed_shard{first->place, digest}, std::move(some));
    }
    return all;
}

using shard_of_nodes = value_of_nodes<needed_shard>;

/// The shards of which several nodes need windows: by shard, and by which windows these are.
///
/// \param all what each node needs
inline std::vector<shard_of_nodes>
shards_of_several(std::vector<value_of_nodes<std::vector<needed_shard>>> const& all) {
    std::vector<std::pair<needed_shard, std::uint32_t>> sorted;
    for (auto const& list : all)
        for (needed_shard const& shard : list.value)
            for (std::uint32_t const node : list.nodes)
                sorted.emplace_back(shard, node);
    std::ranges::sort(sorted);
    std::vector<shard_of_nodes> several;
    for (std::size_t first = 0, last = 0; first < sorted.size(); first = last) {
        std::size_t const before = several.size();
        for (; last < sorted.size() && sorted[last].first.place == sorted[first].first.place;
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
using windows_of_nodes = value_of_nodes<std::vector<window_run>>;

/// What several nodes need windows of. Only digests tell of the rest.
///
/// \param own what this rank's node needs
/// \par Collective every rank of the group, in the same order
inline std::vector<windows_of_nodes> gather_windows(mpi_group const& world,
                                                    group_nodes const& nodes,
                                                    std::vector<window_run> const& own) {
    shard_windows windows;
    std::vector<needed_shard> mine;
    agree_on(world, [&] {
        windows = windows_by_shard(own);
        for (auto const& [shard, some] : windows)
            mine.push_back(shard);
    });
    auto const all = gather_from_nodes(world, nodes, std::move(mine));
    std::vector<shard_of_nodes> several;
    std::vector<std::vector<window_run>> telling;
    agree_on(world, [&] {
        several = shards_of_several(all);
        for (shard_of_nodes const& shard : several)
            if (nodes.teller(shard.nodes) == world.rank())
                telling.push_back(windows.at(shard.value));
    });
    auto told = gather_values(world, telling);
    std::vector<std::size_t> next(told.size(), 0);
    std::vector<windows_of_nodes> result;
    for (shard_of_nodes& shard : several) {
        auto const rank = static_cast<std::size_t>(nodes.teller(shard.nodes));
        result.push_back({std::move(told[rank][next[rank]++]), std::move(shard.nodes)});
    }
    return result;
}

RESHARD_DECL found_windows find_relayed(mpi_group const& world, group_nodes const& nodes,
                                        chunk_reader const& reader, window_reads const& reads,
                                        std::vector<window_run> const& mine, file_reads how) {
    auto const of_node = gather_values(nodes.own.group, mine);
    std::vector<window_run> own;
    agree_on(world, [&] {
        for_each_listed(reads, of_node,
                        [&](window_run const& window, auto const&) { own.push_back(window); });
    });
    auto needed = gather_windows(world, nodes, own);
    found_windows found{relayed_windows(nodes)};
    agree_on(world, [&] {
        std::vector<std::vector<window_run>> lists;
        for (windows_of_nodes& shard : needed)
            lists.push_back(std::move(shard.value));
        std::uint64_t const most = std::min<std::uint64_t>(most_slot_bytes, world.count_limit());
        for_each_listed(reads, lists, [&](window_run const& whole, auto const& entries) {
            std::uint64_t const once = reader.whole_chunks(whole.place, whole.bytes).size();
            std::uint64_t alone = 0;
            std::vector<std::uint32_t> takers;
            for (listed_window const& entry : entries) {
                auto const& those = needed[entry.list].nodes;
                byte_run const bytes = reader.whole_chunks(entry.window.place, entry.window.bytes);
                alone += bytes.size() * those.size();
                takers.insert(takers.end(), those.begin(), those.end());
            }
            if (once > most || !is_worth_reading_once(alone, once, how))
                return;
            std::ranges::sort(takers);
            found.relayed.add(whole, takers);
            found.most_bytes = std::max(found.most_bytes, once);
        });
    });
    return found;
}

} // namespace reshard::detail

#endif
