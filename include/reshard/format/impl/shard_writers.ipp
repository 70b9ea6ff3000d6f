// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_SHARD_WRITERS_IPP
#define RESHARD_FORMAT_IMPL_SHARD_WRITERS_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/planned_files.hpp>

#include <reshard/layout/replica.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::detail {

/// Chooses the ranks that write the shards of a layout, each different shard once. A rank writes
/// the shards that no other rank holds. A replicated shard, the largest first, is written by the
/// holder with the fewest bytes so far, or by all holders.
class shard_writers {
public:
    shard_writers(layout const& layout, file_choices const& choices)
        : all_(layout),
          writer_(choices.writer),
          replicas_(choices.replicas || choices.per_rank),
          chosen_(layout.tensors.size()) {
        for (tensor_spread const& spread : layout.spreads) {
            listed_.push_back(listed(spread));
            different_.push_back(different_shards(listed_.back()));
        }
        for (std::uint32_t t = 0; t < layout.tensors.size(); ++t)
            for (equal_shards const& replicas : different_[layout.tensors[t].spread])
                add(t, replicas);
        std::stable_sort(replicated_.begin(), replicated_.end(),
                         [](choice const& a, choice const& b) { return a.bytes > b.bytes; });
        for (choice const& element : replicated_)
            if (writer_)
                write(element, chosen_writer(element));
            else
                choose(element);
        for (auto& shards : chosen_)
            std::sort(shards.begin(), shards.end());
    }

    shard_table const& shards(std::uint32_t tensor) const {
        return listed_[all_.tensors[tensor].spread];
    }

    /// The indices in `shards(tensor)` of the shards that are written, ascending.
    vector<std::uint32_t> const& chosen(std::uint32_t tensor) const { return chosen_[tensor]; }

private:
    struct choice {
        std::uint32_t tensor = 0;
        equal_shards const* replicas = nullptr;
        index_t bytes = 0;
    };

    void choose_each(std::uint32_t tensor, equal_shards const& replicas) {
        shard_table const& table = shards(tensor);
        for (std::size_t i = 0; i < replicas.size(); ++i)
            if (i == 0 || table.holder(replicas[i]) != table.holder(replicas[i - 1]))
                chosen_[tensor].push_back(replicas[i]);
    }

    void add(std::uint32_t tensor, equal_shards const& replicas) {
        if (replicas_)
            return choose_each(tensor, replicas);
        std::uint32_t const first = replicas.front();
        shard_table const& table = shards(tensor);
        choice const current_choice{
            tensor, &replicas,
            byte_count(tensor_shards(&table).elements(first), all_.tensors[tensor].dtype)};
        if (replicas.size() == 1)
            choose(current_choice);
        else
            replicated_.push_back(current_choice);
    }

    void choose(choice const& current_choice) {
        shard_table const& table = shards(current_choice.tensor);
        auto const bytes_of = [&](std::uint32_t shard) { return bytes_[table.holder(shard)]; };
        std::uint32_t best = current_choice.replicas->front();
        for (std::uint32_t const shard : *current_choice.replicas)
            if (bytes_of(shard) < bytes_of(best))
                best = shard;
        write(current_choice, best);
    }

    /// The index of the shard whose rank the user's function chooses.
    std::uint32_t chosen_writer(choice const& current_choice) const {
        shard_table const& table = shards(current_choice.tensor);
        vector<holder_t> ranks;
        for (std::uint32_t const shard : *current_choice.replicas)
            ranks.push_back(table.holder(shard));
        std::string const& key = all_.tensors[current_choice.tensor].key;
        holder_t const reported = writer_(key, current_choice.bytes, ranks);
        auto const position = std::ranges::find(ranks, reported);
        if (position == ranks.end())
            fail(errc::usage, "write_options.writer gives rank ", reported, " for '", key,
                 "', which does not hold this shard; rank ", ranks.front(), " does (and ",
                 ranks.size() - 1, " more)");
        return (*current_choice.replicas)[static_cast<std::size_t>(position - ranks.begin())];
    }

    void write(choice const& current_choice, std::uint32_t shard) {
        bytes_[shards(current_choice.tensor).holder(shard)] += current_choice.bytes;
        chosen_[current_choice.tensor].push_back(shard);
    }

    layout const& all_;
    writer_choice const& writer_;
    bool replicas_;
    vector<shard_table> listed_;             ///< the shards of each spread
    vector<vector<equal_shards>> different_; ///< the different shards of each spread
    vector<choice> replicated_;
    std::map<holder_t, index_t> bytes_;
    vector<vector<std::uint32_t>> chosen_; ///< the written shards of each tensor
};

