// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_FILE_STORE_HPP
#define RESHARD_OS_FILE_STORE_HPP

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

/// \file
/// Where the files of checkpoints are found and read: a file system, memory, an object store.

namespace reshard {

/// Files that are found and read by their paths. Checkpoints are read through one; by default it
/// is the system's.
///
/// Functions may be called from several threads at once.
class file_store {
public:
    /// What a path stands for.
    enum class kind { nothing, file, directory };

    /// Which file a path stood for, and when it was last written to, as far as the store tells.
    struct identity {
        std::uint64_t device = 0;
        std::uint64_t number = 0;
        std::uint64_t bytes = 0;
        std::int64_t written_s = 0;
        std::int64_t written_ns = 0;

        bool operator==(identity const&) const = default;
    };

    /// A file that is open for reading.
    class file {
    public:
        virtual ~file() = default;

        /// \throws error with errc::io
        virtual identity facts() const = 0;

        /// Fills `target` with the bytes from `position` on.
        ///
        /// \throws error with errc::corrupt_file where the file ends before, errc::io where it
        ///         cannot be read
        virtual void read(std::uint64_t position, std::span<std::byte> target) const = 0;
    };

    file_store() = default;
    file_store(file_store const&) = delete;
    file_store& operator=(file_store const&) = delete;
    virtual ~file_store() = default;

    /// `nothing` also where it cannot be known.
    virtual kind find(std::filesystem::path const& path) const = 0;

    /// The paths of all that is in a directory, sorted.
    ///
    /// \throws error with errc::io
    virtual std::vector<std::filesystem::path>
    list(std::filesystem::path const& directory) const = 0;

    /// \throws error with errc::missing_file or errc::io, naming the file
    virtual std::unique_ptr<file> open(std::filesystem::path const& path) const = 0;
};

} // namespace reshard

#endif
