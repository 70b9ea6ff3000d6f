// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/concat.hpp>

#include "support/evaluate.hpp"
#include "support/says.hpp"

using namespace reshard;
using namespace reshard::detail;
using reshard::test::evaluate;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(expr_concat)

namespace {

using numbers = std::vector<index_t>;

expression tensor(key_id source, index_vector const& shape, data_type dtype = data_type::f32) {
    return source_tensor(source, shape, dtype);
}

} // namespace

BOOST_AUTO_TEST_CASE(tensors_stand_one_behind_the_other) {
    expression const full_expression = concat({tensor(0, {2, 1}), tensor(1, {2, 2})}, 1);
    BOOST_TEST((full_expression.shape == index_vector{2, 3}));
    BOOST_TEST((evaluate(full_expression, {{2, 1}, {2, 2}}, {{1, 2}, {10, 11, 12, 13}}) ==
                numbers{1, 10, 11, 2, 12, 13}));
    expression const below = concat({tensor(0, {1, 2}), tensor(1, {2, 2})}, 0);
    BOOST_TEST((evaluate(below, {{1, 2}, {2, 2}}, {{1, 2}, {10, 11, 12, 13}}) ==
                numbers{1, 2, 10, 11, 12, 13}));
}

BOOST_AUTO_TEST_CASE(one_tensor_may_stand_twice) {
    expression const w = tensor(0, {2});
    BOOST_TEST((evaluate(concat({w, w}, 0), {{2}}, {{3, 4}}) == numbers{3, 4, 3, 4}));
}

BOOST_AUTO_TEST_CASE(operands_may_lie_apart) {
    expression const a = tensor(0, {1, 2}), b = tensor(1, {2, 2});
    std::vector<expression const*> const operands{&b, &a, &b};
    BOOST_TEST((concat(operands, 0) == concat({b, a, b}, 0)));
}

BOOST_AUTO_TEST_CASE(one_operand_is_itself) {
    expression const w = tensor(0, {2, 3});
    BOOST_TEST((concat({w}, 1) == w));
}

BOOST_AUTO_TEST_CASE(operands_without_elements_add_nothing) {
    expression const expression =
        concat({tensor(0, {0, 2}), tensor(1, {1, 2}), tensor(2, {0, 2})}, 0);
    BOOST_TEST((expression.shape == index_vector{1, 2}));
    BOOST_TEST((evaluate(expression, {{0, 2}, {1, 2}, {0, 2}}, {{}, {8, 9}, {}}) == numbers{8, 9}));
    BOOST_TEST((concat({tensor(0, {0, 2}), tensor(1, {0, 2})}, 0).shape == index_vector{0, 2}));
}

BOOST_AUTO_TEST_CASE(operands_of_other_shapes_are_refused) {
    BOOST_CHECK_EXCEPTION(
        concat({tensor(0, {2, 3}), tensor(1, {2, 3}), tensor(2, {2, 4})}, 0), error,
        says(errc::shape_mismatch, "operand 3 has the extent 4 along axis 1, but the first has 3"));
    BOOST_CHECK_EXCEPTION(concat({tensor(0, {2, 3}), tensor(1, {2})}, 0), error,
                          says(errc::shape_mismatch, "operand 2 has 1 axis, but the first has 2"));
}

BOOST_AUTO_TEST_CASE(operands_of_two_types_are_refused) {
    BOOST_CHECK_EXCEPTION(
        concat({tensor(0, {2}), tensor(1, {2}, data_type::bf16)}, 0), error,
        says(errc::dtype_mismatch,
             "operand 2 is bfloat16, but the first is float32; cast one of them first"));
}

BOOST_AUTO_TEST_CASE(a_concat_of_nothing_is_refused) {
    BOOST_CHECK_EXCEPTION(concat(std::span<expression const>{}, 0), error,
                          says(errc::shape_mismatch, "concat needs at least one tensor"));
}

BOOST_AUTO_TEST_CASE(an_axis_that_does_not_exist_is_refused) {
    BOOST_CHECK_EXCEPTION(concat({tensor(0, {2}), tensor(1, {2})}, 1), error,
                          says(errc::shape_mismatch, "axis 1 is out of range for a tensor of 1 "
                                                     "axis, shape [2]"));
}

BOOST_AUTO_TEST_CASE(an_extent_beyond_64_bits_is_refused) {
    constexpr index_t half = index_t{1} << 62;
    BOOST_CHECK_EXCEPTION(concat({tensor(0, {half}), tensor(1, {half})}, 0), error,
                          says(errc::overflow, "the sum of the extents 4611686018427387904 and "
                                               "4611686018427387904 does not fit in 64 bits"));
    BOOST_CHECK_EXCEPTION(
        concat({tensor(0, {half / 2, 2}), tensor(1, {half / 2, 2})}, 0), error,
        says(errc::overflow,
             "the product of the extents 4611686018427387904 and 2 does not fit in 64 bits"));
}

BOOST_AUTO_TEST_CASE(operands_that_do_not_fit_are_called_by_their_keys) {
    expression const q = source_tensor(0, {4, 6}, data_type::f32);
    expression const k = source_tensor(1, {2, 5}, data_type::f32);
    expression const v = source_tensor(2, {2, 6}, data_type::bf16);
    auto const message = [](auto const& call) {
        try {
            call();
        } catch (error const& problem) {
            return std::string(problem.what());
        }
        return std::string("accepted");
    };
    BOOST_TEST(message([&] {
                   concat({q, k}, 0, {"l.0.q", "l.0.k"});
               }) == "'l.0.k' has the extent 5 along axis 1, but 'l.0.q' has 6");
    BOOST_TEST(message([&] {
                   concat({q, q, v}, 0, {"l.0.q", "again", "l.0.v"});
               }) == "'l.0.v' is bfloat16, but 'l.0.q' is float32; cast one of them first");
    BOOST_TEST((concat({q, q}, 0, {"a", "b"}) == concat({q, q}, 0)));
}

BOOST_AUTO_TEST_SUITE_END()
