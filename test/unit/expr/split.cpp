// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/split.hpp>

#include "support/evaluate.hpp"
#include "support/says.hpp"

#include <reshard/expr/concat.hpp>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::evaluate;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(expr_split)

namespace {

using numbers = std::vector<index_t>;

expression const w = source_tensor(0, {2, 6}, data_type::f32);

/// Elements of a 2 x 6 source whose element is its row-major number.
numbers of(expression const& value) {
    return evaluate(value, {{2, 6}}, {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}});
}

std::vector<expression> sized(expression const& tensor, std::size_t axis, numbers const& sizes) {
    return split(tensor, axis, sizes);
}

} // namespace

BOOST_AUTO_TEST_CASE(equal_parts_stand_in_order) {
    auto const parts = split(w, 1, 3);
    BOOST_TEST_REQUIRE(parts.size() == 3u);
    for (expression const& part : parts) {
        BOOST_TEST((part.shape == index_vector{2, 2}));
        BOOST_TEST((part.dtype == data_type::f32));
    }
    BOOST_TEST((of(parts[0]) == numbers{0, 1, 6, 7}));
    BOOST_TEST((of(parts[1]) == numbers{2, 3, 8, 9}));
    BOOST_TEST((of(parts[2]) == numbers{4, 5, 10, 11}));
    BOOST_TEST((of(split(w, 0, 2)[1]) == numbers{6, 7, 8, 9, 10, 11}));
}

BOOST_AUTO_TEST_CASE(sizes_may_differ_and_be_zero) {
    auto const parts = sized(w, 1, {1, 0, 5});
    BOOST_TEST_REQUIRE(parts.size() == 3u);
    BOOST_TEST((of(parts[0]) == numbers{0, 6}));
    BOOST_TEST((parts[1].shape == index_vector{2, 0}));
    BOOST_TEST(parts[1].pieces.size() == 0u);
    BOOST_TEST((of(parts[2]) == numbers{1, 2, 3, 4, 5, 7, 8, 9, 10, 11}));
    BOOST_TEST((of(sized(w, 1, {0, 0, 6, 0})[2]) == of(w)));
}

BOOST_AUTO_TEST_CASE(one_part_is_the_tensor) { BOOST_TEST((split(w, 0, 1)[0] == w)); }

BOOST_AUTO_TEST_CASE(a_part_of_a_source_is_a_box_of_it_and_one_of_two_sources_is_not) {
    expression const both = concat({w, w}, 0);
    BOOST_TEST(is_source_box(split(w, 1, 3)[1]));
    BOOST_TEST(is_source_box(split(both, 0, 2)[1]));
    BOOST_TEST(!is_source_box(both));
    BOOST_TEST(!is_source_box(sized(w, 1, {6, 0})[1]));
}

BOOST_AUTO_TEST_CASE(pieces_are_cut_where_the_parts_meet) {
    // [0..5] and [6..11] side by side, cut into 5, 2 and 5 columns.
    auto const rows = split(w, 0, 2);
    auto const parts = sized(concat({rows[0], rows[1]}, 1), 1, {5, 2, 5});
    BOOST_TEST((of(parts[0]) == numbers{0, 1, 2, 3, 4}));
    BOOST_TEST((of(parts[1]) == numbers{5, 6}));
    BOOST_TEST((of(parts[2]) == numbers{7, 8, 9, 10, 11}));
    BOOST_TEST(parts[1].pieces.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_part_of_a_part_counts_from_its_own_beginning) {
    auto const right = split(w, 1, 2)[1];
    BOOST_TEST((of(split(right, 1, 3)[1]) == numbers{4, 10}));
    BOOST_TEST((of(split(right, 0, 2)[1]) == numbers{9, 10, 11}));
}

BOOST_AUTO_TEST_CASE(a_tensor_without_elements_splits_into_such) {
    auto const parts = split(source_tensor(0, {0, 4}, data_type::f32), 0, 3);
    BOOST_TEST_REQUIRE(parts.size() == 3u);
    BOOST_TEST((parts[2].shape == index_vector{0, 4}));
    auto const halves = split(source_tensor(0, {0, 4}, data_type::f32), 1, 2);
    BOOST_TEST((halves[1].shape == index_vector{0, 2}));
}

BOOST_AUTO_TEST_CASE(parts_that_do_not_divide_are_refused) {
    for (std::size_t const parts : {4u, 0u})
        BOOST_CHECK_EXCEPTION(
            split(w, 1, parts), error,
            says(errc::shape_mismatch, "axis 1 has the extent 6, which does not divide into " +
                                           std::to_string(parts) +
                                           " equal parts; give explicit sizes"));
}

BOOST_AUTO_TEST_CASE(sizes_that_do_not_sum_up_are_refused) {
    constexpr index_t huge = index_t{1} << 62; // four of them sum to 0 in 64 bits
    for (auto const& [sizes, text] : std::vector<std::pair<numbers, std::string>>{
             {{2, 3}, "the sizes sum to 5"},
             {{}, "the sizes sum to 0"},
             {{7, -1}, "part 1 takes 7 of the 6 elements that are left"},
             {{2, -1, 5}, "part 2 takes -1 of the 4 elements that are left"},
             {{6, huge, huge, huge, huge},
              "part 2 takes 4611686018427387904 of the 0 elements that are left"},
         })
        BOOST_CHECK_EXCEPTION(sized(w, 1, sizes), error,
                              says(errc::shape_mismatch, "axis 1 has the extent 6, but " + text));
}

BOOST_AUTO_TEST_CASE(an_axis_that_does_not_exist_is_refused) {
    BOOST_CHECK_EXCEPTION(split(w, 2, 2), error,
                          says(errc::shape_mismatch, "axis 2 is out of range for a tensor of 2 "
                                                     "axes, shape [2, 6]"));
    BOOST_CHECK_EXCEPTION(split(source_tensor(0, {}, data_type::f32), 0, 1), error,
                          says(errc::shape_mismatch, "axis 0 is out of range for a tensor of 0 "
                                                     "axes, shape []"));
}

BOOST_AUTO_TEST_SUITE_END()
