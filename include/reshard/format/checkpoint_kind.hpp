// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_CHECKPOINT_KIND_HPP
#define RESHARD_FORMAT_CHECKPOINT_KIND_HPP

#include <reshard/core/config.hpp>

#include <filesystem>
#include <vector>

/// \file
/// Which kind of checkpoint stands at a path.

namespace reshard::detail {

/// What a path was found to be.
enum class checkpoint_kind {
    file,    ///< one safetensors file
    index,   ///< a directory with an index; the path is the index's
    single,  ///< a directory with `model.safetensors`
    sharded, ///< a directory with other safetensors files
};

/// A kind and the files that one begins with.
struct checkpoint_files {
    checkpoint_kind kind{};
    std::vector<std::filesystem::path> paths; ///< sorted by name; at least one

    bool operator==(checkpoint_files const&) const = default;
};

/// The names in a directory, sorted.
RESHARD_DECL std::vector<std::filesystem::path> listing(std::filesystem::path const& directory);

/// What stands at `path`.
///
/// \throws error with errc::missing_file where nothing does, with errc::unsupported where it is no
///         checkpoint; it says what was found
RESHARD_DECL checkpoint_files find_checkpoint(std::filesystem::path const& path);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/impl/checkpoint_kind.ipp>
#endif

#endif
