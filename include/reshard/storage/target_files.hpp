// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_TARGET_FILES_HPP
#define RESHARD_STORAGE_TARGET_FILES_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/os/file_store.hpp>
#include <reshard/plan/shard_index.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

/// \file
/// Assigns the tensors that a program makes to files.

namespace reshard {

namespace detail {

struct checkpoint_plan;

/// The options for writing a checkpoint.
struct write_options {
    /// The format, by its name in `checkpoint_metadata::format`: `torch_dcp`,
    /// `megatron_torch_dist`, `torch_save`, `paddle_flex`, `unified_checkpoint`, `gguf`, `npz`,
    /// `npy`, or one of safetensors (`huggingface`, `sharded_safetensors`, `safetensors`). Empty:
    /// sharded safetensors of a layout, or a Hugging Face directory. Formats of other libraries
    /// have no record and no digests, and so no numbers, program, texts or base. They store a
    /// tensor with several names once for each name, and cannot be saved in the background.
    std::string format = {};
    bool replace = false; ///< if true, replaces an existing checkpoint at the target
    bool partial = false; ///< if true, shards may share elements or leave gaps; keep `digests`
                          ///< then, or `verify` refuses the checkpoint
    /// If true, the checkpoint appears only when its bytes are on the disk. If false, it may be
    /// lost or incomplete if the machine stops soon after.
    bool sync = true;
    /// If true, files and record contain digests of the data, and loads compare the data with them.
    bool digests = true;
    /// Bytes of a tensor per digest, from 512 bytes to 4 GiB. With small chunks a delta writes less
    /// data, but headers are longer.
    index_t chunk_bytes = index_t{1} << 20;
    /// The most bytes in a file of whole tensors. Each file has at least one tensor. 0: 5 GB in
    /// Hugging Face's format, and no limit in a Unified Checkpoint, from which PaddleNLP may read
    /// only one file.
    index_t most_file_bytes = 0;
    /// Numbers for the record, such as `{{"step", 300}, {"loss", 1.5}}`. `retain` can keep the
    /// saves with the best numbers. The numbers of the first rank are written.
    std::map<std::string, double> numbers = {};
    /// The text of the program that made the tensors, for readers of the record.
    std::string program = {};
    /// The path of a checkpoint of this library that all ranks see. The new checkpoint is a delta:
    /// it has only the chunks whose digests differ, and refers to the base for the other chunks. It
    /// cannot be read without the base; `convert` makes it independent. Empty: all chunks are
    /// written.
    std::string base = {};
    /// The store to write to; null: the file system. If several ranks save, every rank must be able
    /// to join a target that another rank began (`file_store::join`).
    std::shared_ptr<file_store const> files = {};
    /// If true, the target is a single file of whole tensors, `NAME.safetensors`, not a directory.
    /// The file has digests, but no record, and so no numbers.
    bool single_file = false;
    /// If true, each rank writes all shards that it holds into its own file. If false, equal shards
    /// are written once.
    bool replicas = false;
    /// As `replicas`, but with ranks as file names, counted from 0: `rank-00000.safetensors`.
    bool per_rank = false;
    /// As `per_rank`, for a job that continues in the same layout. A load by name is refused unless
    /// a rank's own files contain exactly the shards that it wants. A load with a program is
    /// refused. `convert` makes it a checkpoint for any layout.
    ///
    /// \par Source the non-reshardable format of Megatron-Core's distributed optimizer
    bool this_layout_only = false;
    /// More texts for the metadata of each file, under names that the files do not use. An opened
    /// checkpoint has them in `metadata().metadata`.
    std::map<std::string, std::string> texts = {};
    /// Chooses the writer of a shard among the ranks that hold it; by default, the rank with the
    /// fewest bytes to write. Every rank calls it, once for each shard, from the largest to the
    /// smallest. It must return the same rank everywhere, and the rank must hold the shard. For
    /// sharded saves.
    std::function<holder_t(std::string const& key, index_t bytes, vector<holder_t> const& ranks)>
        writer = {};
    /// The number of files that a rank divides its shards among, by bytes. A rank with fewer shards
    /// writes fewer files. A rank with more shards of one key writes more files. For sharded saves.
    index_t files_per_rank = 1;

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.format, self.replace, self.partial, self.sync, self.digests, self.chunk_bytes,
              self.most_file_bytes, self.program, self.base, self.single_file, self.replicas,
              self.per_rank, self.this_layout_only, self.texts, self.files_per_rank);
    }
    static constexpr std::string_view member_names[] = {
        "format",      "replace",         "partial",          "sync",  "digests",
        "chunk_bytes", "most_file_bytes", "program",          "base",  "single_file",
        "replicas",    "per_rank",        "this_layout_only", "texts", "files_per_rank"};
};

/// Indexes the different boxes of the shards. A shard of several blocks is one box. But if shards
/// share elements, each block is a box, since another shard may have only that block.
RESHARD_DECL part_index index_shards(shard_table const& shards);

/// As `find_cover_fault` for boxes. Its time does not depend on the number of blocks.
RESHARD_DECL std::optional<cover_fault> find_cover_fault(index_vector const& shape,
                                                         part_index const& parts);

/// Refuses a layout unless its shards tile its tensors. Replicas do not count.
///
/// \throws error with errc::not_covered or errc::overlap, naming key, elements and ranks
RESHARD_DECL void check_complete(layout const& wanted);

/// True if the layout has both tensors, and the same ranks hold equal shards of both.
RESHARD_DECL bool have_same_holders(layout const& wanted, std::string const& name,
                                    std::string const& other);

} // namespace detail

/// The catalog of the whole tensors that a program makes.
RESHARD_DECL catalog catalog_of(mapping const& program);

namespace detail {

/// The fused tensors among the written tensors.
RESHARD_DECL fused_tensors fused_of(mapping const& program, std::optional<layout> const& wanted);

/// Refuses interleaved tensors for Megatron-Core, since its ranks take gate and up from two regions
/// of the whole tensor, regardless of the files.
///
/// \throws error with errc::unsupported
RESHARD_DECL void check_fused_order(fused_tensors const& fused, std::string_view format);

/// Plans the files of a checkpoint in the layout `wanted`. Without a layout, plans a Hugging Face
/// directory or a single file with all tensors of `program`.
///
/// \param  objects values that are not tensors
/// \param aliases other names of these tensors. Names that the layout or the program has stay
///         aliases, and are not written as tensors. But if each rank's file has all that the rank
///         holds, and an alias and its key are on different ranks, both are written as tensors
/// \throws error as `check_complete` unless `options.partial`, as `plan_sharded` and as
///         `check_numbers`; with errc::usage for a single file with a layout or numbers, for
///         replicas without a layout, for a program that is not UTF-8, and for `chunk_bytes` out of
///         range; with errc::unsupported for a tensor or value that the format cannot hold, naming
///         the key
RESHARD_DECL checkpoint_plan files_for(mapping const& program, std::optional<layout> const& wanted,
                                       write_options const& options,
                                       std::map<std::string, std::string> const& aliases = {},
                                       vector<saved_object> objects = {});

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/target_files.ipp>
#endif

#endif
