// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_CHECKPOINT_PLAN_IPP
#define RESHARD_FORMAT_IMPL_CHECKPOINT_PLAN_IPP

#include <reshard/format/checkpoint_plan.hpp>

#include <reshard/expr/by_name.hpp>
#include <reshard/format/chunk_digests.hpp>
#include <reshard/format/delta_files.hpp>
#include <reshard/format/fused_text.hpp>
#include <reshard/format/hf_index.hpp>
#include <reshard/format/other_names.hpp>
#include <reshard/format/planned_files.hpp>
#include <reshard/format/safetensors.hpp>
#include <reshard/format/sharded_safetensors.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

namespace reshard::detail {

/// One file and its contents, in any order.
struct file_contents {
    std::string name;
    holder_t rank = 0;
    vector<file_shard> shards;
};

/// Adds a file after the others.
inline void add_file(checkpoint_plan& plan, file_contents contents,
                     std::map<std::string, std::string> metadata, std::uint64_t chunk_size) {
    for (auto const& [alias, key] : plan.metadata.aliases)
        if (std::ranges::find(contents.shards, key, &file_shard::key) != contents.shards.end())
            metadata.emplace(alias, key);
    if (!plan.is_file)
        metadata.emplace(save_id_name, unknown_save_id);
    metadata.emplace(header_digest_name, hex_text(0));
    if (chunk_size != 0)
        metadata.emplace(chunk_digests_name,
                         unknown_digests(bytes_of(contents.shards), chunk_size));
    auto file = plan_of(contents.shards, metadata, contents.name);
    auto const number = static_cast<holder_t>(plan.headers.size());
    if (plan.metadata.tensors.empty())
        plan.metadata.tensors.reserve(file.order.size());
    for (std::size_t i = 0; i < file.order.size(); ++i) {
        file_shard const& shard = contents.shards[file.order[i]];
        std::uint64_t const data = file.header.size();
        checkpoint_tensor& tensor = plan.metadata.tensors.emplace_back();
        tensor.key = std::move(file.tensors[i].name);
        tensor.dtype = shard.dtype;
        tensor.shape = *shard.global_shape;
        tensor.shards.push_back({number,
                                 shard.region,
                                 shard.flat,
                                 data + file.tensors[i].begin,
                                 data + file.tensors[i].end,
                                 {},
                                 shard.cycles});
    }
    plan.metadata.files.push_back({contents.name, file.file_bytes(), chunk_size});
    plan.headers.push_back(std::move(file.header));
    plan.ranks.push_back(contents.rank);
}

/// Sorts the tensors, and joins tensors with equal keys. Their shards stay in the order of the
/// files.
inline void join_tensors(vector<checkpoint_tensor>& tensors) {
    auto const before = [](auto const& a, auto const& b) { return a.key < b.key; };
    if (!std::is_sorted(tensors.begin(), tensors.end(), before))
        std::stable_sort(tensors.begin(), tensors.end(), before);
    std::size_t joined = 0;
    for (checkpoint_tensor& tensor : tensors)
        if (joined > 0 && tensors[joined - 1].key == tensor.key)
            tensors[joined - 1].shards.push_back(std::move(tensor.shards.front()));
        else if (checkpoint_tensor& checkpoint_tensor = tensors[joined++];
                 &checkpoint_tensor != &tensor)
            checkpoint_tensor = std::move(tensor);
    tensors.resize(joined);
}

/// The files for the shards of a rank.
inline vector<file_contents> files_of(holder_t rank, vector<file_shard> shards) {
    vector<file_contents> files;
    for (auto& of_file : split_by_key(std::move(shards)))
        files.push_back({{}, rank, std::move(of_file)});
    return files;
}

/// The texts for every file's metadata: the user's texts, and a text about fused tensors if there
/// are any.
inline std::map<std::string, std::string> texts_of(file_choices const& choices) {
    auto texts = choices.texts;
    if (!choices.fused.empty())
        texts.emplace(fused_name, fused_text(choices.fused));
    return texts;
}

/// Distributes the shards of a rank over `count` files, or more files if a key needs them. No file
/// is empty. Each shard, the largest first, goes into the smallest file that does not have its key.
inline vector<file_contents> spread_over(vector<file_contents> const& files, std::size_t count) {
    vector<file_shard const*> shards;
    for (file_contents const& contents : files)
        for (file_shard const& shard : contents.shards)
            shards.push_back(&shard);
    std::stable_sort(shards.begin(), shards.end(), [](file_shard const* a, file_shard const* b) {
        return bytes_of(*a) > bytes_of(*b);
    });
    count = std::max(count, files.size());
    vector<file_contents> spread(std::min(count, shards.size()), {{}, files.front().rank, {}});
    vector<std::set<std::string_view>> keys(spread.size());
    vector<std::uint64_t> bytes(spread.size(), 0);
    for (file_shard const* const shard : shards) {
        std::size_t best = spread.size();
        for (std::size_t i = 0; i < spread.size(); ++i)
            if (!keys[i].contains(shard->key) && (best == spread.size() || bytes[i] < bytes[best]))
                best = i;
        keys[best].insert(shard->key);
        bytes[best] += bytes_of(*shard);
        spread[best].shards.push_back(*shard);
    }
    erase_if(spread, [](file_contents const& contents) { return contents.shards.empty(); });
    return spread;
}

RESHARD_DECL checkpoint_plan plan_sharded(layout const& target, file_choices const& choices) {
    if (choices.files_per_rank < 1)
        fail(errc::usage, "write_options.files_per_rank is ", choices.files_per_rank,
             "; it must be at least 1");
    if (!choices.texts.empty())
        check_texts(choices.texts, choices.aliases, keys_of(target.tensors));
    std::map<holder_t, vector<file_contents>> ranks;
    for (auto& [rank, shards] : shards_by_writer(target, choices))
        ranks[rank] = files_of(rank, std::move(shards));
    if (choices.files_per_rank > 1)
        for (auto& [rank, files] : ranks)
            files = spread_over(files, static_cast<std::size_t>(choices.files_per_rank));
    if (ranks.empty())
        ranks[0].emplace_back();
    std::size_t count = 0;
    for (auto const& [rank, files] : ranks)
        count += files.size();
    checkpoint_plan plan;
    plan.holders = plan.metadata.writers = target.holders;
    plan.metadata.format = "sharded_safetensors";
    plan.metadata.aliases = choices.aliases;
    plan.metadata.fused = choices.fused;
    auto const texts = texts_of(choices);
    for (auto& [rank, files] : ranks)
        for (std::size_t i = 0; i < files.size(); ++i) {
            files[i].name = choices.per_rank ? rank_file_name(rank, i, files.size())
                                             : sharded_file_name(rank, i, files.size());
            auto metadata = sharding_metadata(files[i].shards);
            metadata.emplace(file_number_name, file_number_text(plan.headers.size(), count));
            metadata.insert(texts.begin(), texts.end());
            add_file(plan, std::move(files[i]), metadata, choices.chunk_bytes);
        }
    plan.metadata.metadata = choices.texts;
    plan.metadata.metadata.insert({{"format", "pt"}, {"DCP_VERSION", "1.0"}});
    join_tensors(plan.metadata.tensors);
    return plan;
}

/// The contents of each file of a Hugging Face directory.
inline vector<file_contents> huggingface_files(catalog const& tensors, vector<index_t> const& bytes,
                                               index_t most_bytes) {
    auto const numbers = split_into_files(bytes, most_bytes);
    vector<file_contents> files;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        file_contents& contents =
            files.emplace_back(file_contents{hf_file_name(i, numbers.size()), 0, {}});
        contents.shards.reserve(numbers[i].size());
        for (std::size_t const number : numbers[i]) {
            catalog_entry const& entry = tensors[number];
            contents.shards.push_back(
                {entry.key, entry.dtype, whole(entry.shape), {}, entry.shape, 0, 0});
        }
    }
    return files;
}

