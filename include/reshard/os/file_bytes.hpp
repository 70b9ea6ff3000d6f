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
/// Reads and writes the bytes of files by position. A read or write is complete, or it throws.

namespace reshard::detail {

/// \throws error with errc::io, the file's name and the system's message
[[noreturn]] inline void fail_io(std::filesystem::path const& path, std::string const& noun,
                                 int problem = errno) {
    fail_io(path.string() + ": " + noun, problem);
}

/// Throws if the directory of a path does not exist.
///
/// \throws error with errc::io; the message names the path and the directory
RESHARD_DECL void check_parent(std::filesystem::path const& path);

/// Throws if two programs cannot meet at a path. `noun` describes the path in messages.
///
/// \throws error with errc::usage for an empty path; otherwise as `check_parent`
RESHARD_DECL void check_meeting_path(std::filesystem::path const& path, std::string_view noun);

using file_identity = file_store::identity;

/// A file of the system that is read by position.
class input_file : public file_store::file {
public:
    input_file() = default;

    /// \throws error with errc::missing_file or errc::io; the message names the file
    explicit input_file(std::filesystem::path path);

    std::filesystem::path const& path() const { return path_; }

    file_identity facts() const override;
    void read(std::uint64_t position, std::span<std::byte> target) const override;

    file_descriptor const& descriptor() const { return file_; }

private:
    std::filesystem::path path_;
    file_descriptor file_;
};

/// Opens a file. Returns std::nullopt if it does not exist.
///
/// \throws error with errc::corrupt_file for a directory, device or pipe; it does not open these,
///         because opening a pipe waits for a writer; errc::io; the message names the file
RESHARD_DECL std::optional<input_file> open_if_there(std::filesystem::path const& path);

/// The files of the system.
class system_files : public file_store {
public:
    RESHARD_DECL kind find(std::filesystem::path const& path) const override;
    RESHARD_DECL vector<std::filesystem::path>
    list(std::filesystem::path const& directory) const override;
    RESHARD_DECL std::unique_ptr<file> open(std::filesystem::path const& path) const override;
};

/// The files of the system as a store. The store exists until the program ends.
RESHARD_DECL std::shared_ptr<file_store const> files_of_system();

/// A file that is mapped to memory. The system reads only pages that the program touches.
///
/// If the file becomes shorter while it is mapped, or the disk fails, the signal SIGBUS ends the
/// process. `input_file` avoids that.
class mapped_input {
public:
    /// \throws error as `system_files::open`; the message names the file
    explicit mapped_input(std::filesystem::path const& path);

    std::byte const* data() const { return memory_.data(); }
    std::size_t bytes() const { return memory_.bytes(); }

private:
    mapping_handle memory_;
};

/// Reads bytes of a file directly from the system's page cache, without the danger of
/// `mapped_input`.
///
/// A lease of the system protects the file. A process that wants to write to the file, or to make
/// it shorter, must wait until this object returns the lease. The object does that at the next
/// access; the system does it after a time limit (45 s by default). The object returns only bytes
/// that are in the page cache, so it seldom reads from the disk.
class leased_pages {
public:
    /// Requests a lease. It gets none if the file is open for writing, belongs to another user, or
    /// is on a file system other than ext4, XFS or Btrfs.
    ///
    /// \throws error with errc::io if the system does not report the size of the file
    explicit leased_pages(input_file const& file);
    leased_pages(leased_pages const&) = delete;
    leased_pages& operator=(leased_pages const&) = delete;
    ~leased_pages();

    /// True if no process can have written to the file since the lease began.
    bool is_leased() const;

    /// True if the bytes around `position` seem to be in the page cache. Checks one page for every
    /// few MiB.
    bool is_in_memory(std::uint64_t position);

    /// The address of some bytes of the file, valid until the next call. Null if they are not in
    /// the page cache, or if the lease has ended.
    std::byte const* find(byte_run bytes);

private:
    void map(byte_run bytes);
    void unmap();
    void give_back();

    file_descriptor file_;
    std::uint64_t bytes_ = 0; ///< the size of the file
    byte_run looked_at_{0, 0};
    bool were_in_memory_ = false; ///< true if the bytes of `looked_at_` were in the page cache
    byte_run mapped_{0, 0};
    std::byte* memory_ = nullptr; ///< the address of `mapped_`; null unless all of it is in memory
};

/// A file that is written by position. Any number of processes may write to it.
class output_file : public file_store::output {
public:
    output_file() = default;

    /// Creates a file of `bytes` zeros. Reserves the space if the file system supports that, so
    /// that a full disk is an error here.
    ///
    /// \throws error with errc::io; the message names the file and its size
    static output_file create(std::filesystem::path path, std::uint64_t bytes);

    /// Opens a file. If it does not exist, creates it like `create`.
    ///
    /// \throws error with errc::io; the message names the file
    static output_file open(std::filesystem::path path, std::uint64_t bytes);

    bool is_open() const { return file_.is_open(); }

    /// \throws error with errc::io if not all bytes could be written
    void write(std::uint64_t position, std::span<std::byte const> bytes) override;

    /// Waits until the file's bytes are on the disk.
    ///
    /// \throws error with errc::io if the system could not write the bytes
    void sync() override;

private:
    output_file(std::filesystem::path path, file_descriptor file);

    void reserve(std::uint64_t bytes);

    std::filesystem::path path_;
    file_descriptor file_;
};

/// Renames `source` to `target`. Returns 0 or the error number of the system.
RESHARD_DECL int try_rename(std::filesystem::path const& source,
                            std::filesystem::path const& target);

/// Writes a file atomically: others see the whole file or no file. Replaces an existing file.
///
/// \throws error with errc::io; the message names the file or the temporary file beside it
RESHARD_DECL output_file put_file(std::filesystem::path const& path, std::string_view text);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/os/impl/file_bytes.ipp>
#endif

#endif
