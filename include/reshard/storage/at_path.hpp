// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_AT_PATH_HPP
#define RESHARD_STORAGE_AT_PATH_HPP

#include <reshard/core/error.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Errors of stages that know no files begin with the file that they are about.

namespace reshard::detail {

/// Runs `work`; an error of it begins with `path`.
template <class Work>
void at_path(std::filesystem::path const& path, Work&& work) {
    try {
        std::forward<Work>(work)();
    } catch (error const& problem) {
        std::string const name = path.string();
        if (std::string_view(problem.what()).starts_with(name))
            throw;
        fail(problem.code(), name + ": " + problem.what());
    }
}

} // namespace reshard::detail

#endif
