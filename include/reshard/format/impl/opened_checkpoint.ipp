// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_OPENED_CHECKPOINT_IPP
#define RESHARD_FORMAT_IMPL_OPENED_CHECKPOINT_IPP

#include <reshard/core/vector.hpp>
#include <reshard/format/opened_checkpoint.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/impl/decoded_files.ipp>
#include <reshard/format/other_names.hpp>
#include <reshard/format/zip/stored_zip.hpp>
#include <reshard/layout/key_pattern.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::detail {

/// Selects the wanted keys, and records which patterns matched a key.
class key_selection {
public:
    key_selection(vector<std::string> const& only, vector<std::string> const& without)
        : only_(only.begin(), only.end()), without_(without.begin(), without.end()) {}

    bool takes(std::string_view key) {
        bool const is_wanted = match_any(only_, key) || only_.empty();
        return !match_any(without_, key) && is_wanted;
    }

    /// Refuses a pattern that matched no key, because it may be misspelt.
    void check_matched(checkpoint_metadata const& metadata, std::string const& first,
                       std::size_t count) const {
        for (auto const* const patterns : {&only_, &without_})
            if (given_pattern const* const missed = first_missed(*patterns))
                fail(errc::unknown_key, metadata.path.string(), ": no key matches '",
                     missed->text(), "'; ", first_and_more("'" + first + "'", count),
                     count == 1 ? " exists" : " exist");
    }

private:
    vector<given_pattern> only_;
    vector<given_pattern> without_;
};

/// Replaces the key of a tensor by one of its aliases, if the key was not selected.
inline void select_aliases(checkpoint_metadata& metadata) {
    auto const exists = [&](std::string const& key) {
        return std::ranges::binary_search(metadata.tensors, key, {}, &checkpoint_tensor::key);
    };
    std::map<std::string, std::string> kept, renamed;
    for (auto const& [alias, key] : metadata.aliases)
        if (exists(alias)) {
            std::string const& first =
                exists(key) ? key : renamed.emplace(key, alias).first->second;
            if (first != alias)
                kept.emplace(alias, first);
        }
    metadata.aliases = std::move(kept);
}

/// Warns that the common state of ranks is written as a whole.
inline void warn_of_common(checkpoint_metadata& metadata, key_selection& selection) {
    vector<std::string> left_out;
    std::set<holder_t> common_files;
    bool takes_some = false;
    for (checkpoint_object const& object : metadata.objects)
        if (object.is_common) {
            common_files.insert(object.file);
            if (selection.takes(object.key))
                takes_some = true;
            else
                left_out.push_back("'" + object.key + "'");
        }
    for (checkpoint_tensor const& tensor : metadata.tensors)
        if (!tensor.shards.empty() && common_files.contains(tensor.shards.front().file) &&
            !selection.takes(tensor.key))
            left_out.push_back("'" + tensor.key + "' (as None)");
    if (takes_some && !left_out.empty())
        metadata.warnings.push_back(metadata.path.string() +
                                    ": the values that all ranks share are stored in one file: " +
                                    first_and_more(left_out.front(), left_out.size()) +
                                    (left_out.size() == 1 ? " stays" : " stay") +
                                    " in it if this is written for Megatron-Core");
}

RESHARD_DECL void select_keys(opened_checkpoint& opened, safetensors_options const& options) {
    if (options.only.empty() && options.without.empty())
        return;
    checkpoint_metadata& metadata = opened.metadata;
    std::string const first = !metadata.tensors.empty()   ? metadata.tensors.front().key
                              : !metadata.objects.empty() ? metadata.objects.front().key
                                                          : std::string();
    std::size_t const count = metadata.tensors.size() + metadata.objects.size();
    key_selection selection(options.only, options.without);
    auto const is_left_out = [&](auto const& value) { return !selection.takes(value.key); };
    warn_of_common(metadata, selection);
    if (!metadata.objects.empty())
        for (checkpoint_tensor const& tensor : metadata.tensors)
            if (is_left_out(tensor))
                metadata.not_selected.insert(tensor.key);
    erase_if(metadata.tensors, is_left_out);
    erase_if(metadata.objects, is_left_out);
    selection.check_matched(metadata, first, count);
    bool const has_values = options.takes_values_alone && !metadata.objects.empty();
    if (metadata.tensors.empty() && !has_values)
        fail(errc::unknown_key, metadata.path.string(), ": no tensor is selected",
             metadata.objects.empty() ? "" : ", only values that are not tensors");
    select_aliases(metadata);
    erase_if(metadata.fused, [&](auto const& fused) {
        return !std::ranges::binary_search(metadata.tensors, fused.first, {},
                                           &checkpoint_tensor::key);
    });
}

