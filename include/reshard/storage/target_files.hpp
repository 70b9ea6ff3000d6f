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
/// Assigns the results of a program to files.

namespace reshard {

namespace detail {

struct checkpoint_plan;

/// The options for writing a checkpoint.
struct write_options {
    /// The format, by its name in `checkpoint_metadata::format`: `torch_dcp`,
    /// `megatron_torch_dist`, `torch_save`, `paddle_flex`, `unified_checkpoint`, `npz`, `npy`, or
    /// one of safetensors (`huggingface`, `sharded_safetensors`, `safetensors`). Empty: sharded
    /// safetensors of a layout, or a Hugging Face directory. Formats of other libraries do not have
    /// our record and digests, so they have no numbers, program, texts or base. They store a tensor
    /// of several names once for each name, and cannot be saved in the background.
    std::string format = {};
    bool replace = false; ///< the new checkpoint replaces one at the target
    bool partial = false; ///< the target may lack elements, and its shards may share some
    /// If true, the checkpoint appears only when its bytes are on the disk. If false, it may be
    /// lost or incomplete if the machine stops soon afterwards.
    bool sync = true;
    /// If true, files and record have digests of their data, and loads compare the data with them.
    bool digests = true;
    /// Bytes of a tensor per digest. With small chunks a delta writes less, but headers are longer.
    /// From 512 bytes to 4 GiB.
    index_t chunk_bytes = index_t{1} << 20;
    /// The most bytes in a file of whole tensors; each file has at least one tensor. 0: 5 GB in
    /// Hugging Face's format, and no limit in a Unified Checkpoint, since PaddleNLP may read only
    /// one file of it.
    index_t most_file_bytes = 0;
    /// Numbers of the save for the record, such as `{{"step", 300}, {"loss", 1.5}}`: `retain` keeps
    /// the best by such a number. The first rank's numbers count.
    std::map<std::string, double> numbers = {};
    /// The text of the program that made the tensors, for people who read the record.
    std::string program = {};
    /// A checkpoint of this library that all ranks see. The new checkpoint is a delta: it has only
    /// the chunks whose digests differ, and refers to the base's files for the rest. It cannot be
    /// read without the base; `convert` makes it whole. Empty: all is written.
    std::string base = {};
    /// The store to write to; null: the file system. If several ranks save, all of them must reach
    /// the target that one of them began (`file_store::join`).
    std::shared_ptr<file_store const> files = {};
    /// The target is a single file of whole tensors, `NAME.safetensors`, not a directory. It has
    /// its own digests, but no record, and so no numbers.
    bool single_file = false;
    /// If true, each rank that holds a shard writes it into its own file, so that the rank finds
    /// all that it holds there. If false, equal shards are written once.
    bool replicas = false;
    /// As `replicas`, but files are named after their ranks, counted from 0:
    /// `rank-00000.safetensors`.
    bool per_rank = false;
    /// As `per_rank`, for a job that goes on in the same layout. A load by name must find all that
    /// a rank wants, unchanged, in that rank's own files; else it is refused. A load with a program
    /// is refused, too. `convert` makes it a checkpoint for any layout.
    ///
    /// \par Source the format of Megatron-Core's distributed optimizer that is not reshardable
    bool this_layout_only = false;
    /// Further texts for each file's metadata, under names that the files do not have already. The
    /// opened checkpoint returns them in `metadata().metadata`.
    std::map<std::string, std::string> texts = {};
    /// Chooses the writer among the ranks that hold equal shards of a tensor; by default, the rank
    /// with the fewest bytes to write. It is called on every rank, once for each such shard, the
    /// largest first, and must return the same rank everywhere. Only a rank that holds the shard
    /// may write it. Used for sharded saves.
    std::function<holder_t(std::string const& key, index_t bytes, vector<holder_t> const& ranks)>
        writer = {};
    /// The number of files over which the shards that a rank writes are spread, by bytes. There are
    /// fewer files if the rank has fewer shards, and more if it has more shards of one key. Used
    /// for sharded saves.
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

/// The different boxes of the shards. A shard of several blocks is one box. But if shards share
/// elements, each block is a box, since another shard may have only that block.
RESHARD_DECL part_index index_shards(shard_table const& shards);

/// As `find_cover_fault` for boxes; the time does not depend on the number of blocks.
RESHARD_DECL std::optional<cover_fault> find_cover_fault(index_vector const& shape,
                                                         part_index const& parts);

/// Refuses a layout that does not hold each element of its tensors exactly once. Replicas do not
/// count.
///
/// \throws error with errc::not_covered or errc::overlap, naming key, elements and ranks
RESHARD_DECL void check_complete(layout const& wanted);

/// True if the layout has both tensors, and the same ranks hold equal shards of them.
RESHARD_DECL bool have_same_holders(layout const& wanted, std::string const& name,
                                    std::string const& other);

} // namespace detail

/// The tensors that a program yields, as a catalog of whole tensors.
RESHARD_DECL catalog catalog_of(mapping const& program);

namespace detail {

/// The fused tensors among the written ones.
RESHARD_DECL fused_tensors fused_of(mapping const& program, std::optional<layout> const& wanted);

/// Refuses interleaved tensors for Megatron-Core: its ranks take gate and up from two places of the
/// whole tensor, regardless of the files.
///
/// \throws error with errc::unsupported
RESHARD_DECL void check_fused_order(fused_tensors const& fused, std::string_view format);

/// Plans the files of a checkpoint in the layout `wanted`. Without a layout, they are a Hugging
/// Face directory of all that `program` yields, or a single file of it.
///
/// \param  objects values that are not tensors
/// \param  aliases other names of these tensors. Names that the layout or the program has are kept
///         as names, and not written as tensors. If each rank's file has all that the rank holds, a
///         name is written as a tensor if other ranks hold it than hold the key's tensor
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
