// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_SHARED_SEGMENT_HPP
#define RESHARD_OS_SHARED_SEGMENT_HPP

#include <reshard/core/error.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/members.hpp>
#include <reshard/os/file_size_signal.hpp>
#include <reshard/os/page_advice.hpp>
#include <reshard/os/system_calls.hpp>

#include <boost/interprocess/mapped_region.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

/// \file
/// Memory of one process that others on its node map.

namespace reshard {

/// How a segment is found by others.
enum class segment_kind : std::uint8_t {
    unnamed, ///< through its maker's open files: nothing can be left behind
    named,   ///< by a name, which `seal` takes away
};

/// What others are told of a segment: where to open it, and how to see that it is the one.
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

namespace detail {

/// A file that is closed at the end; the form in which Boost.Interprocess maps it.
class open_file {
public:
    open_file() = default;
    explicit open_file(int file) : file_(file) {}
    open_file(open_file&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
    open_file& operator=(open_file&& other) noexcept {
        std::swap(file_, other.file_);
        return *this;
    }
    ~open_file() {
        if (file_ >= 0)
            ::close(file_);
    }

    int number() const { return file_; }
    boost::interprocess::mapping_handle_t get_mapping_handle() const { return {file_, false}; }
    boost::interprocess::mode_t get_mode() const { return boost::interprocess::read_write; }

private:
    int file_ = -1;
};

/// A name of a segment, taken away at the end.
class segment_name {
public:
    segment_name() = default;
    explicit segment_name(std::string text) : text_(std::move(text)) {}
    segment_name(segment_name&& other) noexcept : text_(std::exchange(other.text_, {})) {}
    segment_name& operator=(segment_name&& other) noexcept {
        std::swap(text_, other.text_);
        return *this;
    }
    ~segment_name() {
        if (!text_.empty())
            ::shm_unlink(text_.c_str());
    }

    std::string const& text() const { return text_; }

private:
    std::string text_;
};

[[noreturn]] inline void fail_segment(std::string const& what, int problem) {
    fail(errc::io, what + ": " + std::strerror(problem));
}

/// A name that no other segment of this or another process has.
inline std::string new_segment_name() {
    static std::atomic<unsigned> next = 0;
    return "/reshard-" + std::to_string(::getpid()) + "-" + std::to_string(next++);
}

} // namespace detail

/// Memory that several processes see, until the last of them has let it go.
class shared_segment {
public:
    /// Makes a segment of zeros, all of which is there: writing to it later cannot fail.
    ///
    /// \par Units bytes
    /// \pre    `bytes > 0`
    /// \throws error with errc::io when the system refuses: no such segments, not so much memory, or no
    ///         files of that size
    static shared_segment create(index_t bytes, segment_kind kind, page_advice advice = {},
                                 system_calls const& calls = {}) {
        shared_segment made;
        if (kind == segment_kind::named)
            made.take_name(calls);
        else
            made.file_ = detail::open_file(calls.create_unnamed("reshard"));
        if (made.file_.number() < 0)
            detail::fail_segment("a shared segment cannot be made", errno);
        made.reserve(bytes, calls);
        made.map(bytes);
        made.take(advice);
        made.set_address(kind);
        return made;
    }

    /// Maps a segment of another process of the node, which has not sealed it yet.
    ///
    /// \par Units `bytes` as its maker gave them
    /// \throws error with errc::io when the system refuses, or when the path leads to another file,
    ///         as between containers
    static shared_segment open(segment_address const& told, index_t bytes,
                               system_calls const& calls = {}) {
        shared_segment opened;
        opened.address_ = told;
        opened.file_ = detail::open_file(told.kind == segment_kind::named
                                             ? calls.open_named(told.path.c_str())
                                             : calls.open_unnamed(told.path.c_str()));
        if (opened.file_.number() < 0)
            detail::fail_segment("the shared segment " + told.path + " cannot be opened", errno);
        struct stat const found = opened.status();
        if (found.st_dev != told.device || found.st_ino != told.file || found.st_size != bytes)
            fail(errc::io,
                 told.path + " is another file on this rank than on the one that made it");
        opened.map(bytes);
        opened.seal();
        return opened;
    }

    /// Nobody opens it any more: the name is gone, and the file closed. The memory stays.
    void seal() {
        name_ = {};
        file_ = {};
    }

    segment_address const& address() const { return address_; }

    std::byte* data() const { return static_cast<std::byte*>(memory_.get_address()); }
    index_t bytes() const { return static_cast<index_t>(memory_.get_size()); }

private:
    /// A name that nobody had: processes of other containers may have this one's number.
    void take_name(system_calls const& calls) {
        constexpr int tries = 100;
        for (int i = 0; i < tries && file_.number() < 0; ++i) {
            std::string const text = detail::new_segment_name();
            file_ = detail::open_file(calls.create_named(text.c_str()));
            if (file_.number() >= 0)
                name_ = detail::segment_name(text); // another's name is not ours to take away
            else if (errno != EEXIST)
                return;
        }
    }

    void reserve(index_t bytes, system_calls const& calls) const {
        std::string const what = "a shared segment of " + std::to_string(bytes) + " bytes";
        detail::file_size_signal_held const held;
        if (::ftruncate(file_.number(), bytes) != 0)
            detail::fail_segment(what, errno);
        if (int const problem = calls.reserve(file_.number(), bytes))
            detail::fail_segment(what, problem);
    }

    void map(index_t bytes) {
        namespace ipc = boost::interprocess;
        memory_ = ipc::mapped_region(file_, ipc::read_write, 0, static_cast<std::size_t>(bytes));
    }

    void take(page_advice advice) const {
        if (advice.huge)
            detail::advise_huge(memory_.get_address(), memory_.get_size());
        if (advice.populate)
            detail::populate(memory_.get_address(), memory_.get_size());
    }

    void set_address(segment_kind kind) {
        struct stat const found = status();
        std::string const path =
            kind == segment_kind::named
                ? name_.text()
                : "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file_.number());
        address_ = {kind, path, found.st_dev, found.st_ino};
    }

    struct stat status() const {
        struct stat found = {};
        if (::fstat(file_.number(), &found) != 0)
            detail::fail_segment("a shared segment", errno);
        return found;
    }

    detail::segment_name name_;
    detail::open_file file_;
    boost::interprocess::mapped_region memory_;
    segment_address address_;
};

} // namespace reshard

#endif