RESHARD_DECL whole_tensors::whole_tensors(std::shared_ptr<file_store const> files,
                                          std::string_view format, std::filesystem::path path)
    : files_(std::move(files)) {
    result_.format = format;
    result_.path = std::move(path);
}

RESHARD_DECL void whole_tensors::show_inflated() {
    if (!std::exchange(shows_inflated_, true))
        files_ = std::make_shared<files_with_inflated const>(std::move(files_));
}

RESHARD_DECL void whole_tensors::begin_file(std::filesystem::path const& path) {
    end_file();
    result_.files.push_back({path, 0, 0});
}

RESHARD_DECL void whole_tensors::end_file() {
    if (result_.files.empty())
        return;
    checkpoint_file& file = result_.files.back();
    file.bytes = last_.bytes;
    last_.find = [places = std::exchange(places_, {})](file_store::file const&, shown_shard const&,
                                                       std::size_t number) {
        return places[number];
    };
    shown_.emplace(file.path, std::exchange(last_, {}));
}

RESHARD_DECL void whole_tensors::check_new(std::string const& key) {
    auto const file = static_cast<holder_t>(result_.files.size() - 1);
    auto const [match, is_new] = keys_.emplace(key, file);
    if (!is_new)
        fail(errc::corrupt_file, result_.files[file].path.string(), ": the name '", key,
             match->second == file
                 ? "' occurs twice"
                 : words("' is in ", result_.files[match->second].path.filename().string(),
                         ", too; if these files are separate checkpoints, give one of them"));
}

RESHARD_DECL checkpoint_tensor& whole_tensors::begin_tensor(std::string key, data_type dtype,
                                                            index_vector const& shape) {
    check_new(key);
    checkpoint_tensor& added = result_.tensors.emplace_back();
    added.key = std::move(key);
    added.dtype = dtype;
    added.shape = shape;
    return added;
}

/// Adds a shard to a tensor: the whole tensor, whose elements are in the last file.
RESHARD_DECL checkpoint_shard& whole_tensors::add_shard(checkpoint_tensor& tensor,
                                                        file_tensor const& file_tensor) {
    checkpoint_shard& shard = tensor.shards.emplace_back();
    shard.file = static_cast<holder_t>(result_.files.size() - 1);
    shard.region = packed_box(whole(tensor.shape));
    shard.begin = last_.bytes;
    last_.shards.push_back({last_.bytes, file_tensor.dtype, file_tensor.shape});
    last_.bytes +=
        static_cast<std::uint64_t>(byte_count(element_count(file_tensor.shape), file_tensor.dtype));
    shard.end = last_.bytes;
    places_.push_back(file_tensor.elements);
    return shard;
}

RESHARD_DECL void whole_tensors::add(std::string key, file_tensor const& tensor) {
    add_shard(begin_tensor(std::move(key), tensor.dtype, tensor.shape), tensor);
}

RESHARD_DECL void whole_tensors::add_decoded(std::string key, index_vector const& shape,
                                             std::shared_ptr<decoded_tensor const> values,
                                             std::string_view stored_as) {
    if (!decoded_)
        files_ = decoded_ = std::make_shared<decoded_files>(std::move(files_));
    byte_run const bytes =
        decoded_->add(result_.files.back().path, element_count(shape), std::move(values));
    result_.quantised.decoded.push_back({key, std::string(stored_as)});
    add(std::move(key), {data_type::f32, shape, {bytes.begin, row_major_strides(shape)}});
}

