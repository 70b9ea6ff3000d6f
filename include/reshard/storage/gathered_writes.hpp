// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_GATHERED_WRITES_HPP
#define RESHARD_STORAGE_GATHERED_WRITES_HPP

#include <reshard/core/config.hpp>
#include <reshard/device/device.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/group/solo.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/mpi/mpi_group.hpp>
#include <reshard/storage/file_pieces.hpp>
#include <reshard/storage/written_files.hpp>
#include <reshard/tensor/state_dict.hpp>

/// \file
/// Writes pieces of files whose elements several processes hold.

namespace reshard::detail {

/// Tensors in the memory of ranks. A program makes the written tensors from them.
struct held_sources {
    layout const& all;               ///< the layout of the tensors of all ranks
    mapping const& program;          ///< makes the written tensors; has no relations
    const_state_dict const& tensors; ///< the tensors of this process
    device_list const& devices;      ///< of these tensors
};

/// Writes the gathered pieces of `pieces`. One process writes each piece; the others copy or send
/// their elements to it. Ranks that share memory do so window by window.
///
/// \par Collective every rank of the group, in the same order, with equal pieces
/// \throws error with errc::io, on every rank
RESHARD_DECL void put_gathered(solo const& alone, written_files& writer, file_pieces pieces,
                               held_sources const& from);
RESHARD_DECL void put_gathered(mpi_group const& world, written_files& writer, file_pieces pieces,
                               held_sources const& from);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/gathered_writes.ipp>
#endif

#endif
