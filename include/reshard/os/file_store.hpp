// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_FILE_STORE_HPP
#define RESHARD_OS_FILE_STORE_HPP

#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

/// \file
/// Where checkpoint files are stored: in a file system, in memory, or in an object store.

namespace reshard::detail {

/// The bytes from `begin` to `end - 1` of a file, or of an object in a file.
struct byte_run {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    static constexpr void members(auto& self, auto&& visit) { visit(self.begin, self.end); }

    std::uint64_t size() const { return end - begin; }

    bool operator==(byte_run const&) const = default;
};

} // namespace reshard::detail

namespace reshard {

/// Finds, reads and writes files by their paths. Checkpoints are read and written through a store.
/// The default store is the system's files.
///
/// Several threads may call its functions at once. A read-only store needs no `begin` and no
/// `join`.
class file_store {
public:
    /// The type of the object at a path.
    enum class kind { nothing, file, directory };

    /// Identifies a file and its last write, as far as the store knows them.
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
        /// \throws error with errc::corrupt_file if the file ends too early, errc::io if it cannot
        ///         be read
        virtual void read(std::uint64_t position, std::span<std::byte> target) const = 0;
    };

    /// A file that is open for writing.
    class output {
    public:
        virtual ~output() = default;

        /// \throws error with errc::io if not all bytes could be written
        virtual void write(std::uint64_t position, std::span<std::byte const> bytes) = 0;

        /// Waits until the data that any process has written is durable.
        ///
        /// \throws error with errc::io
        virtual void sync() = 0;
    };

    /// A target that one or several processes write. The first process gets it from `begin`, and
    /// the other processes from `join` with its `name`. Each process opens and writes its files,
    /// some of them twice, and syncs them. Then the first process writes the record as the last
    /// file, and calls `commit`. At the end, or after a failure, it calls `clean_up`.
    ///
    /// The target does not change before `commit`. Then all files appear at once.
    class unfinished {
    public:
        unfinished() = default;
        unfinished(unfinished const&) = delete;
        unfinished& operator=(unfinished const&) = delete;
        virtual ~unfinished() = default;

        /// The name that other processes pass to `join`.
        virtual std::string name() const = 0;

        /// Opens a file of the target. If no process has created it, creates it with `bytes` zeros.
        /// The file grows if more bytes are written.
        ///
        /// \throws error with errc::io
        virtual std::unique_ptr<output> open(std::filesystem::path const& file,
                                             std::uint64_t bytes) = 0;

        /// \throws error with errc::io, or with errc::already_exists if another process has created
        ///         the target meanwhile; then the target does not change
        virtual void commit() = 0;

        /// Removes uncommitted or replaced files.
        virtual void clean_up() noexcept = 0;

        /// The files of earlier writers that `begin` removed from the target.
        virtual vector<std::string> removed() const { return {}; }
    };

    file_store() = default;
    file_store(file_store const&) = delete;
    file_store& operator=(file_store const&) = delete;
    virtual ~file_store() = default;

    /// The type of the object at a path. Also `nothing` if the type cannot be determined.
    virtual kind find(std::filesystem::path const& path) const = 0;

    /// The paths of all entries of a directory, sorted.
    ///
    /// \throws error with errc::io
    virtual vector<std::filesystem::path> list(std::filesystem::path const& directory) const = 0;

    /// \throws error with errc::missing_file, errc::corrupt_file if the path is not a file, or
    ///         errc::io; the message names the path
    virtual std::unique_ptr<file> open(std::filesystem::path const& path) const = 0;

    /// Begins to write a target.
    ///
    /// \throws error with errc::already_exists if the target exists and `replace` is false;
    ///         errc::io; errc::unsupported if the store is read-only
    virtual std::unique_ptr<unfinished> begin(std::filesystem::path const& target,
                                              [[maybe_unused]] bool replace) const {
        fail(errc::unsupported, target.string(),
             ": cannot be written: this file store is read-only");
    }

    /// Joins a target that another process has begun.
    ///
    /// \param name the result of `unfinished::name` on the first process
    /// \throws error with errc::io; errc::unsupported if only one process can write
    virtual std::unique_ptr<unfinished> join(std::filesystem::path const& target,
                                             [[maybe_unused]] bool replace,
                                             std::string const& name) const {
        fail(errc::unsupported, target.string(), ": only one process can write ", name,
             " in this file store; save on one rank");
    }
};

} // namespace reshard

#endif
