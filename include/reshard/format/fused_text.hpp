// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_FUSED_TEXT_HPP
#define RESHARD_FORMAT_FUSED_TEXT_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/pickle/pickle.hpp>
#include <reshard/format/pickle/pickle_writer.hpp>
#include <reshard/layout/catalog.hpp>

#include <string>
#include <string_view>

/// \file
/// Fused tensors as a text in a file's metadata.

namespace reshard::detail {

/// The name of the text in a file's metadata that describes fused tensors.
inline constexpr std::string_view fused_name = "RESHARD_FUSED";

/// The corresponding member in the metadata of another library's checkpoint: a dict of `(axis,
/// blocks, macro)` by key. Those libraries ignore it.
inline constexpr std::string_view fused_member = "reshard_fused";

/// A JSON list that states equal facts once, with all their keys:
/// `[{"axis":0,"blocks":3,"macro":"fused_ffn, axis=0","keys":["w"]}]`.
RESHARD_DECL std::string fused_text(fused_tensors const& tensors);

/// Parses the text of `fused_text`.
///
/// \throws error with errc::corrupt_file that names `file` and the position
RESHARD_DECL fused_tensors parse_fused(std::string_view text, std::string_view file);

/// Adds `fused_member` to the object that is being written, if there are fused tensors.
RESHARD_DECL void put_fused(pickle_writer& out, fused_tensors const& tensors);

/// The tensors in `fused_member` of an object, if the object has that member.
///
/// \throws error with errc::corrupt_file if the member has any other contents
RESHARD_DECL fused_tensors fused_in(pickle const& values, pickle_value metadata);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/fused_text.ipp>
#endif

#endif
