// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_DCP_DCP_HPP
#define RESHARD_FORMAT_DCP_DCP_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint_plan.hpp>
#include <reshard/format/opened_checkpoint.hpp>
#include <reshard/format/row_major_files.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/os/file_store.hpp>

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

/// \file
/// The native format of torch.distributed.checkpoint: `.metadata` and `__0_0.distcp`. `torch_dist`
/// of Megatron-Core adds the common state.

namespace reshard::detail {

/// The name of the metadata file, which is written last and lists the items.
inline constexpr std::string_view dcp_metadata_name = ".metadata";

/// A file with numbered items. It is read when one of its shards is needed.
struct dcp_file {
    std::string name;
    vector<byte_run> items;                  ///< their ranges in the file
    std::map<std::size_t, std::string> keys; ///< the keys of items that are in a safetensors file

    /// The positions of the elements of a shard.
    ///
    /// \throws error with errc::corrupt_file if the item and the metadata describe different shards
    RESHARD_DECL strided_bytes find(file_store::file const& opened, shown_shard const& expected,
                                    std::size_t number) const;

private:
    RESHARD_DECL file_tensor tensor(file_store::file const& opened, std::size_t number) const;
};

/// Opens the checkpoint with that `.metadata` file. Reads the values that are not tensors, in the
/// files beside it, to find the opaque values. The position of a shard's elements in its item is
/// only read with the item.
///
/// \throws error with errc::corrupt_file for metadata that contradicts itself, or refers to bytes
///         that a file does not have; errc::missing_file for a file that does not exist;
///         errc::unsupported for contents that metadata of torch 2.0 to 2.15 does not have, and for
///         items that an extension transformed
/// \par Source torch.distributed.checkpoint, `FileSystemWriter` of torch 2.0 to 2.15; there any
///             pickle is executed
RESHARD_DECL opened_checkpoint open_dcp(std::shared_ptr<file_store const> files,
                                        std::filesystem::path const& metadata);

/// Plans files of the layout in the native format of torch.distributed.checkpoint. Each different
/// shard is written once. Rank `R` has the file `__R_0.distcp`. Objects are in the first file.
///
/// Names of tensors are not split: in `planner_data`, the path of a name is the name itself.
///
/// \throws error with errc::unsupported for flattened shards and for data types that torch does not
///         have, naming the key
/// \par Source torch.distributed.checkpoint, `FileSystemWriter`; its classes exist since torch 2.3
RESHARD_DECL checkpoint_plan plan_dcp(layout const& target, file_choices const& choices);

/// The file that says how the other files were written.
inline constexpr std::string_view megatron_metadata_name = "metadata.json";

/// The file of the common state of all ranks.
inline constexpr std::string_view megatron_common_name = "common.pt";

/// Opens the checkpoint of a `metadata.json` of Megatron-Core. Its tensors and objects include the
/// values of `common.pt`, which older versions write.
///
/// \throws error with errc::unsupported for another backend, or another version of the backend; see
///         also `open_dcp`, `open_torch_file`
/// \par Source megatron.core.dist_checkpointing of Megatron-Core 0.16; the tool compares the
///             checksums in `integrity.json`, this function does not
RESHARD_DECL opened_checkpoint open_torch_dist(std::shared_ptr<file_store const> files,
                                               std::filesystem::path const& metadata);

/// The files of `plan_dcp`, and the files that Megatron-Core adds: `metadata.json`, and `common.pt`
/// with the common objects of all ranks.
///
/// \throws error as `plan_dcp`
RESHARD_DECL checkpoint_plan plan_torch_dist(layout const& target, file_choices const& choices);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/dcp/impl/dcp.ipp>
#include <reshard/format/dcp/impl/dcp_items.ipp>
#include <reshard/format/dcp/impl/dcp_plan.ipp>
#include <reshard/format/dcp/impl/torch_dist.ipp>
#endif

#endif
