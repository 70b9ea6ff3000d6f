// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_WRITE_WHOLE_FILE_HPP
#define RESHARD_STORAGE_WRITE_WHOLE_FILE_HPP

#include <reshard/storage/put_in_place.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include <unistd.h>

/// \file
/// A file that appears at once, complete, or not at all.

namespace reshard {

namespace detail {

inline void write_new_file(std::filesystem::path const& path, std::string_view text) {
    mapped_output file(path, text.size());
    std::copy(text.begin(), text.end(), reinterpret_cast<char*>(file.data()));
    file.sync();
}

} // namespace detail

/// Writes a file beside `target` and gives it that name when it is complete; a file that is there is
/// replaced.
///
/// A process that dies leaves `.NAME.partial-PID`, never half a file.
///
/// \throws error with errc::io, naming the target; then what is there is what it was
inline void write_whole_file(std::filesystem::path const& target, std::string_view text) {
    std::filesystem::path fresh = target;
    fresh.replace_filename("." + target.filename().string() + ".partial-" +
                           std::to_string(::getpid()));
    std::error_code ignored;
    if (std::filesystem::is_directory(target, ignored))
        fail(errc::io, target.string() + ": cannot be written, since this is a directory");
    try {
        detail::write_new_file(fresh, text);
        if (int const problem = detail::try_rename(fresh, target))
            detail::fail_io(target, "cannot be put in place", problem);
    } catch (error const& problem) {
        std::filesystem::remove(fresh, ignored);
        fail(problem.code(), target.string() + ": cannot be written: " + problem.what());
    }
}

} // namespace reshard

#endif
