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
/// The place of checkpoint files: a file system, memory, an object store.

namespace reshard::detail {

/// Bytes of a file, or of something stored in a file, from `begin` on and before `end`.
struct byte_run {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    static constexpr void members(auto& self, auto&& visit) { visit(self.begin, self.end); }

    std::uint64_t size() const { return end - begin; }

    bool operator==(byte_run const&) const = default;
};

} // namespace reshard::detail

namespace reshard {

/// Files that are found, read and written by their paths. Checkpoints are read and written through
/// a store; the default is the system's files.
///
/// Functions may be called from several threads at once. A store that is only read needs no `begin`
/// and no `join`.
class file_store {
public:
    /// The object at a path.
    enum class kind { nothing, file, directory };

    /// The file at a path, and the time of its last write, as far as the store knows them.
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

        /// \throws error with errc::io when not all could be written
        virtual void write(std::uint64_t position, std::span<std::byte const> bytes) = 0;

        /// Waits until written data, of any process, is durable.
        ///
        /// \throws error with errc::io
        virtual void sync() = 0;
    };

    /// A target that one or several processes write. The order of calls is: the first process gets
    /// it by `begin`, the others by `join` with its `name`. Each process opens and writes its
    /// files, some for a second time, and syncs them. Then the first process writes the record as
    /// the last file and calls `commit`. At the end, also after a failure, it calls `clean_up`.
    ///
    /// The target is unchanged until `commit` makes all files appear at once.
    class unfinished {
    public:
        unfinished() = default;
        unfinished(unfinished const&) = delete;
        unfinished& operator=(unfinished const&) = delete;
        virtual ~unfinished() = default;

        /// The name by which other processes join it.
        virtual std::string name() const = 0;

        /// Opens a file of the target. If no process has made the file, makes it with `bytes`
        /// zeros. The file grows if more is written.
        ///
        /// \throws error with errc::io
        virtual std::unique_ptr<output> open(std::filesystem::path const& file,
                                             std::uint64_t bytes) = 0;

        /// \throws error with errc::io, or errc::already_exists if the target has appeared
        ///         meanwhile; then the target is unchanged
        virtual void commit() = 0;

        /// Removes uncommitted or replaced files.
        virtual void clean_up() noexcept = 0;

        /// The files that earlier writers of the target had left and that `begin` removed.
        virtual vector<std::string> removed() const { return {}; }
    };

    file_store() = default;
    file_store(file_store const&) = delete;
    file_store& operator=(file_store const&) = delete;
    virtual ~file_store() = default;

    /// `nothing` also if it cannot be known.
    virtual kind find(std::filesystem::path const& path) const = 0;

    /// The paths of all entries of a directory, sorted.
    ///
    /// \throws error with errc::io
    virtual vector<std::filesystem::path> list(std::filesystem::path const& directory) const = 0;

    /// \throws error with errc::missing_file, errc::corrupt_file if it is not a file, or errc::io,
    ///         naming it
    virtual std::unique_ptr<file> open(std::filesystem::path const& path) const = 0;

    /// Begins to write a target.
    ///
    /// \throws error with errc::already_exists if the target exists and `replace` is false;
    ///         errc::io; errc::unsupported if the store is only read
    virtual std::unique_ptr<unfinished> begin(std::filesystem::path const& target,
                                              [[maybe_unused]] bool replace) const {
        fail(errc::unsupported, target.string(),
             ": is not written, since this store of files is only read");
    }

    /// Joins a target that another process began.
    ///
    /// \param  name what `unfinished::name` returned there
    /// \throws error with errc::io; errc::unsupported if one process writes alone
    virtual std::unique_ptr<unfinished> join(std::filesystem::path const& target,
                                             [[maybe_unused]] bool replace,
                                             std::string const& name) const {
        fail(errc::unsupported, target.string(), ": ", name,
             " is written by one process alone in this store of files; save on one rank");
    }
};

} // namespace reshard

#endif