RESHARD_DECL std::map<holder_t, vector<file_shard>> shards_by_writer(layout const& target,
                                                                     file_choices const& choices) {
    std::map<holder_t, vector<file_shard>> ranks;
    shard_writers const writers(target, choices);
    for (std::uint32_t t = 0; t < target.tensors.size(); ++t) {
        tensor_layout const& tensor = target.tensors[t];
        shard_table const& shards = writers.shards(t);
        box const full_box = whole(target.shape_of(tensor));
        bool const has_elements = !is_empty(full_box);
        for (std::uint32_t const i : writers.chosen(t))
            ranks[shards.holder(i)].push_back(
                {tensor.key, tensor.dtype, has_elements ? box(shards.region(i)) : full_box,
                 has_elements ? shards.flat(i) : std::nullopt, full_box.shape, 0, 0,
                 has_elements ? shards.cycles(i) : axis_cycles()});
    }
    return ranks;
}

/// Counts the blocks of all shards of a tensor; replicas count once.
inline index_t count_blocks(shard_table const& shards) {
    index_t blocks = 0;
    for (equal_shards const& replicas : different_shards(shards)) {
        box const region = shards.region(replicas.front());
        index_t of_shard = 1;
        for (axis_cycle const& cycle : shards.cycles(replicas.front()))
            of_shard *= (region.shape[cycle.axis] - 1) / cycle.period + 1;
        blocks += of_shard;
    }
    return blocks;
}

RESHARD_DECL layout with_separate_blocks(layout target, std::string_view format) {
    for (tensor_layout const& tensor : target.tensors) {
        if (!target.shards_of(tensor).have_cycles())
            continue;
        index_t const blocks = count_blocks(listed(target.spread_of(tensor)));
        if (blocks > most_written_blocks)
            fail(errc::unsupported, "'", tensor.key, "': the layout cuts it into ", blocks,
                 " blocks, but ", format, " stores each block as a shard, at most ",
                 most_written_blocks,
                 " for each tensor; give a layout of rows or columns, or write "
                 "sharded_safetensors, which stores one array for each rank");
    }
    for (tensor_spread& spread : target.spreads)
        if (spread.view().have_cycles())
            spread.shards = blocks_listed(spread);
    return target;
}

RESHARD_DECL vector<saved_object> objects_beside(layout const& target,
                                                 file_choices const& choices) {
    vector<saved_object> objects;
    std::set<std::string_view> keys;
    for (saved_object const& object : choices.objects) {
        if (object.is_whole)
            continue;
        if (!keys.insert(object.key).second)
            fail(errc::usage, "two values that are not tensors have the key '", object.key,
                 "'; give one of them another key");
        if (target.find(object.key))
            fail(errc::usage, "'", object.key,
                 "' is the key of a value that is not a tensor, and of a tensor; give one of them "
                 "another key");
        objects.push_back(object);
    }
    return objects;
}

RESHARD_DECL vector<file_shard> shards_of_one(layout const& target, file_choices const& choices) {
    auto ranks = shards_by_writer(target, choices);
    return ranks.empty() ? vector<file_shard>() : std::move(ranks.begin()->second);
}

RESHARD_DECL vector<vector<file_shard>> split_by_key(vector<file_shard> shards) {
    vector<vector<file_shard>> files;
    std::string last;
    std::size_t index = 0;
    for (file_shard& shard : shards) {
        index = !files.empty() && shard.key == last ? index + 1 : 0;
        last = shard.key;
        if (files.size() <= index)
            files.emplace_back();
        files[index].push_back(std::move(shard));
    }
    return files;
}

RESHARD_DECL vector<std::uint64_t> bytes_of(vector<file_shard> const& shards) {
    vector<std::uint64_t> bytes;
    bytes.reserve(shards.size());
    for (file_shard const& shard : shards)
        bytes.push_back(bytes_of(shard));
    return bytes;
}

RESHARD_DECL safetensors_layout plan_of(vector<file_shard> const& shards,
                                        std::map<std::string, std::string> const& metadata,
                                        std::string_view file) {
    vector<safetensors_tensor> tensors;
    tensors.reserve(shards.size());
    for (file_shard const& shard : shards)
        tensors.push_back({shard.key, shard.dtype, stored_shape(shard)});
    auto const bytes = bytes_of(shards);
    std::uint64_t const total = std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
    return plan_safetensors(tensors, metadata, file, total < std::uint64_t{1} << 20 ? 64 : 4096);
}

} // namespace reshard::detail

#endif
