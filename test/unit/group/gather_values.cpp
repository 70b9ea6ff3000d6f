// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/group/gather_values.hpp>

#include <reshard/core/box.hpp>
#include <reshard/group/solo.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(group_gather_values)

namespace {

/// A group of two, of which the other rank sends `other`.
struct pair_of_ranks {
    std::string other;

    int rank() const { return 0; }
    int size() const { return 2; }
    std::vector<std::string> all_gather(std::string const& bytes) const { return {bytes, other}; }
};

} // namespace

BOOST_AUTO_TEST_CASE(alone_a_rank_gets_its_own_value) {
    BOOST_TEST(gather_values(solo(), -5) == std::vector<int>{-5}, boost::test_tools::per_element());
    std::vector<box> const boxes{{{1}, {2}}, {{}, {}}};
    BOOST_TEST((gather_values(solo(), boxes) == std::vector<std::vector<box>>{boxes}));
}

BOOST_AUTO_TEST_CASE(values_come_in_the_order_of_ranks) {
    pair_of_ranks const two{std::string("\7\0\0\0", 4)};
    BOOST_TEST(gather_values(two, 3) == (std::vector<int>{3, 7}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_rank_that_sends_something_else_is_refused) {
    for (std::size_t const size : {3u, 5u})
        BOOST_CHECK_EXCEPTION(
            gather_values(pair_of_ranks{std::string(size, 'x')}, 3), error,
            [](error const& problem) { return problem.code() == errc::corrupt_file; });
}

BOOST_AUTO_TEST_SUITE_END()
