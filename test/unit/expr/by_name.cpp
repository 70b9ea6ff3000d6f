// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/by_name.hpp>

#include "support/layouts.hpp"
#include "support/listed_layout.hpp"
#include "support/says.hpp"

using namespace reshard;
using namespace reshard::detail;
using reshard::test::part;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(expr_by_name)

namespace {

catalog two_tensors() {
    return catalog({{"a", data_type::f32, {2}, {1}}, {"b", data_type::i8, {3, 1}, {1, 1}}});
}

} // namespace

BOOST_AUTO_TEST_CASE(what_is_wanted_is_the_source_of_that_name) {
    mapping const program =
        by_name(two_tensors(), layout_of({{{"b", data_type::i8, {3, 1}, {{0, 0}, {2, 1}}, {}}}}));
    BOOST_TEST(program.sources().size() == 2u);
    BOOST_TEST_REQUIRE(program.outputs().size() == 1u);
    BOOST_TEST(program.outputs().begin()->key == "b");
    BOOST_TEST((program.outputs().begin()->value == source_tensor(1, {3, 1}, data_type::i8)));
}

BOOST_AUTO_TEST_CASE(a_key_without_source_is_named_with_the_first_rank_that_wants_it) {
    layout const target = layout_of(
        {{part("a", {2}, {{0}, {2}})}, {part("c", {1}, {{0}, {1}})}, {part("c", {1}, {{0}, {1}})}});
    BOOST_CHECK_EXCEPTION(
        by_name(two_tensors(), target), error,
        says(errc::unknown_key, "'c' is wanted by rank 1, but the source does not have it"));
}

BOOST_AUTO_TEST_CASE(all_keys_without_source_are_named) {
    layout const target = layout_of({{part("d", {2}, {{0}, {2}})},
                                     {part("c", {1}, {{0}, {1}}), part("a", {2}, {{0}, {2}})},
                                     {part("e", {1}, {{0}, {1}})}});
    BOOST_CHECK_EXCEPTION(by_name(two_tensors(), target), error,
                          says(errc::unknown_key,
                               "'c' is wanted by rank 1, but the source does not have it; 2 more "
                               "keys are missing: 'd' (wanted by rank 0) and 'e' (wanted by rank "
                               "2)"));
}

BOOST_AUTO_TEST_CASE(a_key_that_no_rank_holds_is_named_alone) {
    layout const target = test::listed_layout(1, {{"c", data_type::f32, {1}, shard_table(1)}});
    BOOST_CHECK_EXCEPTION(
        by_name(two_tensors(), target), error,
        says(errc::unknown_key, "'c' is wanted, but the source does not have it"));
}

BOOST_AUTO_TEST_CASE(what_a_program_makes_and_nothing_wants_is_missing) {
    // `a -> aa`, a misspelt rename: the target's `a` is the source's.
    catalog const source = two_tensors();
    mapping program(source);
    program.define("a", program.source(0));
    program.leave_over("aa");
    layout const target = layout_of({{part("a", {2}, {{0}, {2}})}});
    BOOST_CHECK_EXCEPTION(fitted_program(program, source, target, {strictness::raise_all, {}}),
                          error,
                          says(errc::unknown_key, "1 key is available but not wanted: 'aa'"));
    strict_verdict const verdict =
        fitted_program(program, source, target, {strictness::return_all, {}}).second;
    BOOST_TEST((verdict.give_back == key_mismatch{{}, {"aa"}}));
    BOOST_CHECK_NO_THROW(
        fitted_program(program, source, target, {strictness::raise_unexpected, {}}));
}

BOOST_AUTO_TEST_SUITE_END()
