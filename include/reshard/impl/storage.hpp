// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_IMPL_STORAGE_HPP
#define RESHARD_IMPL_STORAGE_HPP

/// \file
/// Loading and saving checkpoints, compiled once.

#include <reshard/storage/impl/aliases.ipp>
#include <reshard/storage/impl/async_state.ipp>
#include <reshard/storage/impl/checkpoint.ipp>
#include <reshard/storage/impl/checkpoint_listing.ipp>
#include <reshard/storage/impl/chunk_reader.ipp>
#include <reshard/storage/impl/compare.ipp>
#include <reshard/storage/impl/convert.ipp>
#include <reshard/storage/impl/delta_base.ipp>
#include <reshard/storage/impl/file_pieces.ipp>
#include <reshard/storage/impl/gathered_writes.ipp>
#include <reshard/storage/impl/load.ipp>
#include <reshard/storage/impl/merged_directories.ipp>
#include <reshard/storage/impl/model_state.ipp>
#include <reshard/storage/impl/plan_file.ipp>
#include <reshard/storage/impl/quantised_files.ipp>
#include <reshard/storage/impl/relayed_reads.ipp>
#include <reshard/storage/impl/relayed_windows.ipp>
#include <reshard/storage/impl/replacement.ipp>
#include <reshard/storage/impl/retention.ipp>
#include <reshard/storage/impl/save.ipp>
#include <reshard/storage/impl/save_async.ipp>
#include <reshard/storage/impl/shared_reads.ipp>
#include <reshard/storage/impl/shared_save.ipp>
#include <reshard/storage/impl/stored_tensor.ipp>
#include <reshard/storage/impl/target_files.ipp>
#include <reshard/storage/impl/tied_config.ipp>
#include <reshard/storage/impl/verify.ipp>
#include <reshard/storage/impl/window_reads.ipp>
#include <reshard/storage/impl/written_files.ipp>

#endif
