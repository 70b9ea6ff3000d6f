// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/typed_layout.hpp>

#include <reshard/layout/layout_of.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(layout_typed_layout_shardings)

namespace {

struct job : typed::layout<mesh{{"dp", 2}, {"tp", 3}},
                           typed::tensor<"w", float, index_vector{7, 4}, replicate{}, shard{0}>,
                           typed::tensor<"a", double, index_vector{}, replicate{}, only{1}>,
                           typed::tensor<"v", float, index_vector{7, 4}, replicate{}, shard{0}>> {};
using no_tensors = typed::layout<mesh{{"tp", 4}}>;

} // namespace

BOOST_AUTO_TEST_CASE(shardings_are_those_that_one_would_write) {
    mesh const ranks{{"dp", 2}, {"tp", 3}};
    auto const shardings = typed::shardings_of<job>();
    BOOST_TEST(shardings.size() == 3u);
    BOOST_TEST((shardings[0] == sharding_of("w", data_type::f32,
                                            distribution(ranks, {replicate{}, shard{0}}, {7, 4}))));
    BOOST_TEST((shardings[1] ==
                sharding_of("a", data_type::f64, distribution(ranks, {replicate{}, only{1}}, {}))));
}

BOOST_AUTO_TEST_CASE(layouts_list_the_shards_that_typed_layouts_do) {
    layout const layout = job{};
    BOOST_TEST(layout.holders == 6u);
    BOOST_TEST(layout.spreads.size() == 2u);
    BOOST_TEST((layout == layout_of(typed::shardings_of<job>())));
}

BOOST_AUTO_TEST_CASE(a_layout_without_tensors_has_ranks) {
    BOOST_TEST(layout(no_tensors{}).holders == 4u);
}

BOOST_AUTO_TEST_SUITE_END()
