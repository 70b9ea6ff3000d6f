// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_SPEC_HPP
#define RESHARD_TOOL_SPEC_HPP

#include <reshard/format/checkpoint.hpp>
#include <reshard/format/layout_file.hpp>

#include <optional>
#include <string>
#include <vector>

/// \file
/// What a SPEC on the command line names: a checkpoint or a layout file, found out by looking.

namespace tool {

/// A source: who holds what, and where that is in files if it is a checkpoint.
struct source_spec {
    std::string path;
    reshard::layout held; ///< holders are ranks, or files
    std::optional<reshard::checkpoint_metadata> checkpoint;
    reshard::detail::safetensors_options reading = {}; ///< how it was opened
};

/// \throws error with errc::missing_file or errc::unsupported; it says what was found; with
///         errc::usage for keys selected of a layout
source_spec read_source(std::string const& path,
                        reshard::detail::safetensors_options const& reading = {});

/// The keys of values that are no tensors.
std::vector<std::string> object_keys(reshard::checkpoint_metadata const& source);

/// A target: a layout file, or the layout that a checkpoint has, whose files stand for ranks.
///
/// \throws error as `read_source`
reshard::detail::layout_file
read_target(std::string const& path,
            reshard::detail::safetensors_mode mode = reshard::detail::safetensors_mode::strict);

} // namespace tool

#endif
