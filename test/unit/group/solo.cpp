// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/group/solo.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(group_solo)

BOOST_AUTO_TEST_CASE(a_group_of_one_hears_itself) {
    BOOST_TEST(solo().rank() == 0);
    BOOST_TEST(solo().size() == 1);
    std::string const bytes("a\0b", 3);
    BOOST_TEST((solo().all_gather(bytes) == std::vector<std::string>{bytes}));
}

BOOST_AUTO_TEST_CASE(what_does_not_gather_is_no_group) {
    struct silent {
        int rank() const { return 0; }
        int size() const { return 1; }
    };
    static_assert(group<solo>);
    static_assert(!group<silent>);
    static_assert(!group<int>);
}

BOOST_AUTO_TEST_SUITE_END()
