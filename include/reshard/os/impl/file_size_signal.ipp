// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_IMPL_FILE_SIZE_SIGNAL_IPP
#define RESHARD_OS_IMPL_FILE_SIZE_SIGNAL_IPP

#include <reshard/os/file_size_signal.hpp>

#include <reshard/core/config.hpp>

#include <pthread.h>

#include <cerrno>
#include <ctime>

namespace reshard::detail {

RESHARD_DECL file_size_signal_held::file_size_signal_held() {
    ::sigemptyset(&signal_);
    ::sigaddset(&signal_, SIGXFSZ);
    ::pthread_sigmask(SIG_BLOCK, &signal_, &before_);
    was_pending_ = is_pending();
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

RESHARD_DECL bool file_size_signal_held::is_pending() {
    sigset_t pending;
    ::sigemptyset(&pending);
    ::sigpending(&pending);
    return ::sigismember(&pending, SIGXFSZ) == 1;
}

} // namespace reshard::detail

#endif
