// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_IMPL_SHARD_DIRECTORY_IPP
#define RESHARD_MPI_IMPL_SHARD_DIRECTORY_IPP

#include <reshard/mpi/shard_directory.hpp>

#include <reshard/core/sorting.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/bytes.hpp>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

namespace reshard::detail {

RESHARD_DECL void validate(directory_key const& directory_key) {
    for (bucket_level const& level : directory_key.levels) {
        bool is_level = level.size() == directory_key.shape.size();
        for (index_t const halvings : level)
            is_level = is_level && 0 <= halvings && halvings < 64;
        if (!is_level)
            fail(errc::bad_layout, "it has the level ", level, " for a tensor of shape ",
                 directory_key.shape);
    }
}

/// Writes the list for each rank as a text.
template <class T>
vector<addressed_text> addressed(std::map<int, vector<T>> const& lists) {
    vector<addressed_text> texts;
    for (auto const& [rank, list] : lists)
        texts.push_back({rank, list_to_bytes(list)});
    return texts;
}

/// Collects the keys of the shards that this rank receives, and the levels on which `ranks` ranks
/// file these shards.
class key_merger {
public:
    explicit key_merger(int ranks) : ranks_(ranks) {}

    void add(shard_descriptor const& shard, holder_t holder) {
        check(shard);
        directory_key& key =
            known_
                .try_emplace(shard.key,
                             directory_key{shard.key, shard.dtype, shard.global_shape, holder, {}})
                .first->second;
        check_same_tensor(shard, holder, key.shape, key.dtype, key.holder);
        for (box const& region : boxes_of(shard.region, shard.flat, shard.cycles))
            if (!is_empty(region))
                add(level_of(region, shard.global_shape, ranks_), key.levels);
    }

    vector<directory_key> keys() const {
        vector<directory_key> keys;
        for (auto const& [text, key] : known_)
            keys.push_back(key);
        return keys;
    }

private:
    static void add(bucket_level const& level, vector<bucket_level>& levels) {
        if (std::find(levels.begin(), levels.end(), level) == levels.end())
            levels.push_back(level);
    }

