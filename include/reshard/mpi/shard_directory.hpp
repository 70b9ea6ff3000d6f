// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MPI_SHARD_DIRECTORY_HPP
#define RESHARD_MPI_SHARD_DIRECTORY_HPP

#include <reshard/core/hasher.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/mpi/sparse_exchange.hpp>
#include <reshard/serialization/bytes.hpp>
#include <reshard/serialization/directory.hpp>
#include <reshard/shard/layout.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// Who holds a region, answered by ranks that each know a part of all shards.

namespace reshard {

namespace detail {

/// Lists for other ranks, as texts.
template <class T>
std::vector<addressed_text> addressed(std::map<int, std::vector<T>> const& lists) {
    std::vector<addressed_text> texts;
    for (auto const& [rank, list] : lists)
        texts.push_back({rank, list_to_bytes(list)});
    return texts;
}

inline int rank_of(hasher const& digest, int ranks) {
    return static_cast<int>(digest.value() % static_cast<std::uint64_t>(ranks));
}

/// The keys for which this rank was told shards, with their levels.
inline std::vector<directory_key> merge_keys(std::vector<addressed_text> const& told) {
    std::map<std::string, std::pair<tensor_layout, directory_key>> known;
    for (addressed_text const& one : told)
        for (shard_descriptor const& shard : list_from_bytes<shard_descriptor>(one.bytes)) {
            auto& [tensor, key] = known[shard.key];
            if (tensor.shards.size() > 0)
                check_same_tensor(tensor, shard, static_cast<holder_t>(one.rank));
            else
                tensor = {shard.key, shard.dtype, shard.global_shape,
                          shard_table(shard.global_shape.size())};
            tensor.shards.push_back(static_cast<holder_t>(one.rank), shard.region, shard.flat);
            key.key = shard.key;
            key.dtype = shard.dtype;
            key.shape = shard.global_shape;
            for (box const& part : boxes_of(shard.region, shard.flat)) {
                bucket_level const level = level_of(part, shard.global_shape);
                if (!is_empty(part) &&
                    std::find(key.levels.begin(), key.levels.end(), level) == key.levels.end())
                    key.levels.push_back(level);
            }
        }
    std::vector<directory_key> keys;
    for (auto& [text, both] : known)
        keys.push_back(std::move(both.second));
    return keys;
}

} // namespace detail

/// All keys of which some rank holds a shard, sorted; on every rank.
///
/// \par Collective every rank of the group, in the same order
/// \throws error with errc::bad_layout for a shard that contradicts itself, with errc::shape_mismatch
///         or errc::dtype_mismatch for one key that is two tensors; on every rank alike
inline std::vector<directory_key> gather_keys(mpi_group const& world, sparse_exchange& exchange,
                                              std::vector<shard_descriptor> const& held) {
    std::map<int, std::vector<shard_descriptor>> lists;
    agree_on(world, [&] {
        for (shard_descriptor const& shard : held) {
            check(shard);
            hasher digest;
            digest.add(shard.key);
            lists[detail::rank_of(digest, world.size())].push_back(shard);
        }
    });
    auto const told = exchange.run(detail::addressed(lists));
    std::vector<directory_key> keys;
    agree_on(world, [&] { keys = detail::merge_keys(told); });
    auto const all = world.all_gather(list_to_bytes(keys));
    keys.clear();
    agree_on(world, [&] {
        for (std::string const& bytes : all)
            for (directory_key& one : list_from_bytes<directory_key>(bytes))
                keys.push_back(std::move(one));
        std::sort(keys.begin(), keys.end(),
                  [](directory_key const& a, directory_key const& b) { return a.key < b.key; });
    });
    return keys;
}

/// The keys as a layout in which nobody holds anything.
inline layout layout_of(std::vector<directory_key> const& keys, holder_t holders) {
    layout all{holders, {}};
    for (directory_key const& one : keys)
        all.tensors.push_back({one.key, one.dtype, one.shape, shard_table(one.shape.size())});
    return all;
}

/// The shards of all ranks, each filed with few of them: by its key, and by buckets of about its own
/// size in the tensor.
///
/// What a rank stores and sends grows with the shards that it has and asks for, and with the number
/// of keys; not with the number of ranks.
///
/// \par Source distributed directories of Zoltan and of Tpetra, there one entry an index; here boxes on
///             levels of halving
class shard_directory {
public:
    /// Files the shards of all ranks; `keys` are those of `gather_keys` for the same shards.
    ///
    /// \par Collective every rank of the group, in the same order
    shard_directory(mpi_group const& world, sparse_exchange& exchange,
                    std::vector<directory_key> const& keys,
                    std::vector<shard_descriptor> const& held)
        : world_(world), exchange_(exchange), keys_(keys), filed_(keys.size()) {
        std::map<int, std::vector<directory_entry>> lists;
        agree_on(world, [&] { sort_out(held, lists); });
        auto const told = exchange_.run(detail::addressed(lists));
        agree_on(world, [&] {
            for (addressed_text const& one : told)
                for (directory_entry& entry : list_from_bytes<directory_entry>(one.bytes))
                    filed_[entry.key].push_back(std::move(entry));
        });
    }