/// Adds files of whole tensors, and an index if needed, to a plan that has all other data.
inline checkpoint_plan plan_whole(checkpoint_plan plan, catalog tensors, index_t most_bytes,
                                  file_choices const& choices) {
    if (!choices.texts.empty())
        check_texts(choices.texts, choices.aliases, keys_of(tensors));
    vector<index_t> bytes;
    index_t total = 0;
    for (catalog_entry const& entry : tensors) {
        bytes.push_back(byte_count(element_count(entry.shape), entry.dtype));
        total = checked_add(total, bytes.back(), "the bytes of all tensors");
    }
    auto files = huggingface_files(tensors, bytes, most_bytes);
    tensors = {}; // for a million tensors, this frees a quarter of the memory of planning
    plan.metadata.aliases = choices.aliases;
    plan.metadata.metadata = choices.texts;
    plan.metadata.metadata.emplace("format", "pt");
    plan.metadata.fused = choices.fused;
    auto metadata = texts_of(choices);
    metadata.emplace("format", "pt");
    hf_index index{{}, total};
    for (file_contents& contents : files) {
        for (file_shard const& shard : contents.shards)
            if (files.size() > 1)
                index.weight_map[shard.key] = contents.name;
        add_file(plan, std::move(contents), metadata, choices.chunk_bytes);
    }
    join_tensors(plan.metadata.tensors);
    if (files.size() > 1)
        plan.index = to_json(index);
    return plan;
}

