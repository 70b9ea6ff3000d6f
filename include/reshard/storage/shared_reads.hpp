// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_SHARED_READS_HPP
#define RESHARD_STORAGE_SHARED_READS_HPP

#include <reshard/bind/options.hpp>
#include <reshard/core/config.hpp>
#include <reshard/group/agree.hpp>
#include <reshard/group/solo.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/storage/chunk_reader.hpp>
#include <reshard/storage/window_reads.hpp>

/// \file
/// Windows of files that several ranks of a node need: one of them reads and verifies each, and all
/// copy what they need from memory that they share.

namespace reshard::detail {

/// Reads what the loops of this rank need.
///
/// \throws error as `chunk_reader::read`
inline void read_windows(solo const&, chunk_reader& reader, window_reads& reads, options const&) {
    run(reader, reads);
}

/// The same of all ranks, as `how.reads` says; with `how.relays`, what several nodes need is read
/// once, see `read_relayed`.
///
/// \par Collective every rank of the group, in the same order, with the same checkpoint and options
/// \throws error as `chunk_reader::read`, on every rank alike
RESHARD_DECL void read_windows(mpi_group const& world, chunk_reader& reader, window_reads& reads,
                               options const& how);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/shared_reads.ipp>
#endif

#endif
