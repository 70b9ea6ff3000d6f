// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_FILE_SIZE_SIGNAL_HPP
#define RESHARD_OS_FILE_SIZE_SIGNAL_HPP

#include <cerrno>
#include <csignal>
#include <ctime>
#include <pthread.h>
#include <signal.h>

/// \file
/// A file beyond the limit on sizes is an error here, and not the end of the process.

namespace reshard::detail {

/// While this lives, a file that this thread makes too large is the error EFBIG alone: its signal, SIGXFSZ,
/// whose default ends the process, goes nowhere.
///
/// A signal that was pending before is left pending; `errno` is kept.
class file_size_signal_held {
public:
    file_size_signal_held() {
        ::sigemptyset(&signal_);
        ::sigaddset(&signal_, SIGXFSZ);
        ::pthread_sigmask(SIG_BLOCK, &signal_, &before_);
        was_pending_ = is_pending();
    }
    file_size_signal_held(file_size_signal_held const&) = delete;
    file_size_signal_held& operator=(file_size_signal_held const&) = delete;
    ~file_size_signal_held() {
        int const kept = errno;
        timespec const at_once = {};
        if (!was_pending_)
            while (::sigtimedwait(&signal_, nullptr, &at_once) < 0 && errno == EINTR) {
            }
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
        errno = kept;
    }

private:
    static bool is_pending() {
        sigset_t pending;
        ::sigemptyset(&pending);
        ::sigpending(&pending);
        return ::sigismember(&pending, SIGXFSZ) == 1;
    }

    sigset_t signal_;
    sigset_t before_;
    bool was_pending_ = false;
};

} // namespace reshard::detail

#endif
