// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_FILE_BYTES_HPP
#define RESHARD_OS_FILE_BYTES_HPP

#include <reshard/core/config.hpp>
#include <reshard/os/file.hpp>
#include <reshard/os/file_store.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// \file
/// The bytes of files, by position: whole reads and writes, or an error.

namespace reshard::detail {

/// \throws error with errc::io, with the file and the system's message
[[noreturn]] inline void fail_io(std::filesystem::path const& path, std::string const& noun,
                                 int problem = errno) {
    fail_io(path.string() + ": " + noun, problem);
}

/// Refuses a path whose directory does not exist.
///
/// \throws error with errc::io, naming the path and that directory
RESHARD_DECL void check_parent(std::filesystem::path const& path);

/// Refuses a path at which two programs cannot meet. `noun` describes the path in messages.
///
/// \throws error with errc::usage for an empty one; else as `check_parent`
RESHARD_DECL void check_meeting_path(std::filesystem::path const& path, std::string_view noun);

using file_identity = file_store::identity;

/// A file of the system that is read at positions.
class input_file : public file_store::file {
public:
    input_file() = default;

    /// \throws error with errc::missing_file or errc::io, naming the file
    explicit input_file(std::filesystem::path path);

    std::filesystem::path const& path() const { return path_; }

    file_identity facts() const override;
    void read(std::uint64_t position, std::span<std::byte> target) const override;

    file_descriptor const& descriptor() const { return file_; }

private:
    std::filesystem::path path_;
    file_descriptor file_;
};

/// Opens a file; std::nullopt if it does not exist.
///
/// \throws error with errc::corrupt_file for a directory, a device or a pipe, which is not opened,
///         because opening a pipe waits for a writer; errc::io. The error names the file
RESHARD_DECL std::optional<input_file> open_if_there(std::filesystem::path const& path);

/// The files of the system.
class system_files : public file_store {
public:
    RESHARD_DECL kind find(std::filesystem::path const& path) const override;
    RESHARD_DECL vector<std::filesystem::path>
    list(std::filesystem::path const& directory) const override;
    RESHARD_DECL std::unique_ptr<file> open(std::filesystem::path const& path) const override;
};

/// The store that lives as long as the program; the pointer owns nothing.
RESHARD_DECL std::shared_ptr<file_store const> files_of_system();

/// A file that is read as memory: only the pages that are touched are read.
///
/// A file that becomes shorter while it is mapped, and a medium that fails, end the process with
/// the signal SIGBUS; see `input_file`.
class mapped_input {
public:
    /// \throws error with errc::missing_file or errc::io, naming the file
    explicit mapped_input(std::filesystem::path const& path);

    std::byte const* data() const { return memory_.data(); }
    std::size_t bytes() const { return memory_.bytes(); }

private:
    mapping_handle memory_;
};

/// Bytes of a file in the memory where the system keeps them, without the danger of `mapped_input`.
///
/// The system has given a lease for the file: who wants to write to it, or make it shorter, waits
/// until the lease is given back, which happens before the next bytes are used, or until the time
/// of the system for that is over (45 s by default). Bytes are found if the system keeps them in
/// memory, so that a medium is seldom read.
class leased_pages {
public:
    /// Asks for a lease. There is none if the file is open for writing, belongs to another user, or
    /// is on another file system than ext4, XFS or Btrfs.
    ///
    /// \throws error with errc::io when the system does not tell the size of the file
    explicit leased_pages(input_file const& file);
    leased_pages(leased_pages const&) = delete;
    leased_pages& operator=(leased_pages const&) = delete;
    ~leased_pages();

    /// True if nobody can have written to the file since the lease was given.
    bool is_leased() const;

    /// True if the system seems to keep the bytes around `position` in memory: looks at one page
    /// for every few MiB.
    bool is_in_memory(std::uint64_t position);

    /// Some bytes of the file, until the next call; null if they are not in memory, or the lease is
    /// gone.
    std::byte const* find(byte_run bytes);

private:
    void map(byte_run bytes);
    void unmap();
    void give_back();

    file_descriptor file_;
    std::uint64_t bytes_ = 0; ///< of the file
    byte_run looked_at_{0, 0};
    bool were_in_memory_ = false; ///< the bytes of `looked_at_`
    byte_run mapped_{0, 0};
    std::byte* memory_ = nullptr; ///< of `mapped_`; null if not all of it is in memory
};

/// A file that is written at positions, by any number of processes.
class output_file : public file_store::output {
public:
    output_file() = default;

    /// Makes a new file of `bytes` zeros. Its space is reserved if the file system supports that,
    /// so that a full disk is an error here.
    ///
    /// \throws error with errc::io, naming the file and the bytes that it needs
    static output_file create(std::filesystem::path path, std::uint64_t bytes);

    /// Opens a file, or makes it as `create` does if it does not exist.
    ///
    /// \throws error with errc::io, naming the file
    static output_file open(std::filesystem::path path, std::uint64_t bytes);

    bool is_open() const { return file_.is_open(); }

    /// \throws error with errc::io when not all could be written
    void write(std::uint64_t position, std::span<std::byte const> bytes) override;

    /// Waits until the file's bytes are on the disk.
    ///
    /// \throws error with errc::io when the system could not write them
    void sync() override;

private:
    output_file(std::filesystem::path path, file_descriptor file);

    void reserve(std::uint64_t bytes);

    std::filesystem::path path_;
    file_descriptor file_;
};

/// Gives `source` the name `target`; returns 0 or the system's error.
RESHARD_DECL int try_rename(std::filesystem::path const& source,
                            std::filesystem::path const& target);

/// Writes a file so that others see all of it or none. It replaces an existing file.
///
/// \throws error with errc::io, naming the file, or the temporary file beside it
RESHARD_DECL output_file put_file(std::filesystem::path const& path, std::string_view text);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/os/impl/file_bytes.ipp>
#endif

#endif
