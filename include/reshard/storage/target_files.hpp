// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_TARGET_FILES_HPP
#define RESHARD_STORAGE_TARGET_FILES_HPP

#include <reshard/core/config.hpp>
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
#include <vector>

/// \file
/// Which files a program's results go to.

namespace reshard {

namespace detail {

struct checkpoint_plan;

/// How a checkpoint is written.
struct write_options {
    /// The format, by the name that `checkpoint_metadata::format` has of it: `torch_dcp`,
    /// `megatron_torch_dist`, `torch_save`, `paddle_flex`, `unified_checkpoint`, `npz`, `npy`, or
    /// one of safetensors (`huggingface`, `sharded_safetensors`, `safetensors`). Empty: sharded
    /// safetensors of a layout, or a Hugging Face directory. Those of other libraries have no
    /// record and no digests of ours, so no numbers, program, texts or base, and tensors of several
    /// names are written once for each; they are not saved in the background.
    std::string format = {};
    bool replace = false; ///< a checkpoint that is at the target gives way to the new one
    bool partial = false; ///< the target may leave elements out, and its shards may share some
    /// The checkpoint appears when its bytes are on the disk; else it may be lost, or incomplete,
    /// if the machine stops soon after.
    bool sync = true;
    /// Files and record have digests of their data, with which loads compare it.
    bool digests = true;
    /// Of a tensor's own bytes, as much as a digest is of: small ones let a delta write less, and
    /// make headers longer. From 512 bytes to 4 GiB.
    index_t chunk_bytes = index_t{1} << 20;
    /// Of a file of whole tensors, which has one at least. 0: 5 GB in Hugging Face's format, no
    /// limit in a Unified Checkpoint, of which PaddleNLP may read one file alone.
    index_t most_file_bytes = 0;
    /// Numbers of the save for the record, such as `{{"step", 300}, {"loss", 1.5}}`: `retain` keeps
    /// the best by such a number. The first rank's numbers count.
    std::map<std::string, double> numbers = {};
    /// The text of the program that made the tensors, for people who read the record.
    std::string program = {};
    /// A checkpoint of ours that all ranks see: the new one is a delta, which has only the chunks
    /// whose digests differ, and refers to that one's files for the rest. Without that one it
    /// cannot be read; `convert` makes it whole. Empty: all is written.
    std::string base = {};
    /// Where files are written; nothing: in the file system. Where several ranks save, all of them
    /// must reach what one of them began (`file_store::join`).
    std::shared_ptr<file_store const> files = {};
    /// The target is one file, `NAME.safetensors`, of whole tensors, not a directory. It has its
    /// own digests and no record, so no numbers.
    bool single_file = false;
    /// Each rank that holds a shard writes it into its own file, so that it finds all that it holds
    /// there; else equal shards are written once.
    bool replicas = false;
    /// As `replicas`, in files that are named after their ranks, counted from 0:
    /// `rank-00000.safetensors`.
    bool per_rank = false;
    /// As `per_rank`, for a job that goes on as it was: a load by name finds all that a rank wants,
    /// unchanged, in that rank's own files, or is refused, as is a load with a program. `convert`
    /// makes it a checkpoint for any layout.
    ///
    /// \par Source the format of Megatron-Core's distributed optimizer that is not reshardable
    bool this_layout_only = false;
    /// More for each file's metadata, by names that the files do not have already: the opened
    /// checkpoint gives it back in `metadata().metadata`.
    std::map<std::string, std::string> texts = {};
    /// Which of the ranks that hold equal shards of a tensor writes it; by default, the one that
    /// has the fewest bytes to write. It is called on every rank, once for each such shard, the
    /// largest first, and must give the same everywhere: only ranks that hold a shard write it.
    /// Sharded saves ask it.
    std::function<holder_t(std::string const& key, index_t bytes,
                           std::vector<holder_t> const& ranks)>
        writer = {};
    /// How many files the shards that a rank writes are spread over, by bytes: fewer if it has
    /// fewer shards, more if it has more shards of one key. Of sharded saves.
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

/// The different boxes of the shards. A shard that is blocks is one box, unless shards share
/// elements: then each block is, as another shard may have it alone.
RESHARD_DECL part_index index_shards(shard_table const& shards);

/// As `find_cover_fault` of boxes; the time does not depend on the number of blocks.
RESHARD_DECL std::optional<cover_fault> find_cover_fault(index_vector const& shape,
                                                         part_index const& parts);

/// Refuses a layout that does not hold each element of its tensors once, replicas aside.
///
/// \throws error with errc::not_covered or errc::overlap, naming key, elements and ranks
RESHARD_DECL void check_complete(layout const& wanted);

/// Whether the same ranks hold equal shards of two tensors, both of which the layout has.
RESHARD_DECL bool have_same_holders(layout const& wanted, std::string const& name,
                                    std::string const& other);

} // namespace detail

/// The tensors that a program yields, as a catalog of whole tensors.
RESHARD_DECL catalog catalog_of(mapping const& program);

namespace detail {

/// The fused tensors among those that are written.
RESHARD_DECL fused_tensors fused_of(mapping const& program, std::optional<layout> const& wanted);

/// Refuses interleaved tensors for Megatron-Core, whose ranks take gate and up from two places of
/// the whole tensor, however the files are cut.
///
/// \throws error with errc::unsupported
RESHARD_DECL void check_fused_order(fused_tensors const& fused, std::string_view format);

/// The files of a checkpoint in the layout `wanted`, or, without one, of a Hugging Face directory
/// of everything that `program` yields, or the single file of that.
///
/// \param  objects  values that are not tensors
/// \param  aliases other names of these tensors: those that the layout or the program has are not
///         written, but kept as names. Where each rank's file has all that it holds, those that
///         other ranks hold than the tensor are written
/// \throws error as `check_complete` unless `options.partial`, as `plan_sharded` and as
///         `check_numbers`; with errc::usage for a single file that is to have a layout or numbers,
///         for replicas without a layout, a program that is not UTF-8, and `chunk_bytes` out of
///         range; with errc::unsupported for a tensor or value that the format cannot hold, naming
///         the key
RESHARD_DECL checkpoint_plan files_for(mapping const& program, std::optional<layout> const& wanted,
                                       write_options const& options,
                                       std::map<std::string, std::string> const& aliases = {},
                                       std::vector<saved_object> objects = {});

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/target_files.ipp>
#endif

#endif