    /// The place of a key among `keys`, or their number.
    std::size_t find(std::string_view key) const {
        return static_cast<std::size_t>(find_tensor(keys_, key) - keys_.begin());
    }

    /// All shards that share elements with the region of a question, each once, by key, holder and
    /// position.
    ///
    /// \par Collective every rank of the group, in the same order
    std::vector<directory_entry> look_up(std::vector<directory_entry> const& questions) {
        std::map<int, std::vector<directory_entry>> lists;
        agree_on(world_, [&] {
            for (directory_entry const& one : questions)
                for (bucket_level const& level : keys_[one.key].levels)
                    file(one, one.region, level, lists);
        });
        auto const asked = exchange_.run(detail::addressed(lists));
        std::map<int, std::vector<directory_entry>> answers;
        agree_on(world_, [&] {
            for (addressed_text const& one : asked)
                answers[one.rank] = answer(list_from_bytes<directory_entry>(one.bytes));
        });
        auto const told = exchange_.run(detail::addressed(answers));
        std::vector<directory_entry> found;
        agree_on(world_, [&] {
            for (addressed_text const& one : told)
                for (directory_entry& entry : list_from_bytes<directory_entry>(one.bytes))
                    found.push_back(std::move(entry));
            keep_each_once(found);
        });
        return found;
    }

private:
    /// Adds `one` to the lists of the ranks that file what touches `region`, once to each.
    void file(directory_entry const& one, box const& region, bucket_level const& level,
              std::map<int, std::vector<directory_entry>>& lists) const {
        if (is_empty(region))
            return;
        for_each_bucket(region, keys_[one.key].shape, level, [&](index_vector const& bucket) {
            hasher digest;
            digest.add(std::uint64_t{one.key});
            digest.add(level);
            digest.add(bucket);
            auto& list = lists[detail::rank_of(digest, world_.size())];
            if (list.empty() || list.back() != one)
                list.push_back(one);
        });
    }

    void sort_out(std::vector<shard_descriptor> const& held,
                  std::map<int, std::vector<directory_entry>>& lists) const {
        std::vector<std::uint32_t> shards(keys_.size(), 0);
        for (shard_descriptor const& shard : held) {
            std::size_t const key = find(shard.key);
            directory_entry const one{static_cast<key_id>(key),
                                      static_cast<holder_t>(world_.rank()), shards[key]++,
                                      shard.region, shard.flat};
            for (box const& part : boxes_of(shard.region, shard.flat))
                file(one, part, level_of(part, shard.global_shape), lists);
        }
    }

    std::vector<directory_entry> answer(std::vector<directory_entry> const& questions) const {
        std::vector<directory_entry> found;
        for (directory_entry const& asked : questions)
            for (directory_entry const& one : filed_[asked.key])
                if (std::ranges::any_of(boxes_of(one.region, one.flat), [&](box const& part) {
                        return intersect(part, asked.region).has_value();
                    }))
                    found.push_back(one);
        keep_each_once(found);
        return found;
    }

    static void keep_each_once(std::vector<directory_entry>& found) {
        auto const place = [](directory_entry const& one) {
            return std::tuple(one.key, one.holder, one.position);
        };
        std::ranges::sort(found, {}, place);
        auto const rest = std::ranges::unique(found, {}, place);
        found.erase(rest.begin(), rest.end());
    }

    mpi_group world_;
    sparse_exchange& exchange_;
    std::vector<directory_key> const& keys_;
    std::vector<std::vector<directory_entry>> filed_; ///< by key
};

} // namespace reshard

#endif
