// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/os/peer_memory.hpp>

#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <unistd.h>

using namespace reshard;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(node_peer_memory)

namespace {

/// Letters that are read as 3 and 5 and 2 of them, into runs of 4 and 6.
struct letters_fixture {
    std::string const source = "abc..defgh...ij";
    std::string first = "????", second = "??????";

    void read(system_calls const& calls) {
        std::array<iovec, 3> remote{{{at(0), 3}, {at(5), 5}, {at(13), 2}}};
        std::array<iovec, 2> local{{{first.data(), 4}, {second.data(), 6}}};
        read_peer(::getpid(), local, remote, calls);
    }

    void* at(std::size_t place) const { return const_cast<char*>(source.data() + place); }

    bool is_right() const { return first == "abcd" && second == "efghij"; }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(runs_follow_one_another, letters_fixture) {
    read({});
    BOOST_TEST(is_right());
}

BOOST_FIXTURE_TEST_CASE(the_system_may_do_a_part_at_a_time_or_be_interrupted, letters_fixture) {
    static int calls_made;
    calls_made = 0;
    system_calls slow;
    // One byte at a time, of the first runs; each third call is interrupted.
    slow.read_process = [](pid_t, iovec const* local, std::size_t, iovec const* remote,
                           std::size_t) -> ssize_t {
        if (++calls_made % 3 == 0) {
            errno = EINTR;
            return -1;
        }
        std::memcpy(local->iov_base, remote->iov_base, 1);
        return 1;
    };
    read(slow);
    BOOST_TEST(is_right());
    BOOST_TEST(calls_made == 14); // 10 bytes, 4 interruptions
}

BOOST_FIXTURE_TEST_CASE(what_the_system_refuses_is_an_error_with_its_reason, letters_fixture) {
    system_calls refusing;
    refusing.read_process = [](pid_t, iovec const*, std::size_t, iovec const*,
                               std::size_t) -> ssize_t {
        errno = EPERM;
        return -1;
    };
    auto const says_why = [](std::string const& reason) {
        return says(errc::io, "the memory of process " + std::to_string(::getpid()) +
                                  " cannot be read: " + reason +
                                  "; without node_exchange::reads, ranks pass slots or messages");
    };
    BOOST_CHECK_EXCEPTION(read(refusing), error, says_why("Operation not permitted"));
    system_calls ended;
    ended.read_process = [](pid_t, iovec const*, std::size_t, iovec const*,
                            std::size_t) -> ssize_t { return 0; };
    BOOST_CHECK_EXCEPTION(read(ended), error, says_why("nothing came"));
}

BOOST_AUTO_TEST_SUITE_END()