RESHARD_DECL checkpoint_plan plan_huggingface(catalog tensors, index_t most_bytes,
                                              file_choices const& choices) {
    checkpoint_plan plan;
    plan.metadata.format = "huggingface";
    return plan_whole(std::move(plan), std::move(tensors), most_bytes, choices);
}

RESHARD_DECL checkpoint_plan plan_file(catalog tensors, file_choices const& choices) {
    checkpoint_plan plan;
    plan.is_file = true;
    plan.metadata.format = "safetensors";
    return plan_whole(std::move(plan), std::move(tensors), std::numeric_limits<index_t>::max(),
                      choices);
}

/// The id of a save with these headers and digests.
inline std::string save_id_of(checkpoint_plan const& plan, vector<chunk_digests> const& digests,
                              std::string_view salt) {
    vector<std::string> texts;
    for (std::size_t i = 0; i < plan.headers.size(); ++i) {
        texts.push_back(plan.metadata.files[i].path.string());
        texts.push_back(to_text(digests[i]));
    }
    vector<std::string_view> written{salt};
    for (std::size_t i = 0; i < plan.headers.size(); ++i) {
        written.push_back(texts[2 * i]);
        written.push_back(plan.headers[i]);
        written.push_back(texts[2 * i + 1]);
    }
    return long_digest_text_of(written);
}

/// The digests of each shard of each tensor, from the digests of the files.
inline vector<std::span<std::uint64_t const>>
digests_of_shards(checkpoint_metadata const& metadata, vector<chunk_digests> const& files) {
    struct place {
        std::uint64_t begin = 0, end = 0;
        std::size_t shard = 0;
    };
    vector<vector<place>> in_file(metadata.files.size());
    std::size_t count = 0;
    for (checkpoint_tensor const& tensor : metadata.tensors)
        for (checkpoint_shard const& shard : tensor.shards)
            in_file[shard.file].push_back({shard.begin, shard.end, count++});
    vector<std::span<std::uint64_t const>> digests(count);
    for (std::size_t file = 0; file < in_file.size(); ++file) {
        std::sort(in_file[file].begin(), in_file[file].end(), [](place const& a, place const& b) {
            return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
        });
        for (std::size_t i = 0; i < in_file[file].size(); ++i)
            digests[in_file[file][i].shard] = files[file].tensors[i];
    }
    return digests;
}

/// Adds the digest of a file's header to the record's entry for the file.
inline recorded_file recorded_with(std::string_view header, recorded_file file) {
    file.header_digest = digest_of_bytes(std::as_bytes(std::span(header).subspan(8)));
    return file;
}

/// Makes the headers of a delta's files, and the record's entries for these files.
inline void seal_delta(sealed_checkpoint& sealed, save_record& record, record_delta delta) {
    for (recorded_file& file : delta.files) {
        sealed.delta_headers.push_back(delta_header(sealed.save, file.bytes - delta_data_offset));
        file = recorded_with(sealed.delta_headers.back(), std::move(file));
    }
    for (base_file const& base : delta.bases)
        if (std::ranges::find(record.facts.needs, base.save) == record.facts.needs.end())
            record.facts.needs.push_back(base.save);
    sealed.delta = record.delta = std::move(delta);
}

RESHARD_DECL sealed_checkpoint seal(checkpoint_plan const& plan,
                                    vector<chunk_digests> const& digests, std::string_view salt,
                                    save_facts const& facts, std::optional<record_delta> delta) {
    sealed_checkpoint sealed{
        plan.headers, {}, plan.is_file ? std::string() : save_id_of(plan, digests, salt)};
    checkpoint_metadata const& written = plan.metadata;
    save_record record{sealed.save, {}, facts, written.aliases, {}, plan.holders};
    for (std::size_t i = 0; i < sealed.headers.size(); ++i) {
        std::string& header = sealed.headers[i];
        if (!plan.is_file)
            set_metadata(header, save_id_name, record.save);
        if (written.files[i].chunk_bytes != 0)
            set_metadata(header, chunk_digests_name, to_text(digests[i]));
        set_own_digest(header);
        record.files.push_back(recorded_with(
            header, {written.files[i].path.string(), written.files[i].bytes, 0, plan.ranks[i]}));
    }
    if (delta)
        seal_delta(sealed, record, std::move(*delta));
    if (!plan.is_file)
        sealed.record = to_json(record, written, digests_of_shards(written, digests));
    return sealed;
}

} // namespace reshard::detail

#endif
