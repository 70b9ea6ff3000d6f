// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_CHECKPOINT_PLAN_HPP
#define RESHARD_FORMAT_CHECKPOINT_PLAN_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/format/chunk_digests.hpp>
#include <reshard/format/save_record.hpp>
#include <reshard/format/text_file.hpp>
#include <reshard/layout/layout.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

/// \file
/// A planned checkpoint: everything except the data.

namespace reshard::detail {

/// The contents of files in another library's format, except the elements of tensors.
class file_texts {
public:
    file_texts() = default;
    file_texts(file_texts const&) = delete;
    file_texts& operator=(file_texts const&) = delete;
    virtual ~file_texts() = default;

    /// The texts of a file before, between and after the elements.
    ///
    /// \param written the path of the file, which already has all its elements, if the file is in
    ///                the file system
    virtual vector<placed_text> around(holder_t file,
                                       std::filesystem::path const& written) const = 0;

    /// Files without elements, with their names. The last file completes the checkpoint.
    virtual vector<std::pair<std::string, std::string>> others() const { return {}; }
};

/// The metadata that the checkpoint will have when it is opened, and the texts in its files before
/// the data.
///
/// \invariant `headers` and `ranks` have an entry for each of `metadata.files`; the paths in these
///            are file names
struct checkpoint_plan {
    checkpoint_metadata metadata;
    vector<std::string> headers; ///< the first bytes of each file; the data follows
    vector<holder_t> ranks;      ///< the rank whose shards a file holds
    holder_t holders = 0;        ///< the number of ranks of the layout; 0: no layout
    std::string index; ///< the text of `model.safetensors.index.json`; empty without an index
    /// True if the checkpoint is one file that its own digests check. Such a file has no save id,
    /// because a save id needs a record.
    bool is_file = false;
    /// The contents of files in another library's format. Such files have none of our headers,
    /// digests and records.
    std::shared_ptr<file_texts const> texts{};
};

/// The parts of a checkpoint that depend on its data.
struct sealed_checkpoint {
    vector<std::string> headers;         ///< one per file, as long as the plan's
    std::string record;                  ///< the text of `reshard.json`; empty for a single file
    std::string save;                    ///< the id of the save; empty for a single file
    vector<std::string> delta_headers{}; ///< one per file of a delta
    std::optional<record_delta> delta{}; ///< the delta in the record
};

/// Puts the digests of the data and the id of the save into the headers and the record. The id is a
/// digest of everything that is written, so equal tensors in the same form give the same id.
///
/// \param digests the digests of each file
/// \param salt    further input of the id, if digests do not distinguish saves
/// \param facts   further facts of the record; the id does not depend on these
/// \param delta   the delta, without digests of headers, if the save is a delta
RESHARD_DECL sealed_checkpoint seal(checkpoint_plan const& plan,
                                    vector<chunk_digests> const& digests,
                                    std::string_view salt = {}, save_facts const& facts = {},
                                    std::optional<record_delta> delta = {});

/// The shards of each file, in the order of their data.
template <class Metadata>
auto shards_by_file(Metadata& value) {
    using shard = std::remove_reference_t<decltype(value.tensors[0].shards[0])>;
    vector<vector<shard*>> files(value.files.size());
    for (auto& tensor : value.tensors)
        for (shard& element : tensor.shards)
            files[element.file].push_back(&element);
    for (auto& shards : files)
        std::sort(shards.begin(), shards.end(), [](shard const* a, shard const* b) {
            return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
        });
    return files;
}

/// Chooses the writer if several ranks hold equal shards of a tensor. The function gets the
/// tensor's key, the bytes of the shard and the ranks, and returns one of these ranks.
using writer_choice =
    std::function<holder_t(std::string const& key, index_t bytes, vector<holder_t> const& ranks)>;

/// Options of a checkpoint's files.
struct file_choices {
    /// The size of the chunks that have digests; 0: files have no digests.
    std::uint64_t chunk_bytes = chunk_digests::usual_chunk_bytes;
    std::map<std::string, std::string> aliases = {}; ///< other names of tensors, with their keys
    std::map<std::string, std::string> texts = {}; ///< texts of the user, for each file's metadata
    /// For sharded files: called for each shard that several ranks hold, the largest first.
    writer_choice writer = {};
    index_t files_per_rank = 1;        ///< a rank's shards are spread over its files by bytes
    index_t most_file_bytes = 0;       ///< as in `write_options`
    bool replicas = false;             ///< each rank writes all its shards into its own file
    bool per_rank = false;             ///< as `replicas`, in files that are named after their ranks
    fused_tensors fused = {};          ///< how tensors were fused, for each file's metadata
    vector<saved_object> objects = {}; ///< other values, if the format can hold them
    /// For GGUF: the schemes of tensors whose bytes are quantised blocks, by key.
    std::map<std::string, std::string> blocks = {};
};

/// Plans sharded safetensors files for the layout. Each different shard is written once. If several
/// ranks hold a shard, one of them is chosen, so that all ranks write about the same number of
/// bytes. Each rank that writes has a file.
///
/// A rank with several shards of one key has several files, because a file has a key only once.
/// There is at least one file.
///
/// \pre    the layout is checked (see `check` of descriptors)
/// \throws error as `plan_safetensors` does; errc::usage for a text whose name is ours or whose
///         value is a key, for a writer that does not hold the shard, and for fewer than one file
///         per rank
RESHARD_DECL checkpoint_plan plan_sharded(layout const& target, file_choices const& choices = {});

/// The default limit for the data of a file in a Hugging Face directory, in bytes.
inline constexpr index_t huggingface_file_bytes = 5'000'000'000;

/// A Hugging Face directory of whole tensors, in files of at most `most_bytes` bytes of data each
/// (but at least one tensor), with an index if there are several files.
///
/// \throws error as `plan_safetensors` does; errc::overflow if the total number of bytes does not
///         fit 64 bits; errc::usage as `plan_sharded` for texts
RESHARD_DECL checkpoint_plan plan_huggingface(catalog tensors,
                                              index_t most_bytes = huggingface_file_bytes,
                                              file_choices const& choices = {});

/// One file of whole tensors, which is a complete checkpoint.
///
/// \throws error as `plan_huggingface`
RESHARD_DECL checkpoint_plan plan_file(catalog tensors, file_choices const& choices = {});

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/checkpoint_plan.ipp>
#endif

#endif
