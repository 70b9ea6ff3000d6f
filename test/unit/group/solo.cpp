// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/group/solo.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(group_solo)

namespace {

struct rank_without_neighbours {
    int rank() const { return 0; }
    int size() const { return 1; }
};

struct rank_that_gathers_one_text : rank_without_neighbours {
    std::string all_gather(std::string const& bytes) const { return bytes; }
};

} // namespace

BOOST_AUTO_TEST_CASE(one_process_is_rank_0_of_1) {
    BOOST_TEST(solo{}.rank() == 0);
    BOOST_TEST(solo{}.size() == 1);
}

BOOST_AUTO_TEST_CASE(what_one_process_gathers_is_its_own_text) {
    std::string const bytes("a\0b", 3);
    BOOST_TEST(solo{}.all_gather(bytes) == std::vector{bytes}, boost::test_tools::per_element());
    BOOST_TEST(solo{}.all_gather("") == std::vector<std::string>{""},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_group_gathers_the_texts_of_all) {
    static_assert(group<solo>);
    static_assert(!group<rank_without_neighbours>);
    static_assert(!group<rank_that_gathers_one_text>);
    static_assert(!group<int>);
    BOOST_TEST(group<solo const>);
}

BOOST_AUTO_TEST_CASE(a_wait_is_seconds_or_a_duration) {
    using detail::wait_duration;
    static_assert(wait_duration().seconds == 0);
    static_assert(wait_duration(2).seconds == 2);
    static_assert(wait_duration(0.25).seconds == 0.25);
    static_assert(wait_duration(std::chrono::milliseconds(1500)).seconds == 1.5);
    BOOST_TEST(wait_duration(std::chrono::minutes(2)).seconds == 120);
}

BOOST_AUTO_TEST_CASE(one_process_waits_for_nobody) {
    BOOST_TEST(detail::with_deadline(solo{}, 1).size() == 1);
}

BOOST_AUTO_TEST_SUITE_END()
