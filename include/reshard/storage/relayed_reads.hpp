// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_RELAYED_READS_HPP
#define RESHARD_STORAGE_RELAYED_READS_HPP

#include <reshard/bind/options.hpp>
#include <reshard/core/config.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/storage/chunk_reader.hpp>
#include <reshard/storage/window_reads.hpp>

#include <vector>

/// \file
/// Windows of files that several nodes need: one rank of all reads and verifies each, and the nodes
/// pass it on.

namespace reshard::detail {

/// Reads the windows that several nodes need, each once, and takes them from `mine`.
///
/// A window goes from node to node in messages, along a chain or a tree; which node reads it takes
/// turns. On a node one rank receives it and passes it on, and all copy from memory that they
/// share. So a rank needs twice `most_slot_bytes` of it at most. Nothing is read, and `mine` stays,
/// where a node is refused that memory.
///
/// Of `how` it matters whether what saves little is passed on, too.
///
/// \param mine the windows that this rank needs, in the order of files
/// \par Collective every rank of the group, in the same order, with the same checkpoint
/// \return what this rank could not read: it goes on, since others wait for it
/// \throws error as `agreed_node_of`; errc::deadline
RESHARD_DECL local_error read_relayed(mpi_group const& world, chunk_reader& reader,
                                      window_reads& reads, std::vector<window_run>& mine,
                                      file_reads how);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/relayed_reads.ipp>
#endif

#endif
