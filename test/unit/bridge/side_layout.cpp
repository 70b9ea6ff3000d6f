// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bridge/stored_shards.hpp>

#include "support/says.hpp"
#include "unit/bridge/weights.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

BOOST_AUTO_TEST_SUITE(bridge_side_layout)

BOOST_AUTO_TEST_CASE(it_is_what_the_ranks_hold_or_what_they_know) {
    weights have({"a"}, 6, 4, cut_along::rows);
    any_group const alone{solo()};
    layout const held_layout = layout_of_side(alone, source_tensors(have.views()), {}, "source");
    BOOST_TEST((held_layout == layout_of({have.views().descriptors()})));
    layout const layout = layout_of({{{"b", data_type::f32, {2}, whole({2})}}});
    BOOST_TEST(
        (layout_of_side(alone, source_tensors{have.views(), layout}, {}, "source") == layout));
}

BOOST_AUTO_TEST_CASE(mistakes_in_tensors_and_layouts_are_said) {
    any_group const alone{solo()};
    std::vector<float> elements(4);
    state_dict wrong;
    wrong.add({"a", data_type::f32, {5}, whole({5})}, adapt::raw_tensor(elements.data(), {4}));
    BOOST_CHECK_EXCEPTION(layout_of_side(alone, target_tensors(wrong), {}, "target"), error,
                          mentions(errc::shape_mismatch, "'a'"));
    layout const wider = layout_of({{}, {{"a", data_type::f32, {4}, whole({4})}}});
    BOOST_CHECK_EXCEPTION(
        layout_of_side(alone, target_tensors{{}, wider}, {}, "target"), error,
        says(errc::bad_layout, "the layout of the target is for 2 ranks, and the group has 1"));
}

BOOST_AUTO_TEST_SUITE_END()
