// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_SPEC_HPP
#define RESHARD_TOOL_SPEC_HPP

#include <reshard/core/vector.hpp>
#include <reshard/format/checkpoint.hpp>
#include <reshard/format/layout_file.hpp>

#include <optional>
#include <string>

/// \file
/// Reads a SPEC of the command line. Its content decides whether it is a checkpoint or a layout
/// file.

namespace tool {

/// A source: its layout and, for a checkpoint, the position of each shard in the files.
struct source_spec {
    std::string path;
    reshard::layout held; ///< holders are ranks or files
    std::optional<reshard::checkpoint_metadata> checkpoint;
    reshard::detail::safetensors_options reading = {}; ///< options with which it was opened
};

/// \throws error with errc::missing_file; with errc::unsupported, which lists the files of the
///         directory; with errc::usage if keys of a layout are selected
source_spec read_source(std::string const& path,
                        reshard::detail::safetensors_options const& reading = {});

/// How the files store quantised tensors that are listed with their values: a sentence, or an empty
/// text if there are none.
std::string schemes_of(reshard::checkpoint_metadata const& source);

/// The keys of values that are not tensors.
reshard::vector<std::string> object_keys(reshard::checkpoint_metadata const& source);

/// A target: a layout file, or the layout of a checkpoint, whose files act as ranks.
///
/// \throws error as `read_source`
reshard::detail::layout_file
read_target(std::string const& path,
            reshard::detail::safetensors_mode mode = reshard::detail::safetensors_mode::strict);

} // namespace tool

#endif
