// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_FUZZ_MEMORY_FILES_HPP
#define RESHARD_TEST_FUZZ_MEMORY_FILES_HPP

#include <reshard/core/error.hpp>
#include <reshard/os/file_store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace fuzz {

/// Files in memory, by their paths.
class memory_files : public reshard::file_store {
public:
    std::map<std::filesystem::path, std::string> files;

    kind find(std::filesystem::path const& path) const override {
        if (files.contains(path))
            return kind::file;
        return std::ranges::any_of(
                   files, [&](auto const& element) { return element.first.parent_path() == path; })
                   ? kind::directory
                   : kind::nothing;
    }

    reshard::vector<std::filesystem::path>
    list(std::filesystem::path const& directory) const override {
        std::vector<std::filesystem::path> paths;
        for (auto const& [path, bytes] : files)
            if (path.parent_path() / "" == directory / "")
                paths.push_back(path);
        return paths;
    }

    std::unique_ptr<file> open(std::filesystem::path const& path) const override {
        auto const match = files.find(path);
        if (match == files.end())
            reshard::fail(reshard::errc::missing_file, path.string(), " is missing");
        return std::make_unique<memory_file>(match->second);
    }

private:
    class memory_file : public file {
    public:
        explicit memory_file(std::string const& bytes) : bytes_(bytes) {}

        identity facts() const override { return {.bytes = bytes_.size()}; }
        void read(std::uint64_t position, std::span<std::byte> target) const override {
            if (position > bytes_.size() || target.size() > bytes_.size() - position)
                reshard::fail(reshard::errc::corrupt_file, "the file ends before");
            if (!target.empty())
                std::memcpy(target.data(), bytes_.data() + position, target.size());
        }

    private:
        std::string const& bytes_;
    };
};

} // namespace fuzz

#endif
