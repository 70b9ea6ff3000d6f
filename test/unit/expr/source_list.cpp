// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/mapping.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(expr_source_list)

BOOST_AUTO_TEST_CASE(tensors_of_any_number_of_axes_come_back) {
    source_list list;
    list.push_back({"scalar", {}, data_type::i64});
    list.push_back({"conv", {8, 4, 3, 3}, data_type::bf16});
    list.push_back({"", {5}, data_type::f32});
    BOOST_TEST(list.size() == 3u);
    BOOST_TEST((list[0] == mapping_source{"scalar", {}, data_type::i64}));
    BOOST_TEST((list[1] == mapping_source{"conv", {8, 4, 3, 3}, data_type::bf16}));
    BOOST_TEST((list[2] == mapping_source{"", {5}, data_type::f32}));
    BOOST_TEST(list.key(1) == "conv");
}

BOOST_AUTO_TEST_CASE(a_loop_sees_each_once_and_in_order) {
    source_list list;
    list.push_back({"a", {1}, data_type::f32});
    list.push_back({"b", {2}, data_type::f32});
    std::string text;
    for (mapping_source const& source : list)
        text += std::string(source.key) + to_string(source.shape);
    BOOST_TEST(text == "a[1]b[2]");
}

BOOST_AUTO_TEST_CASE(lists_are_equal_when_their_tensors_are) {
    source_list sources, other_sources;
    sources.push_back({"a", {2, 3}, data_type::f32});
    other_sources.reserve(100, 1000);
    other_sources.push_back({"a", {2, 3}, data_type::f32});
    BOOST_TEST((sources == other_sources));
    source_list longer = sources;
    longer.push_back({"b", {}, data_type::f32});
    BOOST_TEST((sources != longer));
    source_list cast;
    cast.push_back({"a", {2, 3}, data_type::f16});
    BOOST_TEST((sources != cast));
}

BOOST_AUTO_TEST_SUITE_END()
