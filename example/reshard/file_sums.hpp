// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_FILE_SUMS_HPP
#define RESHARD_TOOL_FILE_SUMS_HPP

#include "processes.hpp"
#include "report.hpp"

#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>

#include <filesystem>
#include <optional>
#include <string>

/// \file
/// Compares files with the SHA-256 sums that Megatron-Core stores in `integrity.json`.

namespace tool {

/// A file that has changed since its sum was recorded.
struct changed_file {
    std::string file;
    reshard::index_t bytes = 0;
    std::string expected;
    std::string found; ///< the present sum; empty if the file is missing

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.file, self.bytes, self.expected, self.found);
    }
};

struct compared_files {
    reshard::index_t bytes = 0;
    reshard::vector<std::string> with_sums;
    reshard::vector<changed_file> changed;
};

/// Compares the files of a directory with their recorded sums; std::nullopt if it has no sums. Rank
/// `r` reads every `size`-th file, from the `r`-th on.
///
/// \throws error with errc::corrupt_file for sums that are not SHA-256, or of files in other
///         directories
/// \par Collective every process
/// \par Source megatron.core.dist_checkpointing.integrity of Megatron-LM
std::optional<compared_files> compare_with_sums(processes const& world,
                                                std::filesystem::path const& directory,
                                                progress_when progress);

} // namespace tool

#endif
