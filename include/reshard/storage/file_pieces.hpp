// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_FILE_PIECES_HPP
#define RESHARD_STORAGE_FILE_PIECES_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/format/checkpoint_plan.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/storage/chunk_reader.hpp>

/// \file
/// Divides the bytes of a checkpoint among the processes that write them.

namespace reshard::detail {

/// A run of bytes of a stored shard that one process writes.
///
/// \invariant the run begins and ends at chunk boundaries
struct file_piece {
    shard_place position; ///< index in the plan's metadata
    byte_run bytes;
    holder_t process = 0;
    /// True if its elements come from several processes, since none holds all of them.
    bool is_gathered = false;
};

/// The pieces of all files, in the order of tensors, shards and bytes. A shard without elements has
/// one piece.
using file_pieces = vector<file_piece>;

/// One piece for each shard. The process that plays the rank of the shard's file writes the piece.
RESHARD_DECL file_pieces pieces_by_rank(checkpoint_plan const& files, int size);

/// Divides all bytes into consecutive runs of about equal size, one for each process.
RESHARD_DECL file_pieces pieces_by_bytes(checkpoint_plan const& files, int size);

/// The pieces of the whole tensors of `program`. A chunk is written by a process that holds all its
/// sources; among several, by the process with the fewest bytes to write so far. The processes take
/// turns in gathering chunks whose sources several processes hold.
///
/// \param source the layout of the program's sources on the processes
/// \pre each tensor of `files` is one shard, and an output of `program`
RESHARD_DECL file_pieces pieces_by_holder(checkpoint_plan const& files, mapping const& program,
                                          layout const& source, int size);

/// The descriptor of a piece as a shard that its process holds.
RESHARD_DECL shard_descriptor descriptor_of(checkpoint_metadata const& written,
                                            file_piece const& piece);

/// The pieces as a layout of the processes that write them. Tensor `i` is tensor `i` of the
/// metadata, and its shard `j` is the tensor's piece `j`.
RESHARD_DECL layout layout_of(checkpoint_metadata const& written, file_pieces const& pieces,
                              int size);

/// Views of the pieces without memory, by their index in that layout (see `shapes_in_files`).
RESHARD_DECL shard_views<tensor_view> shapes_of(checkpoint_metadata const& written,
                                                file_pieces const& pieces);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/file_pieces.ipp>
#endif

#endif
