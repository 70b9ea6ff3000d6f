// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/kept_plan.hpp>

#include "support/archives.hpp"
#include "support/layouts.hpp"

#include <reshard/plan/make_plan.hpp>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

BOOST_AUTO_TEST_SUITE(serialization_kept_plan)

namespace {

kept_plan kept_one() {
    return {0x1122334455667788, make_plan(whole_problem({{part("w", {6}, {{0}, {6}})}},
                                                        {{part("w", {6}, {{0}, {4}})},
                                                         {part("w", {6}, {{4}, {2}})}})())};
}

} // namespace

BOOST_AUTO_TEST_CASE(kept_plans_come_back_as_they_were) {
    BOOST_TEST(comes_back(kept_one()));
    BOOST_TEST(comes_back(kept_plan()));
}

BOOST_AUTO_TEST_CASE(kept_plans_that_are_cut_off_are_refused) {
    BOOST_TEST(cut_archives_that_pass(kept_one()) == 0);
}

BOOST_AUTO_TEST_CASE(no_byte_of_a_kept_plan_can_be_altered) {
    BOOST_TEST(damaged_archives_that_pass(kept_one()) == 0);
}

BOOST_AUTO_TEST_CASE(kept_plans_of_another_version_are_refused_with_both_versions) {
    std::string bytes = to_bytes(kept_one());
    BOOST_TEST_REQUIRE(bytes[5] == 13); // after the mark and the number of the form
    bytes[5] = 1;
    BOOST_TEST(said([&] { from_bytes<kept_plan>(bytes); }) ==
               "unsupported: the archive holds a kept plan of version 1, but this library reads "
               "version 13");
}

BOOST_AUTO_TEST_SUITE_END()
