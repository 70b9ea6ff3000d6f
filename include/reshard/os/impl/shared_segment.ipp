// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_IMPL_SHARED_SEGMENT_IPP
#define RESHARD_OS_IMPL_SHARED_SEGMENT_IPP

#include <reshard/os/shared_segment.hpp>

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/os/file.hpp>

#include <sys/mman.h>
#if defined(__linux__)
#include <sys/uio.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace reshard::detail {

RESHARD_DECL segment_name& segment_name::operator=(segment_name&& name) noexcept {
    std::swap(text_, name.text_);
    return *this;
}

RESHARD_DECL segment_name::~segment_name() {
    if (!text_.empty())
        ::shm_unlink(text_.c_str());
}

/// The description of a segment in messages.
inline std::string segment_of(index_t bytes) {
    return "a shared segment of " + std::to_string(bytes) + " bytes";
}

/// A name that no other segment of this process has.
inline std::string new_segment_name() {
    static std::atomic<unsigned> next = 0;
    return "/reshard-" + std::to_string(::getpid()) + "-" + std::to_string(next++);
}

RESHARD_DECL shared_segment shared_segment::create(index_t bytes, segment_kind kind,
                                                   page_advice advice, system_calls const& calls) {
    shared_segment segment;
    if (kind == segment_kind::named)
        segment.take_name(calls);
    else
        segment.file_ = file_descriptor(calls.create_unnamed("reshard"));
    if (!segment.file_.is_open())
        fail_io("a shared segment cannot be created");
    segment.reserve(bytes, calls);
    segment.map(bytes, PROT_READ | PROT_WRITE);
    segment.take(advice);
    segment.set_address(kind);
    return segment;
}

RESHARD_DECL shared_segment shared_segment::open(segment_address const& address, index_t bytes,
                                                 system_calls const& calls) {
    return open_as(address, bytes, PROT_READ | PROT_WRITE, calls);
}

RESHARD_DECL shared_segment shared_segment::open_to_read(segment_address const& address,
                                                         index_t bytes, system_calls const& calls) {
    return open_as(address, bytes, PROT_READ, calls);
}

RESHARD_DECL void shared_segment::remove(segment_address const& address) {
    if (address.kind != segment_kind::named)
        return;
    file_descriptor const file(::shm_open(address.path.c_str(), O_RDONLY, 0));
    struct stat status {};
    if (file.is_open() && ::fstat(file.number(), &status) == 0 && status.st_dev == address.device &&
        status.st_ino == address.file)
        ::shm_unlink(address.path.c_str());
}

RESHARD_DECL shared_segment shared_segment::open_as(segment_address const& address, index_t bytes,
                                                    int protection, system_calls const& calls) {
    shared_segment opened;
    opened.address_ = address;
    opened.file_ = file_descriptor(address.kind == segment_kind::named
                                       ? calls.open_named(address.path.c_str())
                                       : calls.open_unnamed(address.path.c_str()));
    if (!opened.file_.is_open())
        fail_io("the shared segment " + address.path + " cannot be opened");
    struct stat const status = opened.status();
    if (status.st_dev != address.device || status.st_ino != address.file || status.st_size != bytes)
        fail(errc::io, address.path,
             " is not the same file on this rank as on the rank that created it");
    opened.map(bytes, protection);
    opened.seal();
    return opened;
}

RESHARD_DECL void shared_segment::seal() {
    name_ = {};
    file_ = {};
}

RESHARD_DECL void shared_segment::take_name(system_calls const& calls) {
    constexpr int tries = 100;
    for (int i = 0; i < tries && !file_.is_open(); ++i) {
        std::string const text = new_segment_name();
        file_ = file_descriptor(calls.create_named(text.c_str()));
        if (file_.is_open())
            name_ = segment_name(text); // never removes another process's name
        else if (errno != EEXIST)
            return;
    }
}

RESHARD_DECL void shared_segment::reserve(index_t bytes, system_calls const& calls) const {
    std::string const noun = segment_of(bytes);
    file_size_signal_held const signal;
    if (::ftruncate(file_.number(), bytes) != 0)
        fail_io(noun);
    if (int const problem = calls.reserve(file_.number(), bytes))
        fail_io(noun, problem);
}

RESHARD_DECL void shared_segment::map(index_t bytes, int protection) {
    memory_ = mapping_handle(file_, static_cast<std::size_t>(bytes), protection, segment_of(bytes));
}

RESHARD_DECL void shared_segment::take(page_advice advice) const {
    if (advice.huge)
        advise_pages(memory_.data(), memory_.bytes(), true);
    if (advice.populate)
        populate(memory_.data(), memory_.bytes());
}

RESHARD_DECL void shared_segment::set_address(segment_kind kind) {
    struct stat const found_status = status();
    std::string const path =
        kind == segment_kind::named
            ? name_.text()
            : "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file_.number());
    address_ = {kind, path, found_status.st_dev, found_status.st_ino};
}

RESHARD_DECL struct stat shared_segment::status() const {
    struct stat status = {};
    if (::fstat(file_.number(), &status) != 0)
        fail_io("a shared segment cannot be examined");
    return status;
}

RESHARD_DECL bool read_process(std::uint64_t process, std::span<memory_run const> runs,
                               std::byte* target) {
#if defined(__linux__)
    constexpr std::size_t most_runs = 256; // the system allows 1024 in one call
    iovec local[most_runs], remote[most_runs];
    while (!runs.empty()) {
        std::size_t const count = std::min(runs.size(), most_runs);
        std::size_t bytes = 0;
        for (std::size_t i = 0; i < count; ++i) {
            auto const address = static_cast<std::uintptr_t>(runs[i].address);
            remote[i] = {reinterpret_cast<void*>(address), static_cast<std::size_t>(runs[i].bytes)};
            local[i] = {target + runs[i].offset, remote[i].iov_len};
            bytes += remote[i].iov_len;
        }
        if (::process_vm_readv(static_cast<pid_t>(process), local, count, remote, count, 0) !=
            static_cast<ssize_t>(bytes))
            return false;
        runs = runs.subspan(count);
    }
    return true;
#else
    static_cast<void>(process), static_cast<void>(target);
    return runs.empty();
#endif
}

} // namespace reshard::detail

#endif
