// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_CHECKPOINT_IPP
#define RESHARD_STORAGE_IMPL_CHECKPOINT_IPP

#include <reshard/storage/checkpoint.hpp>

#include <reshard/core/digest.hpp>
#include <reshard/format/checkpoint.hpp>

namespace reshard {

RESHARD_DECL checkpoint::checkpoint(std::filesystem::path const& path, open_options const& how)
    : metadata_(open_checkpoint(path, how.format)),
      held_(std::make_unique<layout>(layout_of(metadata_))),
      shapes_(detail::shapes_in_files<const_tensor_view>(metadata_)) {
    std::size_t const most_kept = detail::most_kept_files();
    for (detail::checkpoint_file const& file : metadata_.files) {
        detail::input_file opened(file.path);
        identities_.push_back(opened.identity());
        if (identities_.back().bytes != file.bytes)
            fail(errc::corrupt_file, file.path.string(),
                 ": the file changed while it was opened, from ", file.bytes, " bytes to ",
                 identities_.back().bytes);
        names_.push_back(file.path.string());
        if (how.mapped)
            first_bytes_.push_back(mapped_.emplace_back(file.path).data());
        else if (kept_.size() < most_kept)
            kept_.push_back(std::move(opened));
    }
}

RESHARD_DECL detail::input_file const* checkpoint::kept_file(holder_t file) const {
    return file < kept_.size() ? &kept_[file] : nullptr;
}

RESHARD_DECL detail::input_file checkpoint::open_file(holder_t file) const {
    detail::input_file opened(metadata_.files[file].path);
    check_same(file, opened);
    return opened;
}

RESHARD_DECL std::byte const* checkpoint::mapped(holder_t file) const {
    return first_bytes_.empty() ? nullptr : first_bytes_[file];
}

RESHARD_DECL void checkpoint::check_unchanged(holder_t file) const {
    if (detail::input_file const* const kept = kept_file(file))
        check_same(file, *kept);
    else
        open_file(file);
}

RESHARD_DECL void checkpoint::check_same(holder_t file, detail::input_file const& now) const {
    if (now.identity() != identities_[file])
        fail(errc::corrupt_file, names_[file],
             ": was written to, or replaced, after the checkpoint was opened, so what was read may "
             "be of two versions; open the checkpoint again");
}

RESHARD_DECL catalog catalog_of(checkpoint const& source) {
    return catalog_of(source.files_layout());
}

namespace detail {

RESHARD_DECL std::uint64_t digest_of(checkpoint_metadata const& metadata) {
    hasher digest;
    for (checkpoint_file const& file : metadata.files) {
        digest.add(file.path.filename().string());
        digest.add(file.bytes);
    }
    for (checkpoint_tensor const& tensor : metadata.tensors) {
        digest.add(tensor.key);
        digest.add(static_cast<std::uint64_t>(tensor.dtype));
        digest.add(tensor.shape);
        for (checkpoint_shard const& shard : tensor.shards) {
            flat_range const flat = shard.flat.value_or(flat_range{-1, -1});
            digest.add(index_vector{shard.file, flat.begin, flat.end});
            digest.add(shard.region.offset);
            digest.add(shard.region.shape);
            digest.add(shard.begin);
        }
    }
    add_value(digest, metadata.aliases);
    return digest.value();
}

} // namespace detail

} // namespace reshard

#endif
