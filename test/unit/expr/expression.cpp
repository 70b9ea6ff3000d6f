// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/expression.hpp>

#include "support/evaluate.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::evaluate;

BOOST_AUTO_TEST_SUITE(expr_expression)

BOOST_AUTO_TEST_CASE(a_source_is_itself) {
    expression const w = source_tensor(0, {2, 3}, data_type::f32);
    BOOST_TEST(is_source_box(w));
    BOOST_TEST((w.shape == index_vector{2, 3}));
    BOOST_TEST((w.dtype == data_type::f32));
    BOOST_TEST(
        (evaluate(w, {{2, 3}}, {{5, 6, 7, 8, 9, 10}}) == std::vector<index_t>{5, 6, 7, 8, 9, 10}));
}

BOOST_AUTO_TEST_CASE(zeros_have_no_source) {
    expression const z = zeros({3}, data_type::f16);
    BOOST_TEST(!is_source_box(z));
    BOOST_TEST((evaluate(z, {}, {}) == std::vector<index_t>{0, 0, 0}));
}

BOOST_AUTO_TEST_CASE(a_tensor_without_elements_has_no_pieces) {
    expression const w = source_tensor(0, {2, 0, 3}, data_type::f32);
    BOOST_TEST(w.pieces.size() == 0u);
    BOOST_TEST(w.pieces.ndim() == 3u);
    BOOST_TEST(w.ndim() == 3u);
}

BOOST_AUTO_TEST_CASE(a_scalar_has_one_piece) {
    expression const s = source_tensor(2, {}, data_type::i64);
    BOOST_TEST(s.pieces.size() == 1u);
    BOOST_TEST(is_source_box(s));
    BOOST_TEST((evaluate(s, {{}, {}, {}}, {{}, {}, {42}}) == std::vector<index_t>{42}));
}

BOOST_AUTO_TEST_SUITE_END()
