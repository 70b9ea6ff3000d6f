// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_WRITE_WHOLE_FILE_IPP
#define RESHARD_STORAGE_IMPL_WRITE_WHOLE_FILE_IPP

#include <reshard/storage/write_whole_file.hpp>

#include <reshard/os/mapped_file.hpp>
#include <reshard/storage/put_in_place.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <system_error>

namespace reshard::detail {

RESHARD_DECL void write_new_file(std::filesystem::path const& path, std::string_view text) {
    mapped_output file(path, text.size());
    std::copy(text.begin(), text.end(), reinterpret_cast<char*>(file.data()));
    file.sync();
}

/// A name beside `target` that no other writer has, be it of this process or another.
inline std::filesystem::path name_beside(std::filesystem::path const& target) {
    static std::atomic<unsigned> writers = 0;
    auto const now = std::chrono::steady_clock::now().time_since_epoch().count();
    std::filesystem::path fresh = target;
    fresh.replace_filename("." + target.filename().string() + ".partial-" +
                           std::to_string(::getpid()) + "-" + std::to_string(now) + "-" +
                           std::to_string(++writers));
    return fresh;
}

RESHARD_DECL void write_whole_file(std::filesystem::path const& target, std::string_view text) {
    std::error_code ignored;
    if (std::filesystem::is_directory(target, ignored))
        fail(errc::io, target.string() + ": cannot be written, since this is a directory");
    std::filesystem::path const fresh = name_beside(target);
    try {
        write_new_file(fresh, text);
        if (int const problem = try_rename(fresh, target))
            fail_io(target, "cannot be put in place", problem);
        sync_directory(target.has_parent_path() ? target.parent_path() : ".");
    } catch (error const& problem) {
        std::filesystem::remove(fresh, ignored);
        fail(problem.code(), target.string() + ": cannot be written: " + problem.what());
    }
}

} // namespace reshard::detail

#endif
