// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/os/shared_segment.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

namespace {

constexpr segment_kind kinds[] = {segment_kind::unnamed, segment_kind::named};

/// Runs `work` in another process; true if it returned true there.
template <class Work>
bool in_another_process(Work const& work) {
    pid_t const child = ::fork();
    if (child == 0)
        ::_exit(work() ? 0 : 1);
    int status = -1;
    ::waitpid(child, &status, 0);
    return status == 0;
}

std::string error_of(segment_kind kind, system_calls const& calls, index_t bytes = 4096) {
    try {
        shared_segment::create(bytes, kind, {}, calls);
    } catch (error const& problem) {
        return std::string(name(problem.code())) + ": " + problem.what();
    }
    return "no error";
}

/// Files have 4096 bytes at most from here on, and the signal for larger ones ends the process.
void limit_files() {
    rlimit limit = {};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 4096;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::signal(SIGXFSZ, SIG_DFL);
}

/// True if the error is the one of a file beyond the limit, of both kinds.
bool is_refused_beyond_limit() {
    for (segment_kind const kind : kinds)
        if (error_of(kind, {}, 8192) != "io: a shared segment of 8192 bytes: File too large")
            return false;
    return true;
}

bool holds(sigset_t const& signals) { return ::sigismember(&signals, SIGXFSZ) == 1; }

sigset_t blocked_signals() {
    sigset_t blocked;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    return blocked;
}

sigset_t pending_signals() {
    sigset_t pending;
    ::sigemptyset(&pending);
    ::sigpending(&pending);
    return pending;
}

} // namespace

BOOST_AUTO_TEST_SUITE(node_shared_segment)

BOOST_AUTO_TEST_CASE(another_process_sees_what_is_written_and_writes_itself) {
    for (segment_kind const kind : kinds) {
        shared_segment const segment = shared_segment::create(5000, kind, {true, true});
        BOOST_TEST(segment.bytes() == 5000);
        BOOST_TEST(std::count(segment.data(), segment.data() + 5000, std::byte{0}) == 5000);
        segment.data()[4999] = std::byte{7};
        BOOST_TEST(in_another_process([&] {
            shared_segment const shared_segment = shared_segment::open(segment.address(), 5000);
            shared_segment.data()[1] = std::byte{9};
            return shared_segment.data() != segment.data() &&
                   shared_segment.data()[4999] == std::byte{7};
        }));
        BOOST_TEST((segment.data()[1] == std::byte{9}));
    }
}

BOOST_AUTO_TEST_CASE(a_name_that_another_process_has_is_left_to_it) {
    static std::string taken;
    system_calls calls;
    calls.create_named = [](char const* name) {
        if (!taken.empty())
            return system_calls{}.create_named(name);
        taken = name;
        ::close(::shm_open(name, O_CREAT | O_RDWR, 0600));
        errno = EEXIST;
        return -1;
    };
    {
        shared_segment const segment = shared_segment::create(4096, segment_kind::named, {}, calls);
        BOOST_TEST(segment.address().path != taken);
    }
    int const other = ::shm_open(taken.c_str(), O_RDWR, 0);
    BOOST_TEST(other >= 0);
    ::close(other);
    ::shm_unlink(taken.c_str());
}

BOOST_AUTO_TEST_CASE(what_is_sealed_stays_mapped_and_cannot_be_opened) {
    for (segment_kind const kind : kinds) {
        shared_segment segment = shared_segment::create(4096, kind);
        shared_segment const shared_segment = shared_segment::open(segment.address(), 4096);
        segment_address const address = segment.address();
        segment.seal();
        BOOST_CHECK_THROW(shared_segment::open(address, 4096), error);
        segment.data()[3] = std::byte{5};
        BOOST_TEST((shared_segment.data()[3] == std::byte{5}));
    }
}

BOOST_AUTO_TEST_CASE(a_name_is_gone_with_its_segment) {
    segment_address address;
    address = shared_segment::create(4096, segment_kind::named).address();
    BOOST_TEST(::shm_open(address.path.c_str(), O_RDWR, 0) == -1);
    BOOST_TEST(errno == ENOENT);
}