RESHARD_DECL void whole_tensors::add(std::string key, index_vector const& shape,
                                     std::span<file_tensor const> parts) {
    checkpoint_tensor& added = begin_tensor(std::move(key), parts.front().dtype, shape);
    index_t begin = 0;
    for (file_tensor const& part : parts) {
        index_t const end = begin + part.shape[0];
        add_shard(added, part).flat = flat_range{begin, end};
        begin = end;
    }
}

RESHARD_DECL void whole_tensors::add_part(std::string const& key, index_vector const& shape,
                                          box const& region, file_tensor const& tensor) {
    if (unread_parts_.contains(key))
        return;
    auto const match = parted_.find(key);
    if (match == parted_.end()) {
        parted_.emplace(key, result_.tensors.size());
        add_shard(begin_tensor(key, tensor.dtype, shape), tensor).region = packed_box(region);
        return;
    }
    checkpoint_tensor& added = result_.tensors[match->second];
    if (added.dtype != tensor.dtype || index_vector(added.shape) != shape)
        fail(errc::corrupt_file, result_.files.back().path.string(), " and ",
             result_.files[added.shards.front().file].path.string(), ": tensor '", key, "': it is ",
             tensor.dtype, " ", shape, " in the former and ", added.dtype, " ",
             index_vector(added.shape), " in the latter");
    add_shard(added, tensor).region = packed_box(region);
}

RESHARD_DECL std::string text_behind(std::string_view text, std::string_view noun) {
    std::string const name = std::string(noun) + ": ";
    auto const position = text.find(name);
    return std::string(position == text.npos ? text : text.substr(position + name.size()));
}

RESHARD_DECL void whole_tensors::add_unread(std::string key, index_vector const& shape,
                                            std::string reason) {
    if (expects_parts_)
        return add_unread_part(key, std::move(reason));
    begin_tensor(std::move(key), data_type::u8, shape).unread = std::move(reason);
}

RESHARD_DECL void whole_tensors::add_unread_part(std::string const& key, std::string reason) {
    if (!parted_.contains(key) && !unread_parts_.contains(key))
        check_new(key);
    unread_parts_.emplace(key, std::move(reason));
}

/// Lists a tensor as unread if one of its shards cannot be read.
RESHARD_DECL void whole_tensors::forget_unread_parts() {
    erase_if(result_.tensors,
             [&](checkpoint_tensor const& tensor) { return unread_parts_.contains(tensor.key); });
    for (auto& [key, reason] : unread_parts_) {
        checkpoint_tensor& added = result_.tensors.emplace_back();
        added.key = key;
        added.dtype = data_type::u8;
        added.unread = std::move(reason);
    }
}

RESHARD_DECL void whole_tensors::add_alias(std::string alias, std::string const& key) {
    check_new(alias);
    aliases_.emplace(std::move(alias), key);
}

RESHARD_DECL void whole_tensors::add_object(std::string key, bool is_none, bool holds_tensors) {
    check_new(key);
    result_.objects.push_back({std::move(key),
                               static_cast<holder_t>(result_.files.size() - 1),
                               {},
                               is_none,
                               holds_tensors});
}

RESHARD_DECL void whole_tensors::add_opaque(std::string key, std::string reason,
                                            bool holds_tensors) {
    add_object(std::move(key), false, holds_tensors);
    result_.objects.back().opaque = std::move(reason);
}

RESHARD_DECL opened_checkpoint whole_tensors::take() {
    end_file();
    forget_unread_parts();
    sort_by_key(result_.tensors);
    add_aliases(result_, aliases_);
    return {std::move(result_),
            std::make_shared<row_major_files const>(std::move(files_), std::move(shown_))};
}

} // namespace reshard::detail

#endif
