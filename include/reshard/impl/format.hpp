// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_IMPL_FORMAT_HPP
#define RESHARD_IMPL_FORMAT_HPP

/// \file
/// The formats of checkpoints, compiled once.

#include <reshard/format/dcp/impl/dcp.ipp>
#include <reshard/format/dcp/impl/dcp_items.ipp>
#include <reshard/format/dcp/impl/dcp_plan.ipp>
#include <reshard/format/gguf/impl/gguf.ipp>
#include <reshard/format/gguf/impl/gguf_parts.ipp>
#include <reshard/format/impl/checkpoint.ipp>
#include <reshard/format/impl/checkpoint_metadata.ipp>
#include <reshard/format/impl/checkpoint_plan.ipp>
#include <reshard/format/impl/checkpoint_reader.ipp>
#include <reshard/format/impl/chunk_digests.ipp>
#include <reshard/format/impl/delta_files.ipp>
#include <reshard/format/impl/detect_format.ipp>
#include <reshard/format/impl/directory_hint.ipp>
#include <reshard/format/impl/format_limits.ipp>
#include <reshard/format/impl/found_files.ipp>
#include <reshard/format/impl/fused_text.ipp>
#include <reshard/format/impl/hf_index.ipp>
#include <reshard/format/impl/json_document.ipp>
#include <reshard/format/impl/layout_file.ipp>
#include <reshard/format/impl/layout_rules.ipp>
#include <reshard/format/impl/layout_table.ipp>
#include <reshard/format/impl/network_file.ipp>
#include <reshard/format/impl/open_safetensors.ipp>
#include <reshard/format/impl/opened_checkpoint.ipp>
#include <reshard/format/impl/other_names.ipp>
#include <reshard/format/impl/part_names.ipp>
#include <reshard/format/impl/planned_files.ipp>
#include <reshard/format/impl/rank_file_names.ipp>
#include <reshard/format/impl/rank_files.ipp>
#include <reshard/format/impl/rank_placement.ipp>
#include <reshard/format/impl/row_major_files.ipp>
#include <reshard/format/impl/safetensors.ipp>
#include <reshard/format/impl/safetensors_events.ipp>
#include <reshard/format/impl/save_record.ipp>
#include <reshard/format/impl/save_record_text.ipp>
#include <reshard/format/impl/shard_writers.ipp>
#include <reshard/format/impl/tensor_union.ipp>
#include <reshard/format/impl/tie_flags.ipp>
#include <reshard/format/impl/written_formats.ipp>
#include <reshard/format/megatron/impl/torch_dist.ipp>
#include <reshard/format/names/impl/master_weights.ipp>
#include <reshard/format/names/impl/numbered_names.ipp>
#include <reshard/format/names/impl/variable_names.ipp>
#include <reshard/format/numpy/impl/npy.ipp>
#include <reshard/format/numpy/impl/npy_array.ipp>
#include <reshard/format/numpy/impl/npy_plan.ipp>
#include <reshard/format/paddle/impl/paddle.ipp>
#include <reshard/format/paddle/impl/paddle_plan.ipp>
#include <reshard/format/paddle/impl/paddle_saved.ipp>
#include <reshard/format/paddle/impl/unified.ipp>
#include <reshard/format/paddle/impl/unified_plan.ipp>
#include <reshard/format/pickle/impl/encoded_bytes.ipp>
#include <reshard/format/pickle/impl/named_values.ipp>
#include <reshard/format/pickle/impl/pickle.ipp>
#include <reshard/format/pickle/impl/pickle_copy.ipp>
#include <reshard/format/pickle/impl/pickle_reader.ipp>
#include <reshard/format/pickle/impl/pickle_writer.ipp>
#include <reshard/format/torch/impl/deepspeed.ipp>
#include <reshard/format/torch/impl/object_text.ipp>
#include <reshard/format/torch/impl/torch_archive.ipp>
#include <reshard/format/torch/impl/torch_parts.ipp>
#include <reshard/format/torch/impl/torch_save.ipp>
#include <reshard/format/torch/impl/torch_tensors.ipp>
#include <reshard/format/zip/impl/inflated_files.ipp>
#include <reshard/format/zip/impl/stored_zip.ipp>
#include <reshard/format/zip/impl/zip_plan.ipp>

#endif
