// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/inverse.hpp>

#include "aoa/language.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::aoa;
using namespace reshard::aoa::detail;
using reshard::test::parsed;

BOOST_AUTO_TEST_SUITE(aoa_analyze)

namespace {

tensor_facts facts(index_vector const& shape, data_type dtype = data_type::f32) {
    return {shape, dtype, dtype};
}

} // namespace

BOOST_AUTO_TEST_CASE(attributes_before_the_axis_are_the_operands_and_those_behind_it_the_parts) {
    program const code =
        parsed("a, b -> c, permute='[1, 0]', axis=0, dtype='float64', permute='[]'");
    statement_analysis const analysis =
        analyze(code, code.statements()[0], {facts({2, 4}), facts({2, 6})});
    BOOST_TEST_REQUIRE(analysis.operands.size() == 2u);
    BOOST_TEST_REQUIRE(analysis.results.size() == 1u);
    BOOST_TEST_REQUIRE(analysis.operands[1].size() == 1u);
    BOOST_TEST((analysis.operands[1][0].before == facts({2, 6})));
    BOOST_TEST((analysis.operands[1][0].after == facts({6, 2})));
    BOOST_TEST(analysis.results[0].size() == 2u);
    BOOST_TEST(analysis.axis->word == "axis");
    BOOST_TEST((analysis.joined[0].shape == index_vector{4, 2}));
    BOOST_TEST((analysis.made[0].shape == index_vector{2, 10}));
    BOOST_TEST((analysis.made[0].dtype == data_type::f64));
}

BOOST_AUTO_TEST_CASE(what_has_been_widened_is_held_by_the_type_that_it_had) {
    program const code = parsed("a -> b, dtype='float32', dtype='float16'");
    statement_analysis const analysis =
        analyze(code, code.statements()[0], {facts({3}, data_type::bf16)});
    BOOST_TEST((analysis.operands[0][0].after.held == data_type::bf16));
    BOOST_TEST((analysis.operands[0][1].after.held == data_type::f16));
}

BOOST_AUTO_TEST_CASE(operands_of_two_kinds_are_held_by_the_type_that_they_have) {
    program const code = parsed("a, b -> c, axis=0");
    tensor_facts const widened{{2}, data_type::f32, data_type::bf16};
    statement_analysis const analysis = analyze(code, code.statements()[0], {widened, facts({2})});
    BOOST_TEST((analysis.made[0].held == data_type::f32));
    statement_analysis const both = analyze(code, code.statements()[0], {widened, widened});
    BOOST_TEST((both.made[0].held == data_type::bf16));
}

BOOST_AUTO_TEST_CASE(the_axis_of_a_plain_statement_is_no_join) {
    program const code = parsed("a -> b, axis=1");
    BOOST_TEST(!analyze(code, code.statements()[0], {facts({2, 2})}).axis);
}

BOOST_AUTO_TEST_SUITE_END()
