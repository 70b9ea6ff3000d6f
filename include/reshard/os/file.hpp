// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_FILE_HPP
#define RESHARD_OS_FILE_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>

#include <signal.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <utility>

/// \file
/// Open files, and mappings of files.

namespace reshard::detail {

/// The result of a system call. Repeats the call after interruptions by signals.
template <class Call>
auto uninterrupted(Call const& call) {
    auto result = call();
    while (result < 0 && errno == EINTR)
        result = call();
    return result;
}

/// Blocks the signal SIGXFSZ during its lifetime. If this thread makes a file too large, the system
/// call fails with EFBIG. By default, the signal would end the process.
///
/// A signal that was already pending stays pending. `errno` does not change.
class file_size_signal_held {
public:
    file_size_signal_held();
    file_size_signal_held(file_size_signal_held const&) = delete;
    file_size_signal_held& operator=(file_size_signal_held const&) = delete;
    ~file_size_signal_held();

private:
    sigset_t signal_;
    sigset_t before_;
    bool was_pending_ = false;
};

/// \param noun the file and the failed operation
/// \throws error with errc::io and the system's message
[[noreturn]] RESHARD_DECL void fail_io(std::string const& noun, int problem = errno);

/// The number of files that the library may keep open: a fraction of the process's limit.
RESHARD_DECL std::size_t most_kept_files();

/// An open file. The destructor closes it.
class file_descriptor {
public:
    file_descriptor() = default;
    explicit file_descriptor(int number) : number_(number) {}

    /// Opens a file. Creates it if `flags` say so.
    ///
    /// \throws error with errc::missing_file or errc::io; the message names the file
    static file_descriptor open(std::string const& path, int flags);

    /// Creates an empty file. Returns false if the file exists.
    ///
    /// \throws error with errc::io; the message names the file
    static bool create_empty(std::string const& path);

    file_descriptor(file_descriptor&& descriptor) noexcept
        : number_(std::exchange(descriptor.number_, -1)) {}
    file_descriptor& operator=(file_descriptor&& descriptor) noexcept;
    ~file_descriptor();

    bool is_open() const { return number_ >= 0; }

    /// Locks the file or directory until this object closes it or the process ends. `try_lock`
    /// takes an exclusive lock, `try_share` a shared lock. Returns false if others have a
    /// conflicting lock, or if the file system has no locks.
    bool try_lock() const;
    bool try_share() const;

    int number() const { return number_; }

private:
    int number_ = -1;
};

/// True if a path still names the file or directory that was opened.
RESHARD_DECL bool is_at(file_descriptor const& file, std::string const& path);

/// Maps a file from its first byte on. The destructor unmaps it. A mapping of 0 bytes has no
/// memory.
class mapping_handle {
public:
    mapping_handle() = default;

    /// \param protection the argument of `mmap`
    /// \param noun the name of the file in messages
    /// \throws error with errc::io
    mapping_handle(file_descriptor const& file, std::size_t bytes, int protection,
                   std::string const& noun);
    mapping_handle(mapping_handle&& handle) noexcept
        : data_(std::exchange(handle.data_, nullptr)), bytes_(std::exchange(handle.bytes_, 0)) {}
    mapping_handle& operator=(mapping_handle&& handle) noexcept;
    ~mapping_handle();

    std::byte* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }

private:
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/os/impl/file.ipp>
#endif

#endif
