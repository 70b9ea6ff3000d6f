// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/model/parallel_tensor.hpp>
#include <reshard/model/tied_weights.hpp>

#include "support/says.hpp"

#include <vector>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::model;

BOOST_AUTO_TEST_SUITE(model_tied_weights)

BOOST_AUTO_TEST_CASE(an_alias_lies_where_its_tensor_does) {
    parallel_job const job({.tp = 2});
    std::vector const tensors{
        sharding_of({.key = "embed", .shape = {4, 2}, .cut = vocabulary_parallel()}, job)};
    auto const both = with_aliases(tensors, {{"embed", "head"}});
    BOOST_TEST(both.size() == 2);
    BOOST_TEST(both[1].key == "head");
    BOOST_TEST((both[1].parts == both[0].parts));
}

BOOST_AUTO_TEST_CASE(an_alias_needs_a_tensor_and_must_not_be_one) {
    parallel_job const job({});
    std::vector const tensors{sharding_of({.key = "a", .shape = {4}}, job),
                              sharding_of({.key = "b", .shape = {4}}, job)};
    BOOST_CHECK_EXCEPTION(
        with_aliases(tensors, {{"c", "d"}}), error,
        test::says(errc::unknown_key, "'d' is tied to 'c', but no tensor has that key"));
    BOOST_CHECK_EXCEPTION(
        with_aliases(tensors, {{"a", "b"}}), error,
        test::says(errc::bad_layout,
                   "'b' is tied to 'a', but is also listed as a separate tensor"));
}

BOOST_AUTO_TEST_CASE(a_program_defines_an_alias_like_its_tensor_and_relates_them) {
    mapping program;
    program.define("embed", program.source("e", {4, 2}, data_type::f32));
    tie(program, {{"embed", "head"}});
    BOOST_TEST((program.find("head")->value == program.find("embed")->value));
    BOOST_TEST(
        (program.relations() == std::vector<relation>{{relation::kind::tie, "embed", "head"}}));
    BOOST_CHECK_EXCEPTION(
        tie(program, {{"x", "y"}}), error,
        test::says(errc::unknown_key, "'y' is tied to 'x', which the program does not define"));
}

BOOST_AUTO_TEST_SUITE_END()
