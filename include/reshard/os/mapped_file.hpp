// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_MAPPED_FILE_HPP
#define RESHARD_OS_MAPPED_FILE_HPP

#include <reshard/os/file.hpp>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <string>

/// \file
/// Files as memory: what is not touched is not read, and what is written needs no buffer.

namespace reshard::detail {

/// \throws error with errc::io, naming the file and what the system says
[[noreturn]] inline void fail_io(std::filesystem::path const& path, std::string const& what,
                                 int problem = errno) {
    fail_io(path.string() + ": " + what, problem);
}

/// A file to be read: only the pages that are touched are.
class mapped_input {
public:
    /// \throws error with errc::missing_file or errc::io, naming the file
    explicit mapped_input(std::filesystem::path const& path);

    std::byte const* data() const { return memory_.data(); }
    std::size_t bytes() const { return memory_.bytes(); }

private:
    mapping_handle memory_;
};

/// A new file of a known size, to be written as memory; all zeros at first.
///
/// Its space is reserved before anything is written, so that a full disk is an error here and not a
/// signal later. No file stays open: there may be more of them than a process may open.
class mapped_output {
public:
    /// \throws error with errc::io, naming the file and the bytes that it needs
    mapped_output(std::filesystem::path path, std::size_t bytes);

    std::byte* data() const { return memory_.data(); }
    std::size_t bytes() const { return memory_.bytes(); }

    /// Waits until the file's bytes are on the disk.
    ///
    /// \throws error with errc::io when the system could not write them
    void sync();

private:
    void reserve(file_descriptor const& file, std::size_t bytes) const;

    std::filesystem::path path_;
    mapping_handle memory_;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/os/impl/mapped_file.ipp>
#endif

#endif
