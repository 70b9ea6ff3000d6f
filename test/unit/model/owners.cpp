// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/model/zero.hpp>

#include "support/says.hpp"

#include <algorithm>
#include <vector>

using namespace reshard;
using namespace reshard::model;

BOOST_AUTO_TEST_SUITE(model_owners)

namespace {

using owner_list = std::vector<index_t>;

} // namespace

BOOST_AUTO_TEST_CASE(the_rank_with_the_least_takes_the_next_largest) {
    // 10 to rank 0; 7 and 7 to rank 1, which has less then; 3 to rank 0, which has 10 of 14.
    BOOST_TEST((least_loaded_owners({{"a", 10}, {"b", 7}, {"c", 7}, {"d", 3}}, 2) ==
                owner_list{0, 1, 1, 0}));
}

BOOST_AUTO_TEST_CASE(equal_sizes_go_by_key_and_equal_loads_by_rank) {
    BOOST_TEST((least_loaded_owners({{"c", 1}, {"a", 1}, {"b", 1}}, 3) == owner_list{2, 0, 1}));
    BOOST_TEST((least_loaded_owners({{"c", 0}, {"a", 0}, {"b", 0}}, 3) == owner_list{0, 0, 0}));
    BOOST_TEST((least_loaded_owners({{"a", 5}}, 1000000000) == owner_list{0}));
    BOOST_TEST(least_loaded_owners({}, 2).empty());
}

BOOST_AUTO_TEST_CASE(the_order_of_the_tensors_does_not_matter) {
    std::vector<named_size> tensors{{"a", 9}, {"b", 4}, {"c", 4}, {"d", 4}, {"e", 2}, {"f", 1}};
    auto const expected = least_loaded_owners(tensors, 3);
    for (int i = 0; i < 20; ++i) {
        std::next_permutation(tensors.begin(), tensors.end(),
                              [](auto const& a, auto const& b) { return a.key < b.key; });
        auto const owners = least_loaded_owners(tensors, 3);
        for (std::size_t n = 0; n < tensors.size(); ++n)
            BOOST_TEST(owners[n] == expected[static_cast<std::size_t>(tensors[n].key[0] - 'a')]);
    }
}

BOOST_AUTO_TEST_CASE(no_ranks_are_refused) {
    BOOST_CHECK_EXCEPTION(
        least_loaded_owners({{"a", 1}}, 0), error,
        test::says(errc::bad_layout, "1 tensor cannot be distributed over 0 ranks"));
}

BOOST_AUTO_TEST_SUITE_END()
