// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_MAPPED_COPY_HPP
#define RESHARD_BENCH_MAPPED_COPY_HPP

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

/// \file
/// Copies bytes of files from mapped memory.

namespace bench {

/// The file at a path, or the files of a directory, sorted.
inline std::vector<std::filesystem::path> files_at(std::filesystem::path const& path) {
    if (!std::filesystem::is_directory(path))
        return {path};
    std::vector<std::filesystem::path> files;
    for (auto const& entry : std::filesystem::recursive_directory_iterator(path))
        if (entry.is_regular_file())
            files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

/// Copies the bytes of a file from `begin` on into `target`.
inline void copy_mapped_file(std::filesystem::path const& path, std::uint64_t begin,
                             std::span<std::byte> target) {
    int const file = ::open(path.c_str(), O_RDONLY);
    std::size_t const total = static_cast<std::size_t>(begin) + target.size();
    void* const mapped =
        file < 0 ? MAP_FAILED : ::mmap(nullptr, total, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapped == MAP_FAILED)
        throw std::runtime_error("cannot map " + path.string());
    std::memcpy(target.data(), static_cast<std::byte const*>(mapped) + begin, target.size());
    ::munmap(mapped, total);
    ::close(file);
}

/// Fills `target` with bytes of the files at a path, as if they were one file, from `begin` on.
inline void copy_mapped(std::filesystem::path const& path, std::uint64_t begin,
                        std::span<std::byte> target) {
    for (std::filesystem::path const& file : files_at(path)) {
        std::uint64_t const size = std::filesystem::file_size(file);
        auto const count = static_cast<std::size_t>(
            std::min<std::uint64_t>(target.size(), size - std::min(begin, size)));
        if (count > 0)
            copy_mapped_file(file, begin, target.first(count));
        target = target.subspan(count);
        begin -= std::min(begin, size);
    }
    if (!target.empty())
        throw std::runtime_error("the files have too few bytes");
}

} // namespace bench

#endif
