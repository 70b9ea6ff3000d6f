// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/problem.hpp>

#include <reshard/expr/slice.hpp>

#include "support/layouts.hpp"
#include "support/says.hpp"

using namespace reshard;
using namespace reshard::detail;
using reshard::test::part;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(plan_problem_)

namespace {

layout const four = layout_of({{part("w", {4}, {{0}, {4}})}, {}});

mapping made_for(index_vector const& shape, data_type dtype) {
    mapping program;
    program.define("w", program.source("w", shape, dtype));
    return program;
}

} // namespace

BOOST_AUTO_TEST_CASE(names_become_numbers) {
    mapping program;
    program.source("unused", {9}, data_type::f32);
    program.define("w", program.source("w", {4}, data_type::f32));
    layout const target = layout_of({{part("w", {4}, {{0}, {4}})}});
    plan_problem const problem = problem_of(program, four, target);
    BOOST_TEST(problem.source_holders == 2u);
    BOOST_TEST(problem.target_holders == 1u);
    BOOST_TEST_REQUIRE(problem.sources.size() == 2u);
    BOOST_TEST(!problem.sources[0].shards); // nobody holds it, which may not matter
    BOOST_TEST(problem.sources[1].shards.table() == four.shards_of(four.tensors[0]).table());
    BOOST_TEST_REQUIRE(problem.targets.size() == 1u);
    BOOST_TEST(problem.targets[0].shards.table() == target.shards_of(target.tensors[0]).table());
    BOOST_TEST(problem.targets[0].pieces == &program.find("w")->value.pieces);
    BOOST_TEST(!problem.targets[0].added);
}

BOOST_AUTO_TEST_CASE(outputs_that_nobody_wants_are_left_out) {
    mapping program = made_for({4}, data_type::f32);
    program.define("other", program.source(0));
    BOOST_TEST(problem_of(program, four, four).targets.size() == 1u);
}

BOOST_AUTO_TEST_CASE(holders_are_ranks_or_files) {
    plan_problem problem;
    BOOST_TEST(source_name(problem, 3) == "rank 3");
    BOOST_TEST(wanted_by(problem, 4) == ", which rank 4 wants,");
    reshard::vector<std::string> const files{"a.safetensors", "b.safetensors"};
    problem.source_names = &files;
    BOOST_TEST(source_name(problem, 1) == "b.safetensors");
    BOOST_TEST(wanted_by(problem, 4).empty());
}

BOOST_AUTO_TEST_CASE(a_target_that_the_program_does_not_yield_is_refused) {
    layout const target = layout_of({{part("v", {4}, {{0}, {4}})}});
    BOOST_CHECK_EXCEPTION(
        problem_of(made_for({4}, data_type::f32), four, target), error,
        says(errc::unknown_key,
             "'v' is wanted by rank 0, but neither the program nor the source yields it; to leave "
             "it as it is, write '_ -> v'"));
}

BOOST_AUTO_TEST_CASE(a_program_for_another_source_is_refused) {
    layout const target = layout_of({{part("w", {5}, {{0}, {5}})}});
    BOOST_CHECK_EXCEPTION(
        problem_of(made_for({5}, data_type::f32), four, target), error,
        says(errc::shape_mismatch,
             "'w' has the shape [4] in the source, but the program was made for [5]"));
    BOOST_CHECK_EXCEPTION(
        problem_of(made_for({4}, data_type::f16), four, four), error,
        says(errc::dtype_mismatch,
             "'w' is float32 in the source, but the program was made for float16"));
}

BOOST_AUTO_TEST_CASE(a_target_of_another_shape_or_type_is_refused) {
    layout const target = layout_of({{part("w", {5}, {{0}, {5}})}});
    BOOST_CHECK_EXCEPTION(
        problem_of(made_for({4}, data_type::f32), four, target), error,
        says(errc::shape_mismatch, "'w' has the shape [5] in the target, but the source has [4]"));
    layout const half = layout_of({{{"w", data_type::f16, {4}, {{0}, {4}}, {}}}});
    BOOST_CHECK_EXCEPTION(problem_of(made_for({4}, data_type::f32), four, half), error,
                          says(errc::dtype_mismatch,
                               "'w' is float16 in the target, but the source has float32; to cast "
                               "it, write 'w -> w, dtype=\"float16\"'"));
    mapping shorter;
    shorter.define("w", slice(shorter.source("w", {4}, data_type::f32), {{1, 3}}));
    BOOST_CHECK_EXCEPTION(problem_of(shorter, four, target), error,
                          says(errc::shape_mismatch,
                               "'w' has the shape [5] in the target, but the program yields [2]"));
}

