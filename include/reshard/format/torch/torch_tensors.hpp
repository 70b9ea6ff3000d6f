// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_TORCH_TORCH_TENSORS_HPP
#define RESHARD_FORMAT_TORCH_TORCH_TENSORS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/format/checkpoint_plan.hpp>
#include <reshard/format/placed_text.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/os/file_store.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Files of `torch.save` that are to be written.

namespace reshard::detail {

/// How torch names the data type of a tensor, `float32`.
///
/// \throws error with errc::unsupported for one that torch does not have, naming the key
RESHARD_DECL std::string torch_name(data_type dtype, std::string_view key);

/// A tensor that is to be written, row-major.
struct torch_tensor {
    std::string key;
    data_type dtype{};
    index_vector shape;
};

/// A file of `torch.save` without the elements of its tensors.
struct torch_file {
    std::vector<placed_text> texts;
    std::vector<byte_run> elements; ///< of each tensor: where they belong
    std::uint64_t end = 0;
};

/// An archive that has one tensor, from byte `begin` of a file on.
///
/// Large tensors begin at a page of the file, others at a cache line. Without checksums of
/// elements, as torch writes it where it is told so: torch does not compare them.
///
/// \pre    `begin` is a multiple of `torch_alignment` of the tensor
/// \throws error as `torch_name`
/// \par Source torch.serialization of torch 2.15: the form of protocol 2
RESHARD_DECL torch_file torch_file_of(torch_tensor const& tensor, std::uint64_t begin = 0);

/// An archive of a dict of tensors.
RESHARD_DECL torch_file torch_file_of(std::span<torch_tensor const> tensors);

/// A file of `torch.save` with the whole tensors of a layout of one rank.
///
/// \throws error as `torch_name`
RESHARD_DECL checkpoint_plan plan_torch_file(layout const& target, file_choices const& choices);

/// What a tensor of so many bytes is best aligned to in its file, and so is the archive.
RESHARD_DECL std::uint64_t torch_alignment(std::uint64_t bytes);

/// The bytes of a file of `torch.save` that has what a pickle has.
RESHARD_DECL std::string torch_file_of(std::string const& pickle);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/torch/impl/torch_tensors.ipp>
#endif

#endif
