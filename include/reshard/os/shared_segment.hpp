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
/// Memory of one process that others on its node map.

namespace reshard::detail {

/// Some bytes in the memory of one process, and their place in what another one makes of them.
struct memory_run {
    std::uint64_t address = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
};

/// Copies runs of another process's memory to their places in `target`. False if the system does
/// not let this process read them.
///
/// \param process its number
RESHARD_DECL bool read_process(std::uint64_t process, std::span<memory_run const> runs,
                               std::byte* target);

/// The calls by which processes share memory. Another table simulates a system that refuses some.
///
/// \par Units bytes; descriptors and error numbers are the system's, failure is -1 with `errno` set
struct system_calls {
    /// Makes a file without a name. Linux supports it.
    int (*create_unnamed)(char const* label) = [](char const* label) {
#if defined(MFD_CLOEXEC)
        return ::memfd_create(label, MFD_CLOEXEC);
#else
        static_cast<void>(label);
        errno = ENOSYS;
        return -1;
#endif
    };

    /// Makes a file in the system's memory for named segments.
    int (*create_named)(char const* name) = [](char const* name) {
        return ::shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
    };

    /// Opens another process's file, by a path below /proc.
    int (*open_unnamed)(char const* path) = [](char const* path) {
        return ::open(path, O_RDWR | O_CLOEXEC);
    };

    int (*open_named)(char const* name) = [](char const* name) {
        return ::shm_open(name, O_RDWR, 0);
    };

    /// Takes memory for the whole file now, so that writing to it later cannot fail. Returns the
    /// error.
    int (*reserve)(int file, off_t bytes) = [](int file, off_t bytes) {
        constexpr off_t piece = off_t{64} << 20; // a signal undoes at most one piece
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
    unnamed, ///< through its maker's open files: no name can remain
    named,   ///< by a name, which `seal` removes
};

/// The address of a segment for others: how to open it, and how to verify its identity.
struct segment_address {
    segment_kind kind = segment_kind::unnamed;
    std::string path;
    std::uint64_t device = 0;
    std::uint64_t file = 0; ///< its number on the device

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.kind, self.path, self.device, self.file);
    }

    bool operator==(segment_address const&) const = default;
};

template <>
inline constexpr enum_range range_of_enum<segment_kind>{2, "the kind of segment"};

/// A segment's name. The destructor removes it.
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

/// Memory that several processes share. It is freed when the last of them releases it.
class shared_segment {
public:
    /// Makes a segment of zeros. All of it is allocated, so later writes cannot fail.
    ///
    /// \par Units bytes
    /// \pre    `bytes > 0`
    /// \throws error with errc::io when the system refuses: it has no such segments, too little
    ///         memory, or no files of that size
    static shared_segment create(index_t bytes, segment_kind kind, page_advice advice = {},
                                 system_calls const& calls = {});

    /// Maps a segment of another process of the node, which has not sealed it yet.
    ///
    /// \par Units `bytes` as its maker gave them
    /// \throws error with errc::io when the system refuses, or when the path leads to another file,
    ///         as between containers
    static shared_segment open(segment_address const& address, index_t bytes,
                               system_calls const& calls = {});

    /// The same for a segment that this process only reads: writing to it ends the process.
    static shared_segment open_to_read(segment_address const& address, index_t bytes,
                                       system_calls const& calls = {});

    /// Removes the name of a segment whose maker was killed. A name that belongs to another segment
    /// by now stays.
    static void remove(segment_address const& address);

    /// After this call, no process can open the segment: the name is removed and the file closed.
    /// The memory stays.
    void seal();

    segment_address const& address() const { return address_; }

    std::byte* data() const { return memory_.data(); }
    index_t bytes() const { return static_cast<index_t>(memory_.bytes()); }

private:
    /// Takes a name that no process has used: a process of another container may have the same
    /// number as this one.
    void take_name(system_calls const& calls);

    void reserve(index_t bytes, system_calls const& calls) const;

    /// \param protection as `mmap` takes it
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
