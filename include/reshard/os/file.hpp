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
/// An open file, and its bytes as memory.

namespace reshard::detail {

/// The result of a system call, repeated after interruptions by signals.
template <class Call>
auto uninterrupted(Call const& call) {
    auto result = call();
    while (result < 0 && errno == EINTR)
        result = call();
    return result;
}

/// Holds back the signal SIGXFSZ while this lives. If this thread makes a file too large, the
/// system call fails with EFBIG only. By default, the signal would end the process.
///
/// A signal that was pending before is left pending; `errno` is kept.
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

/// \param  noun the file, and what went wrong with it
/// \throws error with errc::io, and the system's message
[[noreturn]] RESHARD_DECL void fail_io(std::string const& noun, int problem = errno);

/// How many files the library may keep open: a part of the process's limit.
RESHARD_DECL std::size_t most_kept_files();

/// An open file. The destructor closes it.
class file_descriptor {
public:
    file_descriptor() = default;
    explicit file_descriptor(int number) : number_(number) {}

    /// Opens a file, or makes one if `flags` say so.
    ///
    /// \throws error with errc::missing_file or errc::io, naming the file
    static file_descriptor open(std::string const& path, int flags);

    /// Makes an empty file; false if there is one already.
    ///
    /// \throws error with errc::io, naming the file
    static bool create_empty(std::string const& path);

    file_descriptor(file_descriptor&& descriptor) noexcept
        : number_(std::exchange(descriptor.number_, -1)) {}
    file_descriptor& operator=(file_descriptor&& descriptor) noexcept;
    ~file_descriptor();

    bool is_open() const { return number_ >= 0; }

    /// Locks the file, or directory, until this is closed or the process ends. `try_lock` takes an
    /// exclusive lock, `try_share` a shared one. False if others have a conflicting lock, or the
    /// file system has no locks.
    bool try_lock() const;
    bool try_share() const;

    int number() const { return number_; }

private:
    int number_ = -1;
};

/// True if a path still names the file, or directory, that was opened.
RESHARD_DECL bool is_at(file_descriptor const& file, std::string const& path);

/// A mapping of a file from its first byte on. The destructor unmaps it. A mapping of 0 bytes has
/// no memory.
class mapping_handle {
public:
    mapping_handle() = default;

    /// \param  protection as `mmap` takes it
    /// \param  noun       the file, as messages name it
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
