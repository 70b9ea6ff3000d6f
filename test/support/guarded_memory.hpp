// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_GUARDED_MEMORY_HPP
#define RESHARD_TEST_SUPPORT_GUARDED_MEMORY_HPP

#include <csignal>
#include <cstddef>
#include <sys/mman.h>
#include <unistd.h>

/// \file
/// Memory at which a process dies: it is killed there, in the middle of its work.

namespace reshard::test {

/// A page that can be forbidden.
class guarded_page {
public:
    static constexpr std::size_t bytes = 4096;

    guarded_page()
        : memory_(
              ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
    guarded_page(guarded_page const&) = delete;
    ~guarded_page() { ::munmap(memory_, bytes); }

    void* data() const { return memory_; }

    /// From now on, who reads or writes it is killed, as by SIGKILL from outside.
    void forbid() const {
        ::signal(SIGSEGV, [](int) { ::kill(::getpid(), SIGKILL); });
        ::mprotect(memory_, bytes, PROT_NONE);
    }

private:
    void* memory_;
};

} // namespace reshard::test

#endif
