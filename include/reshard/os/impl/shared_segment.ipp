// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_IMPL_SHARED_SEGMENT_IPP
#define RESHARD_OS_IMPL_SHARED_SEGMENT_IPP

#include <reshard/os/shared_segment.hpp>

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/os/file_size_signal.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

namespace reshard {

namespace detail {

RESHARD_DECL open_file& open_file::operator=(open_file&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
}

RESHARD_DECL open_file::~open_file() {
    if (file_ >= 0)
        ::close(file_);
}

RESHARD_DECL segment_name& segment_name::operator=(segment_name&& other) noexcept {
    std::swap(text_, other.text_);
    return *this;
}

RESHARD_DECL segment_name::~segment_name() {
    if (!text_.empty())
        ::shm_unlink(text_.c_str());
}

[[noreturn]] inline void fail_segment(std::string const& what, int problem) {
    fail(errc::io, what + ": " + std::strerror(problem));
}

RESHARD_DECL shared_mapping::shared_mapping(open_file const& file, std::size_t bytes)
    : bytes_(bytes) {
    first_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
    if (first_ == MAP_FAILED)
        fail_segment("a shared segment of " + std::to_string(bytes) + " bytes cannot be mapped",
                     errno);
}

RESHARD_DECL shared_mapping& shared_mapping::operator=(shared_mapping&& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

RESHARD_DECL shared_mapping::~shared_mapping() {
    if (bytes_ > 0)
        ::munmap(first_, bytes_);
}

/// A name that no other segment of this or another process has.
inline std::string new_segment_name() {
    static std::atomic<unsigned> next = 0;
    return "/reshard-" + std::to_string(::getpid()) + "-" + std::to_string(next++);
}

} // namespace detail

RESHARD_DECL shared_segment shared_segment::create(index_t bytes, segment_kind kind,
                                                   page_advice advice, system_calls const& calls) {
    shared_segment made;
    if (kind == segment_kind::named)
        made.take_name(calls);
    else
        made.file_ = detail::open_file(calls.create_unnamed("reshard"));
    if (made.file_.number() < 0)
        detail::fail_segment("a shared segment cannot be created", errno);
    made.reserve(bytes, calls);
    made.memory_ = detail::shared_mapping(made.file_, static_cast<std::size_t>(bytes));
    made.take(advice);
    made.set_address(kind);
    return made;
}

RESHARD_DECL shared_segment shared_segment::open(segment_address const& told, index_t bytes,
                                                 system_calls const& calls) {
    shared_segment opened;
    opened.address_ = told;
    opened.file_ =
        detail::open_file(told.kind == segment_kind::named ? calls.open_named(told.path.c_str())
                                                           : calls.open_unnamed(told.path.c_str()));
    if (opened.file_.number() < 0)
        detail::fail_segment("the shared segment " + told.path + " cannot be opened", errno);
    struct stat const found = opened.status();
    if (found.st_dev != told.device || found.st_ino != told.file || found.st_size != bytes)
        fail(errc::io, told.path + " is another file on this rank than on the one that made it");
    opened.memory_ = detail::shared_mapping(opened.file_, static_cast<std::size_t>(bytes));
    opened.seal();
    return opened;
}

RESHARD_DECL void shared_segment::seal() {
    name_ = {};
    file_ = {};
}

RESHARD_DECL void shared_segment::take_name(system_calls const& calls) {
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

RESHARD_DECL void shared_segment::reserve(index_t bytes, system_calls const& calls) const {
    std::string const what = "a shared segment of " + std::to_string(bytes) + " bytes";
    detail::file_size_signal_held const held;
    if (::ftruncate(file_.number(), bytes) != 0)
        detail::fail_segment(what, errno);
    if (int const problem = calls.reserve(file_.number(), bytes))
        detail::fail_segment(what, problem);
}

RESHARD_DECL void shared_segment::take(page_advice advice) const {
    if (advice.huge)
        detail::advise_huge(memory_.data(), memory_.bytes());
    if (advice.populate)
        detail::populate(memory_.data(), memory_.bytes());
}

RESHARD_DECL void shared_segment::set_address(segment_kind kind) {
    struct stat const found = status();
    std::string const path =
        kind == segment_kind::named
            ? name_.text()
            : "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file_.number());
    address_ = {kind, path, found.st_dev, found.st_ino};
}

RESHARD_DECL struct stat shared_segment::status() const {
    struct stat found = {};
    if (::fstat(file_.number(), &found) != 0)
        detail::fail_segment("a shared segment", errno);
    return found;
}

} // namespace reshard

#endif
