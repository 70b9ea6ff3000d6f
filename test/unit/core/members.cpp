// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/members.hpp>

#include <reshard/core/box.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/step_chain.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

static_assert(storable<box> && storable<box const> && !storable_alone<box>);
static_assert(storable<step_chain> && storable<packed_vector>);
static_assert(!storable<int> && !storable<std::string> && !storable<std::vector<box>>);
static_assert(detail::made_by_recipe<packed_vector> && !detail::listing_members<packed_vector>);

BOOST_AUTO_TEST_SUITE(core_members)

BOOST_AUTO_TEST_CASE(a_list_of_members_reads_and_writes) {
    box region{{1, 2}, {3, 4}};
    index_vector values;
    box const& looked_at = region;
    box::members(looked_at,
                 [&](index_vector const& offset, index_vector const&) { values = offset; });
    BOOST_TEST((values == index_vector{1, 2}));
    box::members(region, [](index_vector& offset, index_vector&) { offset = {0, 0}; });
    BOOST_TEST((region == box{{0, 0}, {3, 4}}));
}

BOOST_AUTO_TEST_CASE(of_an_array_only_the_elements_in_use_are_a_member) {
    index_vector const two{7, 8};
    index_vector::members(two, [](auto const& prefix) {
        static_assert(std::remove_cvref_t<decltype(prefix)>::most == max_ndim);
        BOOST_TEST(prefix.count == 2u);
        BOOST_TEST(prefix.values[1] == 8);
    });
}

BOOST_AUTO_TEST_SUITE_END()
