// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/strictness.hpp>

#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

/// \file
/// Needed keys, and the messages about lacking ones.

BOOST_AUTO_TEST_SUITE(layout_state_need)

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

std::string const all_is_lacking = "; give a tensor for each, or change needs";

} // namespace

BOOST_AUTO_TEST_CASE(nothing_is_needed_by_default) { check_needs("needs", {}, {}, {}); }

BOOST_AUTO_TEST_CASE(a_key_and_a_pattern_are_met) {
    std::vector<std::string> const keys{"a.w", "a.w.m", "b.w", "b.w.m", "step"};
    check_needs("needs", {{"step"}, {"*.w", {"*.m", "step"}}}, keys, keys);
    // `a.w.m` matches the pattern too, and is not a weight
    check_needs("needs", {{"**", {"*.m", "step"}}}, {"a.w", "a.w.m", "step.m", "step"},
                {"a.w", "a.w.m", "step.m", "step"});
}

BOOST_AUTO_TEST_CASE(what_is_lacking_is_named_with_what_it_belongs_to) {
    std::vector<std::string> const keys{"a.w", "a.w.exp_avg", "b.w", "b.w.exp_agv"};
    BOOST_CHECK_EXCEPTION(
        check_needs("needs", {{"*.w", {"*.exp_avg", "common/step"}}}, keys, keys), error,
        says(errc::unknown_key, "needs: 2 needed keys are missing: 'b.w.exp_avg' beside "
                                "'b.w' (did you mean 'b.w.exp_agv'?), 'common/step' beside 'a.w'" +
                                    all_is_lacking));
}

BOOST_AUTO_TEST_CASE(a_pattern_that_nothing_matches_is_lacking) {
    BOOST_CHECK_EXCEPTION(
        check_needs("needs", {{"head.**"}}, {"body.w"}, {"body.w"}), error,
        says(errc::unknown_key, "needs: 1 needed key is missing: 'head.**', which no key "
                                "matches" +
                                    all_is_lacking));
    BOOST_CHECK_EXCEPTION(
        check_needs("needs", {{"head"}}, {}, {}), error,
        says(errc::unknown_key, "needs: 1 needed key is missing: 'head'" + all_is_lacking));
}

BOOST_AUTO_TEST_CASE(a_key_that_is_known_but_left_out_is_lacking) {
    BOOST_CHECK_EXCEPTION(
        check_needs("needs", {{"w*"}}, {"w1", "w2"}, {"w1"}), error,
        says(errc::unknown_key, "needs: 1 needed key is missing: 'w2'" + all_is_lacking));
}

BOOST_AUTO_TEST_CASE(of_many_the_first_four_are_named) {
    BOOST_CHECK_EXCEPTION(
        check_needs("needs", {{"a"}, {"b"}, {"c"}, {"d"}, {"e"}, {"f"}}, {}, {}), error,
        says(errc::unknown_key, "needs: 6 needed keys are missing: 'a', 'b', 'c', 'd' and "
                                "2 more" +
                                    all_is_lacking));
}

BOOST_AUTO_TEST_SUITE_END()