    int ranks_;
    std::map<std::string, directory_key> known_;
};

RESHARD_DECL vector<directory_key> gather_keys(mpi_group const& world, sparse_exchange& exchange,
                                               vector<shard_descriptor> const& shards) {
    vector<addressed_text> texts;
    agree_on(world, [&] {
        std::map<int, vector<shard_descriptor>> lists;
        for (shard_descriptor const& shard : shards)
            lists[rank_of(digest_of_all(shard.key), world.size())].push_back(shard);
        texts = addressed(lists);
    });
    auto const received = exchange.run(std::move(texts));
    std::string own;
    agree_on(world, [&] {
        key_merger merger(world.size());
        for (addressed_text const& text : received)
            for (shard_descriptor const& shard : list_from_bytes<shard_descriptor>(text.bytes))
                merger.add(shard, static_cast<holder_t>(text.rank));
        own = list_to_bytes(merger.keys());
    });
    auto const elements = world.all_gather(own);
    vector<directory_key> keys;
    agree_on(world, [&] {
        for (std::string const& bytes : elements)
            for (directory_key& element : list_from_bytes<directory_key>(bytes))
                keys.push_back(std::move(element));
        sort_by(keys, [](auto const& a, auto const& b) { return a.key < b.key; });
    });
    return keys;
}

RESHARD_DECL layout layout_of_keys(vector<directory_key> const& keys, vector<shard_table> shards,
                                   holder_t holders) {
    layout_builder builder(holders);
    for (std::size_t i = 0; i < keys.size(); ++i)
        builder.add(keys[i].key, keys[i].dtype, {keys[i].shape, std::move(shards[i])});
    return std::move(builder).take();
}

RESHARD_DECL shard_directory::shard_directory(mpi_group const& world, sparse_exchange& exchange,
                                              vector<directory_key> const& keys,
                                              vector<shard_descriptor> const& shards)
    : world_(world), exchange_(exchange), keys_(keys), filed_(keys.size()) {
    vector<addressed_text> texts;
    agree_on(world, [&] { texts = addressed(sorted_out(shards)); });
    auto const received = exchange_.run(std::move(texts));
    agree_on(world, [&] {
        for (directory_entry& entry : entries_of(received))
            filed_[entry.key].push_back(std::move(entry));
    });
}

RESHARD_DECL std::size_t shard_directory::find(std::string_view key) const {
    return static_cast<std::size_t>(find_tensor(keys_, key) - keys_.begin());
}

RESHARD_DECL vector<directory_entry>
shard_directory::look_up(vector<directory_entry> const& questions, plan_options const& options) {
    vector<addressed_text> texts;
    agree_on(world_, [&] { texts = addressed(sorted_out(questions)); });
    auto const asked = exchange_.run(std::move(texts));
    agree_on(world_, [&] {
        texts.clear();
        for (addressed_text const& text : asked)
            texts.push_back({text.rank, list_to_bytes(answer(text, options))});
    });
    auto const received = exchange_.run(std::move(texts));
    vector<directory_entry> entries;
    agree_on(world_, [&] {
        entries = entries_of(received);
        keep_each_once(entries);
    });
    return entries;
}

RESHARD_DECL void shard_directory::file(directory_entry const& entry, box const& region,
                                        bucket_level const& level, lists& all_lists) const {
    if (is_empty(region))
        return;
    for_each_bucket(region, keys_[entry.key].shape, level, [&](index_vector const& bucket) {
        auto& list = all_lists[rank_of(digest_of_all(entry.key, level, bucket), world_.size())];
        if (list.empty() || list.back() != entry)
            list.push_back(entry);
    });
}

RESHARD_DECL auto shard_directory::sorted_out(vector<shard_descriptor> const& descriptors) const
    -> lists {
    lists all_lists;
    vector<std::uint32_t> shards(keys_.size(), 0);
    for (shard_descriptor const& shard : descriptors) {
        std::size_t const key = find(shard.key);
        directory_entry const entry{static_cast<key_id>(key),
                                    static_cast<holder_t>(world_.rank()),
                                    shards[key]++,
                                    shard.region,
                                    shard.flat,
                                    shard.cycles};
        for (box const& region : boxes_of(shard.region, shard.flat, shard.cycles))
            file(entry, region, level_of(region, shard.global_shape, world_.size()), all_lists);
    }
    return all_lists;
}

RESHARD_DECL auto shard_directory::sorted_out(vector<directory_entry> const& questions) const
    -> lists {
    lists all_lists;
    for (directory_entry const& entry : questions)
        for (bucket_level const& level : keys_[entry.key].levels)
            file(entry, entry.region, level, all_lists);
    return all_lists;
}

RESHARD_DECL vector<directory_entry> shard_directory::answer(addressed_text const& asked,
                                                             plan_options const& options) const {
    vector<directory_entry> entries;
    for (directory_entry const& question : entries_of({asked}))
        for (directory_entry const& entry : filed_[question.key])
            if (std::ranges::any_of(boxes_of(entry.region, entry.flat), [&](box const& region) {
                    return shares_elements(region, entry.cycles, question.region);
                }))
                entries.push_back(entry);
    keep_each_once(entries);
    return chosen(std::move(entries), static_cast<holder_t>(asked.rank), options);
}

RESHARD_DECL vector<directory_entry> shard_directory::chosen(vector<directory_entry> entries,
                                                             holder_t target,
                                                             plan_options const& options) {
    auto const described = [](directory_entry const& entry) {
        return std::tie(entry.key, entry.region, entry.flat, entry.cycles);
    };
    sort_by(entries, [&](auto const& a, auto const& b) {
        return described(a) < described(b); // equal entries stay ordered by holder and position
    });
    vector<directory_entry> result;
    for (std::size_t first = 0, last = 0; first < entries.size(); first = last) {
        while (last < entries.size() && described(entries[last]) == described(entries[first]))
            ++last;
        result.push_back(
            entries[first + choose_replica(
                                last - first,
                                [&](std::size_t i) { return entries[first + i].holder; }, target,
                                std::uint64_t{target} + entries[first].key, options)]);
    }
    return result;
}

RESHARD_DECL vector<directory_entry>
shard_directory::entries_of(vector<addressed_text> const& addressed_texts) const {
    vector<directory_entry> entries;
    for (addressed_text const& text : addressed_texts)
        for (directory_entry& entry : list_from_bytes<directory_entry>(text.bytes)) {
            if (entry.key >= keys_.size() || entry.holder >= static_cast<holder_t>(world_.size()))
                fail(errc::corrupt_file, "rank ", text.rank, " sent an invalid record: key ",
                     entry.key, " of ", keys_.size(), " on rank ", entry.holder, " of ",
                     world_.size());
            directory_key const& key = keys_[entry.key];
            check(shard_descriptor{key.key, key.dtype, key.shape, entry.region, entry.flat,
                                   entry.cycles});
            entries.push_back(std::move(entry));
        }
    return entries;
}

RESHARD_DECL void shard_directory::keep_each_once(vector<directory_entry>& entries) {
    auto const position_of = [](directory_entry const& entry) {
        return std::tuple(entry.key, entry.holder, entry.position);
    };
    sort_by(entries, [&](auto const& a, auto const& b) { return position_of(a) < position_of(b); });
    auto const remainder = std::ranges::unique(entries, {}, position_of);
    entries.erase(remainder.begin(), remainder.end());
}

} // namespace reshard::detail

#endif
