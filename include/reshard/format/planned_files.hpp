// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

// Before the guard: in header-only mode, a later body includes this header.
#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint_plan.hpp>

#ifndef RESHARD_FORMAT_PLANNED_FILES_HPP
#define RESHARD_FORMAT_PLANNED_FILES_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/sharded_safetensors.hpp>
#include <reshard/layout/layout.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

/// \file
/// Plans files in the format of another library.

namespace reshard::detail {

/// The texts around the elements of files, if all these texts are known when the files are planned.
class known_texts : public file_texts {
public:
    explicit known_texts(vector<vector<placed_text>> around,
                         vector<std::pair<std::string, std::string>> others = {})
        : around_(std::move(around)), others_(std::move(others)) {}

    vector<placed_text> around(holder_t file, std::filesystem::path const&) const override {
        return around_[file];
    }

    vector<std::pair<std::string, std::string>> others() const override { return others_; }

private:
    vector<vector<placed_text>> around_; ///< one per file
    vector<std::pair<std::string, std::string>> others_;
};

/// Assembles the plan of files in another library's format, shard by shard.
class planned_files {
public:
    /// \pre `target` outlives this
    RESHARD_DECL planned_files(std::string_view format, layout const& target);

    /// Begins a file, which holds the shards of one rank. The next shards are in it.
    RESHARD_DECL void begin_file(std::string const& name, holder_t rank);

    /// Adds a shard to the last file; its elements are at `where`.
    RESHARD_DECL void add(file_shard const& shard, byte_run where);

    /// Sets the contents of the last file: it is a safetensors file of these shards.
    ///
    /// \param  names the names of the shards in the file; by default, their keys
    /// \return the texts before the elements
    RESHARD_DECL vector<placed_text>
    add_safetensors(vector<file_shard> const& shards,
                    std::map<std::string, std::string> const& metadata = {},
                    vector<std::string> const& names = {});

    /// Sets the number of bytes of the last file.
    RESHARD_DECL void end_file(std::uint64_t bytes);

    /// The metadata of everything that was added.
    checkpoint_metadata const& metadata() const { return plan_.metadata; }

    RESHARD_DECL checkpoint_plan take(std::shared_ptr<file_texts const> texts);

private:
    checkpoint_plan plan_;
    std::unordered_map<std::string_view, std::size_t> numbers_; ///< indices of tensors, by key
};

/// Refuses a flattened shard.
///
/// \throws error with errc::unsupported, naming its key
RESHARD_DECL void check_box(file_shard const& shard, std::string_view format);

/// The shards that each rank writes, sorted by key. Each different shard of the layout is written
/// once, or by all ranks that hold it, as `choices` says.
///
/// \throws error with errc::usage for a writer that does not hold the shard
RESHARD_DECL std::map<holder_t, vector<file_shard>> shards_by_writer(layout const& target,
                                                                     file_choices const& choices);

/// The limit of blocks per tensor, for formats that write each block as a separate shard.
inline constexpr index_t most_written_blocks = 4096;

/// The layout with each block as a shard, for formats that only have boxes.
///
/// \throws error with errc::unsupported for a tensor of more than `most_written_blocks` blocks
RESHARD_DECL layout with_separate_blocks(layout target, std::string_view format);

/// The shards of a layout that has one rank.
RESHARD_DECL vector<file_shard> shards_of_one(layout const& target, file_choices const& choices);

/// The values that are written as separate entries beside the tensors.
///
/// \throws error with errc::usage for a value with the key of a tensor
RESHARD_DECL vector<saved_object> objects_beside(layout const& target, file_choices const& choices);

/// Distributes the shards of a rank over files, so that no file has a key twice.
///
/// \pre `shards` is sorted by key
RESHARD_DECL vector<vector<file_shard>> split_by_key(vector<file_shard> shards);

/// The size of the shard's elements in bytes.
inline std::uint64_t bytes_of(file_shard const& shard) {
    return static_cast<std::uint64_t>(byte_count(element_count(stored_shape(shard)), shard.dtype));
}

/// The size of each shard in bytes.
RESHARD_DECL vector<std::uint64_t> bytes_of(vector<file_shard> const& shards);

/// The safetensors file of these shards. Its data begins at a cache line. In a large file, its data
/// begins at a page, because systems copy whole pages fastest.
///
/// \throws error as `plan_safetensors`
RESHARD_DECL safetensors_layout plan_of(vector<file_shard> const& shards,
                                        std::map<std::string, std::string> const& metadata,
                                        std::string_view file);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/planned_files.ipp>
#include <reshard/format/impl/shard_writers.ipp>
#endif

#endif