BOOST_AUTO_TEST_CASE(a_path_that_leads_elsewhere_is_refused) {
    shared_segment const segment = shared_segment::create(4096, segment_kind::unnamed);
    shared_segment const second = shared_segment::create(4096, segment_kind::unnamed);
    segment_address mixed = segment.address();
    mixed.path = second.address().path;
    try {
        shared_segment::open(mixed, 4096);
        BOOST_ERROR("no error");
    } catch (error const& problem) {
        BOOST_TEST(problem.what() ==
                   mixed.path +
                       " is not the same file on this rank as on the rank that created it");
    }
    BOOST_CHECK_THROW(shared_segment::open(segment.address(), 8192), error);
}

BOOST_AUTO_TEST_CASE(full_memory_is_an_error_and_no_signal_later) {
    system_calls full;
    full.reserve = [](int, off_t) { return ENOSPC; };
    for (segment_kind const kind : kinds)
        BOOST_TEST(error_of(kind, full) ==
                   "io: a shared segment of 4096 bytes: No space left on device");
}

BOOST_AUTO_TEST_CASE(a_limit_on_the_size_of_files_is_an_error_and_no_signal) {
    BOOST_TEST(in_another_process([] {
        limit_files();
        return error_of(segment_kind::unnamed, {}) == "no error" && is_refused_beyond_limit() &&
               !holds(blocked_signals()) && !holds(pending_signals());
    }));
}

BOOST_AUTO_TEST_CASE(a_signal_that_was_pending_before_is_pending_still) {
    BOOST_TEST(in_another_process([] {
        limit_files();
        sigset_t signal = {};
        ::sigemptyset(&signal);
        ::sigaddset(&signal, SIGXFSZ);
        ::pthread_sigmask(SIG_BLOCK, &signal, nullptr);
        bool const is_refused = is_refused_beyond_limit();
        bool const leaves_none = !holds(pending_signals());
        ::raise(SIGXFSZ);
        return is_refused && leaves_none && is_refused_beyond_limit() && holds(blocked_signals()) &&
               holds(pending_signals());
    }));
}

BOOST_AUTO_TEST_CASE(a_refusal_is_an_error) {
    system_calls strict;
    strict.create_unnamed = [](char const*) {
        errno = EPERM;
        return -1;
    };
    BOOST_TEST(error_of(segment_kind::unnamed, strict) ==
               "io: a shared segment cannot be created: Operation not permitted");
    BOOST_TEST(error_of(segment_kind::named, strict) == "no error");
    shared_segment const segment = shared_segment::create(4096, segment_kind::unnamed);
    strict.open_unnamed = strict.create_unnamed;
    try {
        shared_segment::open(segment.address(), 4096, strict);
        BOOST_ERROR("no error");
    } catch (error const& problem) {
        BOOST_TEST(problem.what() == "the shared segment " + segment.address().path +
                                         " cannot be opened: Operation not permitted");
    }
}

#if defined(__linux__)
BOOST_AUTO_TEST_CASE(runs_of_a_process_are_copied_to_their_places) {
    auto const me = static_cast<std::uint64_t>(::getpid()); // a process may always read its memory
    std::string source(2000, '.'), target(2000, '.'), reversed(2000, '.');
    std::vector<memory_run> runs;
    for (std::size_t i = 0; i < 1000; ++i) { // more than the system takes at once
        source[2 * i] = reversed[999 - i] = static_cast<char>('a' + i % 26);
        runs.push_back({reinterpret_cast<std::uintptr_t>(&source[2 * i]), 999 - i, 1});
    }
    auto* const bytes = reinterpret_cast<std::byte*>(target.data());
    BOOST_TEST(read_process(me, runs, bytes));
    BOOST_TEST(target == reversed);
    BOOST_TEST(read_process(me, {}, bytes));
    void* const hidden = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    runs[999].address = reinterpret_cast<std::uintptr_t>(hidden);
    BOOST_TEST(!read_process(me, runs, bytes));
    ::munmap(hidden, 4096);
}
#endif

BOOST_AUTO_TEST_SUITE_END()
