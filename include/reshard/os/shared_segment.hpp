// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_SHARED_SEGMENT_HPP
#define RESHARD_OS_SHARED_SEGMENT_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/members.hpp>
#include <reshard/os/file.hpp>
#include <reshard/os/page_advice.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

/// \file
/// Memory of one process that other processes of the node map.

namespace reshard::detail {

/// A range of bytes in the memory of one process, and its offset in another process's buffer.
struct memory_run {
    std::uint64_t address = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
};

/// Copies ranges of another process's memory to their offsets in `target`. Returns false if the
/// system does not permit it.
///
/// \param process the number of the other process
RESHARD_DECL bool read_process(std::uint64_t process, std::span<memory_run const> runs,
                               std::byte* target);

/// The system calls for shared memory. Tests replace them to simulate a system that refuses one.
///
/// \par Units bytes; file descriptors and error numbers of the system; a failure is -1, and sets
///            `errno`
struct system_calls {
    /// Creates a file without a name. Only Linux supports it.
    int (*create_unnamed)(char const* label) = [](char const* label) {
#if defined(MFD_CLOEXEC)
        return ::memfd_create(label, MFD_CLOEXEC);
#else
        static_cast<void>(label);
        errno = ENOSYS;
        return -1;
#endif
    };

    /// Creates a file in the system's memory, for named segments.
    int (*create_named)(char const* name) = [](char const* name) {
        return ::shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
    };

    /// Opens a file of another process by a path in /proc.
    int (*open_unnamed)(char const* path) = [](char const* path) {
        return ::open(path, O_RDWR | O_CLOEXEC);
    };

    int (*open_named)(char const* name) = [](char const* name) {
        return ::shm_open(name, O_RDWR, 0);
    };

    /// Allocates memory for the whole file, so that later writes cannot fail. Returns the error
    /// number.
    int (*reserve)(int file, off_t bytes) = [](int file, off_t bytes) {
        constexpr off_t piece = off_t{64} << 20; // a signal undoes one piece at most
        int problem = 0;
        for (off_t done = 0; done < bytes && problem == 0; done += piece)
            do
                problem = ::posix_fallocate(file, done, std::min(piece, bytes - done));
            while (problem == EINTR);
        return problem;
    };

    bool (*read_process)(std::uint64_t process, std::span<memory_run const> runs,
                         std::byte* target) = &detail::read_process;
};

/// How other processes find a segment.
enum class segment_kind : std::uint8_t {
    unnamed, ///< through the open files of its creator; no name can remain
    named,   ///< by a name; `seal` removes the name
};

/// How other processes open a segment and verify its identity.
struct segment_address {
    segment_kind kind = segment_kind::unnamed;
    std::string path;
    std::uint64_t device = 0;
    std::uint64_t file = 0; ///< the number of the file on the device

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.kind, self.path, self.device, self.file);
    }

    bool operator==(segment_address const&) const = default;
};

template <>
inline constexpr enum_range range_of_enum<segment_kind>{2, "the kind of segment"};

/// The name of a segment. The destructor removes it.
class segment_name {
public:
    segment_name() = default;
    explicit segment_name(std::string text) : text_(std::move(text)) {}
    segment_name(segment_name&& name) noexcept : text_(std::exchange(name.text_, {})) {}
    segment_name& operator=(segment_name&& name) noexcept;
    ~segment_name();

    std::string const& text() const { return text_; }

private:
    std::string text_;
};

/// Memory that several processes share. It is freed when the last process releases it.
class shared_segment {
public:
    /// Creates a segment of zeros. Allocates all of it, so that later writes cannot fail.
    ///
    /// \par Units bytes
    /// \pre    `bytes > 0`
    /// \throws error with errc::io if the system refuses: it lacks such segments, memory, or files
    ///         of that size
    static shared_segment create(index_t bytes, segment_kind kind, page_advice advice = {},
                                 system_calls const& calls = {});

    /// Maps a segment that another process of the node has created and not yet sealed.
    ///
    /// \par Units the number of bytes with which the segment was created
    /// \throws error with errc::io if the system refuses, or if the path leads to another file,
    ///         which happens between containers
    static shared_segment open(segment_address const& address, index_t bytes,
                               system_calls const& calls = {});

    /// Maps a segment read-only. A write to it ends the process.
    static shared_segment open_to_read(segment_address const& address, index_t bytes,
                                       system_calls const& calls = {});

    /// Removes the name of a segment whose creator was killed. Keeps the name if it now belongs to
    /// another segment.
    static void remove(segment_address const& address);

    /// Removes the name and closes the file. Afterwards, no process can open the segment. The
    /// memory remains mapped.
    void seal();

    segment_address const& address() const { return address_; }

    std::byte* data() const { return memory_.data(); }
    index_t bytes() const { return static_cast<index_t>(memory_.bytes()); }

private:
    /// Creates the file under an unused name. A process in another container may have the same
    /// number as this process, so the first name may be in use.
    void take_name(system_calls const& calls);

    void reserve(index_t bytes, system_calls const& calls) const;

    /// \param protection the argument of `mmap`
    void map(index_t bytes, int protection);

    static shared_segment open_as(segment_address const& address, index_t bytes, int protection,
                                  system_calls const& calls);

    void take(page_advice advice) const;

    void set_address(segment_kind kind);

    struct stat status() const;

    segment_name name_;
    file_descriptor file_;
    mapping_handle memory_;
    segment_address address_;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/os/impl/shared_segment.ipp>
#endif

#endif
