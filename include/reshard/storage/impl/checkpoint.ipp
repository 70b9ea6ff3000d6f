// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_CHECKPOINT_IPP
#define RESHARD_STORAGE_IMPL_CHECKPOINT_IPP

#include <reshard/storage/checkpoint.hpp>

#include <reshard/core/digest.hpp>
#include <reshard/format/checkpoint.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>

namespace reshard {

namespace detail {

/// The files of a store. Notes the identity of each file when it is first opened, before its header
/// is read.
class noted_files : public file_store {
public:
    explicit noted_files(std::shared_ptr<file_store const> below) : below_(std::move(below)) {}

    std::shared_ptr<file_store const> const& below() const { return below_; }

    kind find(std::filesystem::path const& path) const override { return below_->find(path); }

    vector<std::filesystem::path> list(std::filesystem::path const& directory) const override {
        return below_->list(directory);
    }

    std::unique_ptr<file> open(std::filesystem::path const& path) const override {
        auto opened = below_->open(path);
        std::lock_guard const lock(mutex_);
        facts_.try_emplace(path, opened->facts());
        return opened;
    }

    /// Refuses a file that was replaced, or written to, since it was first opened.
    void check_same(std::filesystem::path const& path, identity now) const {
        std::lock_guard const lock(mutex_);
        auto const match = facts_.find(path);
        if (match == facts_.end())
            return;
        now.bytes = match->second.bytes; // converted content has another size
        if (match->second != now)
            fail(errc::corrupt_file, path.string(),
                 ": was written to, or replaced, while it was opened; open the checkpoint again");
    }

private:
    std::shared_ptr<file_store const> below_;
    mutable std::mutex mutex_;
    mutable std::map<std::filesystem::path, identity> facts_;
};

} // namespace detail

RESHARD_DECL checkpoint::checkpoint(std::filesystem::path const& path, open_options const& options)
    : checkpoint(path, options,
                 std::make_shared<detail::noted_files const>(
                     options.files ? options.files : detail::files_of_system())) {}

RESHARD_DECL checkpoint::checkpoint(std::filesystem::path const& path, open_options const& options,
                                    std::shared_ptr<detail::noted_files const> const& noted) {
    if (options.mapped && options.files)
        fail(errc::usage, path.string(),
             ": only files of the file system can be mapped; omit `mapped` or the store of files");
    detail::opened_checkpoint opened = detail::open_files(noted, path, options.format);
    metadata_ = std::move(opened.metadata);
    read_objects_ = std::move(opened.read_objects);
    bool const is_as_stored = opened.files == noted;
    files_ = is_as_stored ? noted->below() : std::move(opened.files);
    auto const* const shown = dynamic_cast<detail::row_major_files const*>(files_.get());
    bool const is_mapped = options.mapped && (is_as_stored || (shown && shown->lowest() == noted));
    shown_ = is_mapped ? shown : nullptr;
    std::size_t const most_kept = detail::most_kept_files();
    for (detail::checkpoint_file const& file : metadata_.files) {
        auto now = files_->open(file.path);
        identities_.push_back(now->facts());
        if (is_as_stored || shown) // for a delta, this checks all its files
            noted->check_same(file.path, identities_.back());
        if (identities_.back().bytes != file.bytes)
            fail(errc::corrupt_file, file.path.string(),
                 ": the file changed while it was opened, from ", file.bytes, " bytes to ",
                 identities_.back().bytes);
        names_.push_back(file.path.string());
        if (is_mapped)
            first_bytes_.push_back(mapped_.emplace_back(file.path).data());
        else if (kept_.size() < most_kept)
            kept_.push_back(std::move(now));
    }
}

RESHARD_DECL checkpoint::checkpoint(checkpoint const& source, checkpoint_metadata metadata,
                                    std::shared_ptr<file_store const> files)
    : files_(std::move(files)),
      metadata_(std::move(metadata)),
      read_objects_(source.read_objects_),
      identities_(source.identities_) {
    std::size_t const most_kept = detail::most_kept_files();
    for (detail::checkpoint_file const& file : metadata_.files) {
        auto now = files_->open(file.path);
        if (names_.size() == identities_.size())
            identities_.push_back(now->facts());
        names_.push_back(file.path.string());
        if (kept_.size() < most_kept)
            kept_.push_back(std::move(now));
    }
}

RESHARD_DECL void checkpoint::add_warnings(vector<std::string> const& texts) {
    metadata_.warnings.insert(metadata_.warnings.end(), texts.begin(), texts.end());
}

RESHARD_DECL layout const& checkpoint::files_layout() const {
    std::call_once(views_->has_layout, [&] { views_->held = layout_of(metadata_); });
    return views_->held;
}

RESHARD_DECL detail::shard_views<const_tensor_view> const& checkpoint::shapes() const {
    std::call_once(views_->has_shapes,
                   [&] { views_->shapes = detail::shapes_in_files<const_tensor_view>(metadata_); });
    return views_->shapes;
}

RESHARD_DECL vector<detail::saved_object> checkpoint::read_objects() const {
    auto const keys = detail::readable_keys(metadata_);
    if (keys.empty())
        return {};
    if (!read_objects_)
        fail(errc::unsupported, metadata_.path.string(), ": '", keys.front(),
             "' is not a tensor, and values of ", metadata_.format,
             " are not carried to other formats; omit them");
    return read_objects_({keys.begin(), keys.end()});
}

RESHARD_DECL file_store::file const* checkpoint::kept_file(holder_t file) const {
    return file < kept_.size() ? kept_[file].get() : nullptr;
}

RESHARD_DECL std::unique_ptr<file_store::file> checkpoint::open_file(holder_t file) const {
    auto opened = files_->open(metadata_.files[file].path);
    check_same(file, *opened);
    return opened;
}

RESHARD_DECL std::byte const* checkpoint::mapped(detail::checkpoint_shard const& shard) const {
    if (first_bytes_.empty())
        return nullptr;
    std::byte const* const first = first_bytes_[shard.file];
    if (!shown_)
        return first + shard.begin;
    auto const real = shown_->real_bytes(metadata_.files[shard.file].path, shard.begin);
    return real ? first + real->begin : nullptr;
}

RESHARD_DECL void checkpoint::check_unchanged(holder_t file) const {
    if (file_store::file const* const kept = kept_file(file))
        check_same(file, *kept);
    else
        open_file(file);
}

RESHARD_DECL void checkpoint::check_same(holder_t file, file_store::file const& now) const {
    if (now.facts() != identities_[file])
        fail(errc::corrupt_file, names_[file],
             ": was written to, or replaced, after the checkpoint was opened, so the bytes read "
             "may come from two versions; open the checkpoint again");
}

RESHARD_DECL catalog catalog_of(checkpoint const& source) {
    return catalog_of(source.files_layout());
}

namespace detail {

RESHARD_DECL vector<std::string> readable_keys(checkpoint_metadata const& metadata) {
    vector<std::string> keys;
    for (checkpoint_object const& object : metadata.objects)
        if (object.opaque.empty())
            keys.push_back(object.key);
    return keys;
}

RESHARD_DECL std::uint64_t digest_of(checkpoint_metadata const& metadata) {
    hasher digest;
    digest.add(metadata.save);
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
            add_value(digest, shard.cycles);
        }
    }
    add_value(digest, metadata.aliases);
    return digest.value();
}

