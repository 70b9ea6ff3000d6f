// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/os/process.hpp>

#include "support/child_process.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard::detail;
using namespace reshard::test;

BOOST_AUTO_TEST_SUITE(os_process)

BOOST_AUTO_TEST_CASE(a_process_has_not_ended_while_it_lives) {
    process_mark const me = this_process();
    BOOST_TEST(me.number == static_cast<std::uint64_t>(::getpid()));
    BOOST_TEST(me.started > 0u);
    BOOST_TEST(!has_ended(me));
    shared_value<process_mark> value;
    child_process sleeper([&] {
        *value = this_process();
        ::raise(SIGSTOP);
        return true;
    });
    BOOST_TEST(sleeper.wait_until_stopped());
    BOOST_TEST(!(*value == me));
    BOOST_TEST(!has_ended(*value));
    sleeper.kill(SIGCONT);
    BOOST_TEST(sleeper.wait());
    BOOST_TEST(has_ended(*value));
}

BOOST_AUTO_TEST_CASE(one_that_was_killed_has_ended_before_its_parent_asks) {
    shared_value<process_mark> value;
    child_process killed([&] {
        *value = this_process();
        ::raise(SIGKILL);
        return true;
    });
    siginfo_t ignored;
    ::waitid(P_PID, static_cast<id_t>(killed.number()), &ignored, WEXITED | WNOWAIT);
    BOOST_TEST(has_ended(*value));
}

BOOST_AUTO_TEST_CASE(another_one_of_the_same_number_is_another_one) {
    process_mark later = this_process();
    ++later.started;
    BOOST_TEST(has_ended(later));
    later.started = 0; // not known
    BOOST_TEST(!has_ended(later));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_seen_has_not_ended) {
    process_mark elsewhere = this_process();
    elsewhere.number = 0x3fffffff; // more than the system gives
    BOOST_TEST(has_ended(elsewhere));
    ++elsewhere.space;
    BOOST_TEST(!has_ended(elsewhere));
    BOOST_TEST(!has_ended(process_mark{}));
}

BOOST_AUTO_TEST_CASE(tokens_differ) { BOOST_TEST(new_token() != new_token()); }

BOOST_AUTO_TEST_SUITE_END()
