// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/losses.hpp>

#include <reshard/expr/algebra.hpp>

#include <boost/test/unit_test.hpp>

// The texts of the faults are in check.cpp. Here: a fault is found at any position.

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(expr_check_pieces)

namespace {

source_list one_source() {
    source_list list;
    list.push_back({"a", {2, 3}, data_type::f32});
    return list;
}

bool is_sound(expression value) {
    return !find_piece_fault({"x", std::move(value), false}, one_source());
}

} // namespace

BOOST_AUTO_TEST_CASE(a_box_lies_in_a_tensor_or_leaves_it) {
    BOOST_TEST(lies_in({{0, 0}, {2, 3}}, {2, 3}));
    BOOST_TEST(lies_in({{2, 0}, {0, 3}}, {2, 3}));
    BOOST_TEST(lies_in({}, {}));
    BOOST_TEST(!lies_in({{0, 1}, {2, 3}}, {2, 3}));
    BOOST_TEST(!lies_in({{-1, 0}, {1, 1}}, {2, 3}));
    BOOST_TEST(!lies_in({{0, 0}, {-1, 3}}, {2, 3}));
}

BOOST_AUTO_TEST_CASE(what_the_algebra_makes_is_sound) {
    expression const a = source_tensor(0, {2, 3}, data_type::f32);
    BOOST_TEST(is_sound(a));
    BOOST_TEST(is_sound(transpose(a)));
    BOOST_TEST(is_sound(cast(a, data_type::f16)));
    BOOST_TEST(is_sound(concat({a, zeros({1, 3}, data_type::f32)}, 0)));
    BOOST_TEST(is_sound(split(a, 1, std::size_t{3})[2]));
    BOOST_TEST(is_sound(zeros({}, data_type::f32)));
    BOOST_TEST(is_sound(zeros({0, 5}, data_type::f32)));
}

BOOST_AUTO_TEST_CASE(pieces_have_the_axes_of_their_tensor) {
    expression value{{6}, data_type::f32, piece_list(2)};
    value.pieces.push_back(
        {0, data_type::f32, permutation::identity(2), {}, {0, 0}, {0, 0}, {2, 3}});
    auto const fault = find_piece_fault({"x", value, false}, one_source());
    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST((fault->code == errc::shape_mismatch));
    BOOST_TEST(fault->message == "'x' has 1 axis, but its pieces have 2");
}

BOOST_AUTO_TEST_CASE(the_first_of_several_faults_speaks_for_the_tensor) {
    expression value{{4, 3}, data_type::f32, piece_list(2)};
    value.pieces.push_back(
        {0, data_type::f32, permutation::identity(2), {}, {0, 0}, {0, 0}, {2, 3}});
    value.pieces.push_back(
        {3, data_type::f32, permutation::identity(2), {}, {0, 0}, {1, 0}, {2, 3}});
    auto const fault = find_piece_fault({"x", value, false}, one_source());
    BOOST_TEST_REQUIRE(fault.has_value());
    BOOST_TEST((fault->code == errc::unknown_key)); // and the two overlap, and there is a gap
}

BOOST_AUTO_TEST_SUITE_END()
