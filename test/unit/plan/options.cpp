// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/options.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;

namespace {

std::size_t chosen(std::vector<holder_t> const& holders, holder_t target,
                   plan_options const& options = {}) {
    return choose_replica(
        holders.size(), [&](std::size_t i) { return holders[i]; }, target, options);
}

} // namespace

BOOST_AUTO_TEST_SUITE(plan_options_)

BOOST_AUTO_TEST_CASE(everybody_is_in_the_default_set) {
    BOOST_TEST(holder_set().is_everybody());
    BOOST_TEST(holder_set().contains(0));
    BOOST_TEST(holder_set().contains(4'000'000'000u));
}

BOOST_AUTO_TEST_CASE(a_set_contains_what_is_listed) {
    holder_set const some({7, 2, 5});
    BOOST_TEST(!some.is_everybody());
    BOOST_TEST(some.contains(2));
    BOOST_TEST(some.contains(5));
    BOOST_TEST(some.contains(7));
    BOOST_TEST(!some.contains(3));
    BOOST_TEST(!some.contains(0));
    BOOST_TEST(!holder_set::nobody().contains(0));
    BOOST_TEST(!holder_set::nobody().is_everybody());
}

BOOST_AUTO_TEST_CASE(a_process_plays_every_so_manieth_holder) {
    BOOST_TEST((plan_options{0, false}.process_of(9) == 9u));
    BOOST_TEST((plan_options{4, false}.process_of(9) == 1u));
}

BOOST_AUTO_TEST_CASE(who_has_it_itself_takes_its_own) {
    BOOST_TEST(chosen({1, 4, 6}, 4) == 1u);
    BOOST_TEST(chosen({1, 4, 6}, 6) == 2u);
    // Two processes: holders 3 and 5 are played by process 1, as target 7 is.
    BOOST_TEST(chosen({4, 3, 5}, 7, {2, false}) == 1u);
}

BOOST_AUTO_TEST_CASE(others_take_turns) {
    BOOST_TEST(chosen({10, 11, 12}, 0) == 0u);
    BOOST_TEST(chosen({10, 11, 12}, 1) == 1u);
    BOOST_TEST(chosen({10, 11, 12}, 5) == 2u);
    BOOST_TEST(chosen({10}, 5) == 0u);
}

BOOST_AUTO_TEST_CASE(what_everybody_can_read_is_read_from_the_first) {
    BOOST_TEST(chosen({10, 5, 12}, 5, {0, true}) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
