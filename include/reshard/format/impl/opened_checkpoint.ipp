// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_OPENED_CHECKPOINT_IPP
#define RESHARD_FORMAT_IMPL_OPENED_CHECKPOINT_IPP

#include <reshard/format/opened_checkpoint.hpp>

#include <reshard/core/error.hpp>
#include <reshard/format/other_names.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace reshard::detail {

RESHARD_DECL whole_tensors::whole_tensors(std::shared_ptr<file_store const> files,
                                          std::string_view format, std::filesystem::path path)
    : files_(std::move(files)) {
    result_.format = format;
    result_.path = std::move(path);
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
    std::filesystem::path const& path = result_.files.back().path;
    auto const [known, is_new] = keys_.emplace(key, path);
    if (!is_new)
        fail(errc::corrupt_file, path.string(), ": the name '", key, "' stands twice",
             known->second == path ? "" : ", the first time in " + known->second.string());
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

/// Adds a shard of the whole tensor that is at a place of the last file.
RESHARD_DECL checkpoint_shard& whole_tensors::add_shard(checkpoint_tensor& tensor,
                                                        file_tensor const& place) {
    checkpoint_shard& shard = tensor.shards.emplace_back();
    shard.file = static_cast<holder_t>(result_.files.size() - 1);
    shard.region = packed_box(whole(tensor.shape));
    shard.begin = last_.bytes;
    last_.shards.push_back({last_.bytes, place.dtype, place.shape});
    last_.bytes += static_cast<std::uint64_t>(byte_count(element_count(place.shape), place.dtype));
    shard.end = last_.bytes;
    places_.push_back(place.elements);
    return shard;
}

RESHARD_DECL void whole_tensors::add(std::string key, file_tensor const& tensor) {
    add_shard(begin_tensor(std::move(key), tensor.dtype, tensor.shape), tensor);
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

RESHARD_DECL void whole_tensors::add_alias(std::string alias, std::string const& key) {
    check_new(alias);
    aliases_.emplace(std::move(alias), key);
}

RESHARD_DECL void whole_tensors::add_object(std::string key, bool is_none) {
    check_new(key);
    result_.objects.push_back(
        {std::move(key), static_cast<holder_t>(result_.files.size() - 1), {}, is_none});
}

RESHARD_DECL opened_checkpoint whole_tensors::take() {
    end_file();
    sort_by_key(result_.tensors);
    add_aliases(result_, aliases_);
    return {std::move(result_),
            std::make_shared<row_major_files const>(std::move(files_), std::move(shown_))};
}

} // namespace reshard::detail

#endif
