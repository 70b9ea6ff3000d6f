// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/group/solo.hpp>

#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

using namespace reshard;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(group_solo)

namespace {

struct rank_without_neighbours {
    int rank() const { return 0; }
    int size() const { return 1; }
};

struct rank_that_gathers_one_text : rank_without_neighbours {
    std::string all_gather(std::string const& bytes) const { return bytes; }
};

/// The last of three, the others of which say nothing.
struct third {
    int rank() const { return 2; }
    int size() const { return 3; }
    std::vector<std::string> all_gather(std::string const& bytes) const { return {"", "", bytes}; }
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

BOOST_AUTO_TEST_CASE(a_wait_that_is_negative_or_no_number_is_refused) {
    using detail::wait_duration;
    constexpr std::string_view remainder = "; give 0 or more seconds, or a std::chrono duration";
    auto const refuses = [&](auto const& seconds, std::string const& text) {
        BOOST_CHECK_EXCEPTION(
            (void)wait_duration(seconds), error,
            says(errc::usage, "a deadline cannot be " + text + std::string(remainder)));
    };
    refuses(-3.0, "-3 s");
    refuses(std::chrono::milliseconds(-1500), "-1.5 s");
    refuses(-std::numeric_limits<double>::infinity(), "-inf s");
    refuses(std::chrono::duration<double>(std::nan("")), "nan s");
    refuses(std::nan(""), "nan s");
    static_assert(wait_duration(-0.0).seconds == 0);
}

BOOST_AUTO_TEST_CASE(a_wait_for_as_long_as_it_takes_overflows_no_clock) {
    using detail::wait_duration;
    using std::chrono::steady_clock;
    auto const fits = [](wait_duration longest) {
        auto const ticks = std::chrono::duration_cast<steady_clock::duration>(
            std::chrono::duration<double>(longest.seconds));
        return steady_clock::now() + ticks > steady_clock::now() + std::chrono::hours(24 * 365);
    };
    BOOST_TEST(fits(std::numeric_limits<double>::infinity()));
    BOOST_TEST(fits(1e300));
    BOOST_TEST(fits(std::chrono::hours::max()));
}

BOOST_AUTO_TEST_CASE(one_process_waits_for_nobody) {
    BOOST_TEST(detail::with_deadline(solo{}, 1).size() == 1);
}

BOOST_AUTO_TEST_CASE(a_group_without_its_type_is_as_the_group_that_it_is_made_from) {
    detail::any_group const copy = detail::any_group(detail::any_group(third()));
    BOOST_TEST(copy.rank() == 2);
    BOOST_TEST(copy.size() == 3);
    BOOST_TEST((copy.all_gather("x") == std::vector<std::string>{"", "", "x"}));
    BOOST_TEST((detail::any_group(solo()).all_gather("y") == std::vector<std::string>{"y"}));
}

BOOST_AUTO_TEST_SUITE_END()
