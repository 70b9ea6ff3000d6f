// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_CHILD_PROCESS_HPP
#define RESHARD_TEST_SUPPORT_CHILD_PROCESS_HPP

#include <csignal>
#include <cstdio>
#include <exception>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

/// \file
/// Another process, which does what a test says and ends in any case.

namespace reshard::test {

/// A process that runs `work`, which returns true if all was right; after ten minutes the
/// system ends it.
class child_process {
public:
    template <class Work>
    explicit child_process(Work const& work) : number_(::fork()) {
        if (number_ != 0)
            return;
        ::alarm(600);
        bool is_right = false;
        try {
            is_right = work();
        } catch (std::exception const& problem) {
            std::fprintf(stderr, "child process: %s\n", problem.what());
        }
        ::_exit(is_right ? 0 : 1);
    }
    child_process(child_process const&) = delete;
    ~child_process() {
        if (number_ > 0) {
            kill(SIGKILL);
            wait();
        }
    }

    pid_t number() const { return number_; }
    void kill(int signal) const { ::kill(number_, signal); }

    /// Waits until it stops itself.
    ///
    /// \return false if it ended instead
    bool wait_until_stopped() {
        int status = 0;
        ::waitpid(number_, &status, WUNTRACED);
        return WIFSTOPPED(status);
    }

    /// Waits for its end.
    ///
    /// \return true if all was right
    bool wait() {
        int status = -1;
        if (number_ > 0)
            ::waitpid(std::exchange(number_, -1), &status, 0);
        return status == 0;
    }

    /// Waits for its end.
    ///
    /// \return true if it was a signal's doing
    bool wait_until_killed(int signal) {
        int status = -1;
        ::waitpid(std::exchange(number_, -1), &status, 0);
        return WIFSIGNALED(status) && WTERMSIG(status) == signal;
    }

private:
    pid_t number_;
};

/// Memory that processes that are forked later share, of zeros.
template <class T>
class shared_value {
public:
    shared_value()
        : value_(new(::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                            -1, 0)) T{}) {}
    shared_value(shared_value const&) = delete;
    ~shared_value() { ::munmap(value_, sizeof(T)); }

    T& operator*() const { return *value_; }
    T* operator->() const { return value_; }

private:
    T* value_;
};

} // namespace reshard::test

#endif