namespace {

/// A tensor of 256 x 256 and its scales, a number for each block of 128 x 128.
mapping scaled(index_vector const& scales = {2, 2}) {
    mapping program;
    program.define("w", program.source("w", {256, 256}, data_type::f32));
    program.define("s", program.source("s", scales, data_type::f32));
    program.relate({relation::kind::scale, "w", "s", {128, 128}});
    return program;
}

shard_descriptor rows_of_w(index_t first, index_t count) {
    return part("w", {256, 256}, {{first, 0}, {count, 256}});
}

shard_descriptor rows_of_s(index_t first, index_t count) {
    return part("s", {2, 2}, {{first, 0}, {count, 2}});
}

std::string first_apart(reshard::vector<reshard::vector<shard_descriptor>> const& ranks) {
    auto const scales_apart = find_scales_apart(scaled(), layout_of(ranks));
    return scales_apart.empty() ? std::string()
                                : scales_apart[0].key + ": " + scales_apart[0].message;
}

} // namespace

BOOST_AUTO_TEST_CASE(scales_have_to_lie_beside_their_blocks) {
    reshard::vector<reshard::vector<shard_descriptor>> const quarters{
        {rows_of_w(0, 64), rows_of_s(0, 1)},
        {rows_of_w(64, 64), rows_of_s(1, 1)},
        {rows_of_w(128, 64)},
        {rows_of_w(192, 64)}};
    std::string const expected =
        "'w': rank 1 holds [64:128, 0:256], whose scales are [0:1, 0:2] of 's', but of these it "
        "holds only [1:2, 0:2]; along axis 0, cut 'w' and its scales between blocks of 128, or "
        "give each rank the scales of every block that it holds elements of: do not cut 's'";
    BOOST_TEST(first_apart(quarters) == "w: " + expected);
    BOOST_CHECK_EXCEPTION(check_scales(scaled(), layout_of(quarters)), error,
                          says(errc::bad_layout, expected));
    BOOST_TEST(first_apart({{rows_of_w(0, 128), rows_of_s(0, 2)}, {rows_of_w(128, 128)}}) ==
               "w: 'w': rank 1 holds [128:256, 0:256], whose scales are [1:2, 0:2] of 's', but "
               "it holds none of these; along axis 0, cut 'w' and its scales between blocks of "
               "128, or give each rank the scales of every block that it holds elements of: do "
               "not cut 's'");
    // Columns of w, rows of the scales.
    BOOST_TEST(first_apart({{part("w", {256, 256}, {{0, 0}, {256, 128}}), rows_of_s(0, 1)},
                            {part("w", {256, 256}, {{0, 128}, {256, 128}}), rows_of_s(1, 1)}}) ==
               "w: 'w': rank 0 holds [0:256, 0:128], whose scales are [0:2, 0:1] of 's', but of "
               "these it holds only [0:1, 0:2]; along axis 0, cut 'w' and its scales between "
               "blocks of 128, or give each rank the scales of every block that it holds elements "
               "of: do not cut 's'");
}

BOOST_AUTO_TEST_CASE(scales_beside_their_blocks_are_fine) {
    BOOST_TEST(first_apart({{rows_of_w(0, 128), rows_of_s(0, 1)},
                            {rows_of_w(128, 128), rows_of_s(1, 1)}}) == "");
    // Cut within blocks, but with all scales that belong to the rows.
    BOOST_TEST(first_apart({{rows_of_w(0, 64), rows_of_s(0, 1)},
                            {rows_of_w(64, 192), rows_of_s(0, 1), rows_of_s(1, 1)}}) == "");
    BOOST_TEST(first_apart({{rows_of_w(0, 64), rows_of_s(0, 2)},
                            {rows_of_w(64, 192), rows_of_s(0, 2)}}) == "");
    // A rank without elements needs no scales, nor does one that wants no scales at all.
    BOOST_TEST(first_apart({{rows_of_w(0, 256), rows_of_s(0, 2)}, {rows_of_w(256, 0)}}) == "");
    BOOST_TEST(first_apart({{rows_of_w(0, 64)}, {rows_of_w(64, 192)}}) == "");
    // Slices of ZeRO are put together before they are used.
    BOOST_TEST(first_apart(
                   {{part("w", {256, 256}, whole({256, 256}), flat_range{0, 100}), rows_of_s(0, 1)},
                    {part("w", {256, 256}, whole({256, 256}), flat_range{100, 65536}),
                     rows_of_s(1, 1)}}) == "");
    // With another shape they are not scales of these blocks.
    layout const layout = layout_of({{rows_of_w(0, 256), part("s", {3, 2}, {{0, 0}, {1, 2}})},
                                     {part("s", {3, 2}, {{1, 0}, {2, 2}})}});
    BOOST_TEST(find_scales_apart(scaled({3, 2}), layout).empty());
}

BOOST_AUTO_TEST_SUITE_END()
