// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_UNIT_FORMAT_TEMPORARY_DIRECTORY_HPP
#define RESHARD_TEST_UNIT_FORMAT_TEMPORARY_DIRECTORY_HPP

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

/// \file
/// A directory that goes away again.

namespace reshard::test {

class temporary_directory {
public:
    temporary_directory() {
        std::random_device random;
        path_ = std::filesystem::temp_directory_path() /
                ("reshard-" + std::to_string(random()) + std::to_string(random()));
        std::filesystem::create_directory(path_);
    }
    temporary_directory(temporary_directory const&) = delete;
    temporary_directory& operator=(temporary_directory const&) = delete;
    ~temporary_directory() {
        std::error_code ec;
        std::filesystem::remove_all(path_, ec);
    }

    std::filesystem::path const& path() const { return path_; }

    /// Writes a file; returns its path.
    std::string write(std::string const& name, std::string const& bytes) const {
        std::ofstream(path_ / name, std::ios::binary) << bytes;
        return (path_ / name).string();
    }

private:
    std::filesystem::path path_;
};

} // namespace reshard::test

#endif
