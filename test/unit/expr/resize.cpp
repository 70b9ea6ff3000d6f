// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/slice.hpp>

#include "support/evaluate.hpp"
#include "support/says.hpp"

#include <reshard/expr/cast.hpp>
#include <reshard/expr/permute.hpp>
#include <reshard/expr/reshape.hpp>
#include <reshard/expr/split.hpp>

#include <limits>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::evaluate;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(expr_resize)

namespace {

using numbers = std::vector<index_t>;

expression const w = source_tensor(0, {2, 3}, data_type::f32);

/// Elements of a 2 x 3 source whose element is its row-major number plus 1, so that 0 is a zero.
numbers of(expression const& value) { return evaluate(value, {{2, 3}}, {{1, 2, 3, 4, 5, 6}}); }

} // namespace

BOOST_AUTO_TEST_CASE(the_same_extents_change_nothing) { BOOST_TEST((resize(w, {2, 3}) == w)); }

BOOST_AUTO_TEST_CASE(a_shorter_axis_loses_its_tail) {
    BOOST_TEST((of(resize(w, {1, 2})) == numbers{1, 2}));
    BOOST_TEST(is_source_box(resize(w, {1, 2})));
}

BOOST_AUTO_TEST_CASE(a_longer_axis_gains_zeros_at_its_tail) {
    expression const wide = resize(w, {2, 4});
    BOOST_TEST((wide.shape == index_vector{2, 4}));
    BOOST_TEST((wide.dtype == data_type::f32));
    BOOST_TEST((of(wide) == numbers{1, 2, 3, 0, 4, 5, 6, 0}));
    BOOST_TEST((of(resize(w, {3, 3})) == numbers{1, 2, 3, 4, 5, 6, 0, 0, 0}));
}

BOOST_AUTO_TEST_CASE(zeros_cover_what_is_added_once) {
    // evaluate gives -1 without a piece, and -2 for two.
    BOOST_TEST((of(resize(w, {3, 5})) == numbers{1, 2, 3, 0, 0, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0}));
    BOOST_TEST(resize(w, {3, 5}).pieces.size() == 3u);
}

BOOST_AUTO_TEST_CASE(one_axis_may_grow_while_another_shrinks) {
    BOOST_TEST((of(resize(w, {4, 1})) == numbers{1, 4, 0, 0}));
    BOOST_TEST((of(resize(w, {1, 5})) == numbers{1, 2, 3, 0, 0}));
}

BOOST_AUTO_TEST_CASE(three_axes_grow_together) {
    expression const cube = resize(source_tensor(0, {1, 1, 1}, data_type::f32), {2, 2, 2});
    BOOST_TEST((evaluate(cube, {{1, 1, 1}}, {{7}}) == numbers{7, 0, 0, 0, 0, 0, 0, 0}));
    BOOST_TEST(cube.pieces.size() == 4u);
}

BOOST_AUTO_TEST_CASE(nothing_may_become_zeros_and_all_may_become_nothing) {
    expression const none = source_tensor(0, {0, 3}, data_type::f32);
    BOOST_TEST((of(resize(none, {1, 2})) == numbers{0, 0}));
    BOOST_TEST((resize(none, {2, 3}) == zeros({2, 3}, data_type::f32)));
    BOOST_TEST(resize(w, {0, 9}).pieces.size() == 0u);
    BOOST_TEST((resize(w, {0, 9}).shape == index_vector{0, 9}));
    expression const scalar = source_tensor(0, {}, data_type::f32);
    BOOST_TEST((resize(scalar, {}) == scalar));
}

BOOST_AUTO_TEST_CASE(what_has_zeros_can_be_cut_turned_and_cast) {
    expression const wide = resize(w, {2, 4});
    BOOST_TEST((of(split(wide, 1, 2)[1]) == numbers{3, 0, 6, 0}));
    BOOST_TEST((of(transpose(wide)) == numbers{1, 4, 2, 5, 3, 6, 0, 0}));
    expression const narrow = cast(wide, data_type::bf16);
    BOOST_TEST((of(narrow) == of(wide)));
    BOOST_TEST((of(resize(narrow, {2, 3})) == numbers{1, 2, 3, 4, 5, 6}));
}

BOOST_AUTO_TEST_CASE(what_has_zeros_can_be_reshaped) {
    BOOST_TEST((of(reshape(resize(w, {2, 4}), {8})) == numbers{1, 2, 3, 0, 4, 5, 6, 0}));
    BOOST_TEST((of(resize(reshape(w, {6}), {8})) == numbers{1, 2, 3, 4, 5, 6, 0, 0}));
}

BOOST_AUTO_TEST_CASE(extents_that_are_none_are_refused) {
    BOOST_CHECK_EXCEPTION(resize(w, {2, -1}), error,
                          says(errc::shape_mismatch,
                               "axis 1 has the extent 3, and cannot be resized to the extent "
                               "-1"));
    BOOST_CHECK_EXCEPTION(
        resize(w, {2}), error,
        says(errc::shape_mismatch,
             "the number of extents is 1, but the shape [2, 3] has 2 axes; give one extent for "
             "each axis"));
    constexpr index_t huge = std::numeric_limits<index_t>::max();
    BOOST_CHECK_EXCEPTION(
        resize(w, {2, huge}), error,
        says(errc::overflow,
             "the product of the extents 2 and 9223372036854775807 does not fit in 64 bits"));
}

BOOST_AUTO_TEST_SUITE_END()
