// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_FILE_PIECES_HPP
#define RESHARD_STORAGE_FILE_PIECES_HPP

#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/format/checkpoint_plan.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/storage/chunk_reader.hpp>

#include <vector>

/// \file
/// Which process writes which bytes of a checkpoint.

namespace reshard::detail {

/// A run of bytes of a shard in a file, which one process writes.
///
/// \invariant it begins and ends at chunks
struct file_piece {
    shard_place position; ///< in the plan's metadata
    byte_run bytes;
    holder_t process = 0;
    /// No process holds all of its elements: they come from several.
    bool is_gathered = false;
};

/// The pieces of all files in the order of tensors, shards and bytes; a shard without elements has
/// one too.
using file_pieces = std::vector<file_piece>;

/// Whole shards: each is written by the process that plays the rank whose file it is in.
RESHARD_DECL file_pieces pieces_by_rank(checkpoint_plan const& files, int size);

/// All processes write about the same number of bytes, each as one run.
RESHARD_DECL file_pieces pieces_by_bytes(checkpoint_plan const& files, int size);

/// Whole tensors that `program` makes: each chunk is written by a process that holds all that it is
/// made of, of several the one that has least to write so far. What no process can make alone is
/// gathered by each in turn.
///
/// \param source which process holds which parts of the program's sources
/// \pre each tensor of `files` is one shard, and an output of `program`
RESHARD_DECL file_pieces pieces_by_holder(checkpoint_plan const& files, mapping const& program,
                                          layout const& source, int size);

/// A piece as a shard that its process holds.
RESHARD_DECL shard_descriptor descriptor_of(checkpoint_metadata const& written,
                                            file_piece const& piece);

/// Who writes what, as a layout of processes: tensor `i` is tensor `i` of the metadata, its shard
/// `j` the tensor's piece `j`.
RESHARD_DECL layout layout_of(checkpoint_metadata const& written, file_pieces const& pieces,
                              int size);

/// The pieces without memory, found by their index in that layout (see `shapes_in_files`).
RESHARD_DECL shard_views<tensor_view> shapes_of(checkpoint_metadata const& written,
                                                file_pieces const& pieces);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/file_pieces.ipp>
#endif

#endif
