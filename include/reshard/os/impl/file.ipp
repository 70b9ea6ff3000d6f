// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_IMPL_FILE_IPP
#define RESHARD_OS_IMPL_FILE_IPP

#include <reshard/os/file.hpp>

#include <reshard/core/config.hpp>

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace reshard::detail {

/// True if the signal for a file that is too large is pending for this process or thread.
inline bool is_too_large_pending() {
    sigset_t pending;
    ::sigemptyset(&pending);
    ::sigpending(&pending);
    return ::sigismember(&pending, SIGXFSZ) == 1;
}

RESHARD_DECL file_size_signal_held::file_size_signal_held() {
    ::sigemptyset(&signal_);
    ::sigaddset(&signal_, SIGXFSZ);
    ::pthread_sigmask(SIG_BLOCK, &signal_, &before_);
    was_pending_ = is_too_large_pending();
}

RESHARD_DECL file_size_signal_held::~file_size_signal_held() {
    int const kept = errno;
    timespec const at_once = {};
    if (!was_pending_)
        while (::sigtimedwait(&signal_, nullptr, &at_once) < 0 && errno == EINTR) {
        }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = kept;
}

RESHARD_DECL void fail_io(std::string const& noun, int problem) {
    fail(errc::io, noun, ": ", std::strerror(problem));
}

RESHARD_DECL std::size_t most_kept_files() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    return static_cast<std::size_t>(std::min<rlim_t>(limit.rlim_cur / 4, 256));
}

RESHARD_DECL file_descriptor& file_descriptor::operator=(file_descriptor&& descriptor) noexcept {
    std::swap(number_, descriptor.number_);
    return *this;
}

RESHARD_DECL file_descriptor::~file_descriptor() {
    if (is_open())
        ::close(number_);
}

RESHARD_DECL file_descriptor file_descriptor::open(std::string const& path, int flags) {
    file_descriptor file(
        uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); }));
    bool const is_new = (flags & O_CREAT) != 0;
    if (!file.is_open() && errno == ENOENT && !is_new)
        fail(errc::missing_file, path, ": no such file");
    if (!file.is_open())
        fail_io(path + (is_new ? ": cannot be created" : ": cannot be opened"));
    return file;
}

RESHARD_DECL bool file_descriptor::create_empty(std::string const& path) {
    int const flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    file_descriptor const file(uninterrupted([&] { return ::open(path.c_str(), flags, 0666); }));
    if (!file.is_open() && errno != EEXIST)
        fail_io(path);
    return file.is_open();
}

RESHARD_DECL bool file_descriptor::try_lock() const {
    return uninterrupted([&] { return ::flock(number_, LOCK_EX | LOCK_NB); }) == 0;
}

RESHARD_DECL bool file_descriptor::try_share() const {
    return uninterrupted([&] { return ::flock(number_, LOCK_SH | LOCK_NB); }) == 0;
}

RESHARD_DECL bool is_at(file_descriptor const& file, std::string const& path) {
    struct stat opened {
    }, named{};
    return ::fstat(file.number(), &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

RESHARD_DECL mapping_handle::mapping_handle(file_descriptor const& file, std::size_t bytes,
                                            int protection, std::string const& noun)
    : bytes_(bytes) {
    if (bytes == 0)
        return;
    void* const memory = ::mmap(nullptr, bytes, protection, MAP_SHARED, file.number(), 0);
    if (memory == MAP_FAILED)
        fail_io(noun + ": cannot be mapped into memory");
    data_ = static_cast<std::byte*>(memory);
}

RESHARD_DECL mapping_handle& mapping_handle::operator=(mapping_handle&& handle) noexcept {
    std::swap(data_, handle.data_);
    std::swap(bytes_, handle.bytes_);
    return *this;
}

RESHARD_DECL mapping_handle::~mapping_handle() {
    if (data_)
        ::munmap(data_, bytes_);
}

} // namespace reshard::detail

#endif
