// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bridge/any_group.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

namespace {

/// The last of three, the others of which say nothing.
struct third {
    int rank() const { return 2; }
    int size() const { return 3; }
    std::vector<std::string> all_gather(std::string const& bytes) const { return {"", "", bytes}; }
};

} // namespace

BOOST_AUTO_TEST_SUITE(bridge_any_group)

BOOST_AUTO_TEST_CASE(it_is_as_the_group_that_it_is_made_from) {
    any_group const copy = any_group(any_group(third()));
    BOOST_TEST(copy.rank() == 2);
    BOOST_TEST(copy.size() == 3);
    BOOST_TEST((copy.all_gather("x") == std::vector<std::string>{"", "", "x"}));
    BOOST_TEST((any_group(solo()).all_gather("y") == std::vector<std::string>{"y"}));
}

BOOST_AUTO_TEST_SUITE_END()
