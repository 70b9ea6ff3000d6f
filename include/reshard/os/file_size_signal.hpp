// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_FILE_SIZE_SIGNAL_HPP
#define RESHARD_OS_FILE_SIZE_SIGNAL_HPP

#include <signal.h>

#include <csignal>

/// \file
/// A file beyond the limit on sizes is an error here, and not the end of the process.

namespace reshard::detail {

/// While this lives, a file that this thread makes too large is the error EFBIG alone: its signal,
/// SIGXFSZ, whose default ends the process, goes nowhere.
///
/// A signal that was pending before is left pending; `errno` is kept.
class file_size_signal_held {
public:
    file_size_signal_held();
    file_size_signal_held(file_size_signal_held const&) = delete;
    file_size_signal_held& operator=(file_size_signal_held const&) = delete;
    ~file_size_signal_held();

private:
    static bool is_pending();

    sigset_t signal_;
    sigset_t before_;
    bool was_pending_ = false;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/os/impl/file_size_signal.ipp>
#endif

#endif