RESHARD_DECL std::shared_ptr<merged_directories const> united(checkpoint const& source) {
    return std::dynamic_pointer_cast<merged_directories const>(source.files());
}

RESHARD_DECL std::string call_on(std::string_view noun, checkpoint const& source) {
    checkpoint_metadata const& opened = source.metadata();
    if (!opened.save.empty())
        return std::string(noun) + " the save " + opened.save;
    return std::string(noun) + (united(source) ? " a checkpoint" : " " + opened.path.string());
}

RESHARD_DECL bool are_same(vector<std::uint64_t> const& digests) {
    return digests.front() != 0 &&
           std::ranges::count(digests, digests.front()) == std::ssize(digests);
}

RESHARD_DECL local_error not_everywhere(local_error problem, int rank,
                                        vector<std::uint64_t> const& digests) {
    auto const opened =
        std::ranges::find_if(digests, [](std::uint64_t index) { return index != 0; });
    if (!problem || opened == digests.end())
        return problem;
    return error(problem->code(),
                 words(problem->what(), " (rank ", rank, "; rank ", opened - digests.begin(),
                       " can open it: all ranks must see the same file system)"));
}

RESHARD_DECL void check_same_opened(std::filesystem::path const& path,
                                    vector<std::uint64_t> const& digests) {
    for (std::size_t rank = 1; rank < digests.size(); ++rank)
        if (digests[rank] != digests[0])
            fail(errc::ranks_disagree, path.string(), ": rank 0 and rank ", rank,
                 " see different files; do the ranks share this directory?");
}

} // namespace detail

RESHARD_DECL checkpoint open_checkpoint(mpi_group const& world, std::filesystem::path const& path,
                                        open_options const& options) {
    return open_checkpoint<mpi_group>(world, path, options);
}

} // namespace reshard

#endif
