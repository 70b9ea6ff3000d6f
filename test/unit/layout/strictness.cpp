// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/strictness.hpp>

#include "support/says.hpp"

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(shard_strictness)

namespace {

using texts = reshard::vector<std::string>;

key_mismatch const both{{"u", "v"}, {"m"}};

/// One line of the table: the keys that a mode logs, raises, returns and omits.
struct expected_verdict {
    strictness mode;
    char const* log;
    char const* raise;
    char const* give_back;
    bool leaves_out;
};

/// `u` for unexpected keys, `m` for missing ones.
key_mismatch chosen(std::string const& letters) {
    key_mismatch result;
    if (letters.find('u') != letters.npos)
        result.unexpected = both.unexpected;
    if (letters.find('m') != letters.npos)
        result.missing = both.missing;
    return result;
}

} // namespace

BOOST_AUTO_TEST_CASE(keys_of_one_side_are_told_apart) {
    key_mismatch const mismatch = compare_keys({"b", "a", "c", "b"}, {"d", "a", "b", "a"});
    BOOST_TEST(mismatch.unexpected == texts{"c"}, boost::test_tools::per_element());
    BOOST_TEST(mismatch.missing == texts{"d"}, boost::test_tools::per_element());
    BOOST_TEST(compare_keys({}, {}).empty());
    BOOST_TEST(compare_keys({"a"}, {"a", "a"}).empty());
    BOOST_TEST((compare_keys({"z", "y"}, {}) == key_mismatch{{"y", "z"}, {}}));
    BOOST_TEST((compare_keys({}, {"z", "y"}) == key_mismatch{{}, {"y", "z"}}));
}

BOOST_AUTO_TEST_CASE(each_mode_does_what_the_table_says) {
    expected_verdict const table[] = {
        {strictness::assume_ok_unexpected, "", "", "", false},
        {strictness::log_unexpected, "u", "", "", true},
        {strictness::log_all, "um", "", "", true},
        {strictness::raise_unexpected, "", "u", "", false},
        {strictness::raise_all, "", "um", "", false},
        {strictness::return_unexpected, "", "", "u", true},
        {strictness::return_all, "", "", "um", true},
        {strictness::ignore_all, "", "", "", true},
    };
    for (auto const& [mode, log, raise, give_back, leaves_out] : table) {
        strict_verdict const verdict = judge(mode, both);
        BOOST_TEST((verdict.log == chosen(log)), name(mode));
        BOOST_TEST((verdict.raise == chosen(raise)), name(mode));
        BOOST_TEST((verdict.give_back == chosen(give_back)), name(mode));
        BOOST_TEST(verdict.left_out == (leaves_out ? both.unexpected : texts{}),
                   boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(keys_that_agree_need_no_verdict) {
    for (int i = 0; i < 8; ++i)
        BOOST_TEST((judge(static_cast<strictness>(i), {}) == strict_verdict{}));
}

BOOST_AUTO_TEST_CASE(a_mode_has_a_name) {
    for (int i = 0; i < 8; ++i)
        BOOST_TEST(
            (strictness_from_name(name(static_cast<strictness>(i))) == static_cast<strictness>(i)));
    BOOST_TEST(name(strictness::assume_ok_unexpected) == "assume_ok_unexpected");
    BOOST_TEST(name(strictness::ignore_all) == "ignore_all");
    BOOST_CHECK_EXCEPTION(
        strictness_from_name("log_al"), error,
        says(errc::usage, "unknown strictness 'log_al' (did you mean 'log_all'?); choose one of "
                          "assume_ok_unexpected, log_unexpected, log_all, raise_unexpected, "
                          "raise_all, return_unexpected, return_all, ignore_all"));
}

BOOST_AUTO_TEST_CASE(what_is_raised_names_the_first_keys_of_each_side) {
    BOOST_CHECK_NO_THROW(raise(judge(strictness::log_all, both)));
    BOOST_CHECK_EXCEPTION(raise(judge(strictness::raise_all, both)), error,
                          says(errc::unknown_key, "2 keys are wanted but not available: 'u', 'v'; "
                                                  "1 key is available but not wanted: 'm'"));
    BOOST_TEST(describe({{}, {"a", "b", "c", "d", "e", "f"}}) ==
               "6 keys are available but not wanted: 'a', 'b', 'c', 'd' and 2 more");
    BOOST_TEST(describe(key_mismatch{}) == "");
}

BOOST_AUTO_TEST_SUITE_END()
