// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/program.hpp>
#include <reshard/bind/redistribute.hpp>

#include "support/all_ranks.hpp"
#include "support/counted_row.hpp"
#include "support/layouts.hpp"
#include "support/says.hpp"

#include <reshard/expr/algebra.hpp>

#include <numeric>

using namespace reshard;
using reshard::test::layout_of_ranks;
using reshard::test::part;
using reshard::test::redistribute_ranks;
using reshard::test::says;

namespace {

/// A matrix of 3 x 4 whose element is its number, on two ranks: rows 0-1, and row 2.
struct local_fixture {
    std::vector<float> upper = {0, 1, 2, 3, 4, 5, 6, 7};
    std::vector<float> lower = {8, 9, 10, 11};
    std::vector<const_state_dict> source{2};

    local_fixture() {
        source[0].add(part("w", {3, 4}, {{0, 0}, {2, 4}}),
                      const_tensor_view{upper.data(), data_type::f32, {2, 4}, {4, 1}});
        source[1].add(part("w", {3, 4}, {{2, 0}, {1, 4}}),
                      const_tensor_view{lower.data(), data_type::f32, {1, 4}, {4, 1}});
    }
};

state_dict one_tensor(shard_descriptor const& shard, std::vector<float>& elements) {
    index_vector const shape = local_shape(shard);
    state_dict tensors;
    tensors.add(shard,
                tensor_view{elements.data(), data_type::f32, shape, row_major_strides(shape)});
    return tensors;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(bind_redistribute, local_fixture)

BOOST_AUTO_TEST_CASE(ranks_are_put_together_as_one_layout) {
    layout const layout = layout_of_ranks(std::span<const_state_dict const>(source));
    BOOST_TEST(layout.holders == 2u);
    BOOST_TEST((layout.shards_of(layout.tensors[0]).region(1) == box{{2, 0}, {1, 4}}));
}

BOOST_AUTO_TEST_CASE(columns_are_made_of_rows) {
    std::vector<float> left(3), right(9);
    std::vector<state_dict> const target{one_tensor(part("w", {3, 4}, {{0, 0}, {3, 1}}), left),
                                         one_tensor(part("w", {3, 4}, {{0, 1}, {3, 3}}), right)};
    redistribute_ranks(source, target);
    BOOST_TEST(left == (std::vector<float>{0, 4, 8}), boost::test_tools::per_element());
    BOOST_TEST(right == (std::vector<float>{1, 2, 3, 5, 6, 7, 9, 10, 11}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_program_makes_other_tensors) {
    mapping program;
    expression const w = program.source("w", {3, 4}, data_type::f32);
    auto const parts = split(w, 1, 2);
    program.define("swapped", concat({parts[1], parts[0]}, 1));
    program.define("turned", transpose(parts[0]));
    program.add("kept", {2}, data_type::f32);
    std::vector<float> swapped(12), turned(6), kept{7, 7};
    std::vector<state_dict> const target{
        one_tensor(part("swapped", {3, 4}, {{0, 0}, {3, 4}}), swapped),
        one_tensor(part("turned", {2, 3}, {{0, 0}, {2, 3}}), turned),
        one_tensor(part("kept", {2}, {{0}, {2}}), kept)};
    redistribute_ranks(source, target, program);
    BOOST_TEST(swapped == (std::vector<float>{2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9}),
               boost::test_tools::per_element());
    BOOST_TEST(turned == (std::vector<float>{0, 4, 8, 1, 5, 9}), boost::test_tools::per_element());
    BOOST_TEST(kept == (std::vector<float>{7, 7}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_replica_on_the_same_node_is_taken) {
    // Rank 3, on a node with rank 2, has other elements than rank 1; rank 2 wants them all.
    std::vector<float> first(4, 10), second(4, 11), wanted(4);
    auto const whole_of = [](std::vector<float>& elements) {
        return one_tensor(part("v", {4}, {{0}, {4}}), elements);
    };
    std::vector<const_state_dict> const replicas{{}, whole_of(first), {}, whole_of(second)};
    std::vector<state_dict> const target{{}, {}, whole_of(wanted)};
    redistribute_ranks(replicas, target);
    BOOST_TEST(wanted[0] == 10); // 2 % 2 = 0: the first of two
    redistribute_ranks(replicas, target, {.processes_per_node = 2});
    BOOST_TEST(wanted[0] == 11);
    redistribute_ranks(
        replicas, target,
        identity_mapping(catalog_of(layout_of_ranks(std::span<const_state_dict const>(replicas)))));
    BOOST_TEST(wanted[0] == 10);
}

BOOST_AUTO_TEST_CASE(a_group_of_one_takes_programs_and_options) {
    std::vector<float> left(4), twice(8);
    state_dict const target = one_tensor(part("w", {3, 4}, {{0, 0}, {2, 2}}), left);
    redistribute(solo(), source[0], target);
    BOOST_TEST(left == (std::vector<float>{0, 1, 4, 5}), boost::test_tools::per_element());
    mapping program;
    program.define("t", transpose(program.source("w", {3, 4}, data_type::f32)));
    state_dict const turned = one_tensor(part("t", {4, 3}, {{0, 0}, {4, 2}}), twice);
    redistribute(solo(), source[0], turned, {.program = program, .processes_per_node = 2});
    BOOST_TEST(twice == (std::vector<float>{0, 4, 1, 5, 2, 6, 3, 7}),
               boost::test_tools::per_element());
    left.assign(4, -1);
    redistribute(solo(), source[0], target, {.processes_per_node = 2});
    BOOST_TEST(left == (std::vector<float>{0, 1, 4, 5}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_flat_shard_is_filled_in_its_own_order) {
    std::vector<float> elements(6);
    std::vector<state_dict> const target{
        one_tensor(part("w", {3, 4}, {{0, 0}, {3, 4}}, flat_range{3, 9}), elements)};
    redistribute_ranks(source, target);
    BOOST_TEST(elements == (std::vector<float>{3, 4, 5, 6, 7, 8}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(nothing_is_written_where_something_is_wrong) {
    std::vector<float> first(12, -1), second(5, -1);
    std::vector<state_dict> const target{one_tensor(part("w", {3, 4}, {{0, 0}, {3, 4}}), first),
                                         one_tensor(part("x", {5}, {{0}, {5}}), second)};
    BOOST_CHECK_EXCEPTION(
        redistribute_ranks(source, target), error,
        says(errc::unknown_key, "'x' is wanted by rank 1, but the source does not have it"));
    source.pop_back();
    BOOST_CHECK_EXCEPTION(
        redistribute_ranks(source, std::span(target).first(1)), error,
        says(errc::not_covered,
             "'w' elements [2:3, 0:4], which rank 0 wants, are missing from the source; "
             "source 'w' lacks [2:3, 0:4]"));
    BOOST_TEST(first == std::vector<float>(12, -1), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(shapes_may_differ_where_that_is_allowed) {
    // One row more and two columns fewer than 3 x 4, cut by columns.
    std::vector<float> left(4, -1), right(4, -1);
    std::vector<state_dict> const target{one_tensor(part("w", {4, 2}, {{0, 0}, {4, 1}}), left),
                                         one_tensor(part("w", {4, 2}, {{0, 1}, {4, 1}}), right)};
    redistribute_ranks(source, target, {.shape_mismatch = {"w"}});
    BOOST_TEST(left == (std::vector<float>{0, 4, 8, 0}), boost::test_tools::per_element());
    BOOST_TEST(right == (std::vector<float>{1, 5, 9, 0}), boost::test_tools::per_element());
    BOOST_CHECK_EXCEPTION(redistribute_ranks(source, target), error,
                          says(errc::shape_mismatch, "'w' has the shape [4, 2] in the target, but "
                                                     "the source has [3, 4]"));
}

BOOST_AUTO_TEST_CASE(a_flat_shard_of_a_longer_tensor_ends_in_zeros) {
    std::vector<float> elements(6, -1);
    std::vector<state_dict> const target{
        one_tensor(part("w", {4, 4}, {{0, 0}, {4, 4}}, flat_range{9, 15}), elements)};
    redistribute_ranks(source, target, {.shape_mismatch = {"**"}});
    BOOST_TEST(elements == (std::vector<float>{9, 10, 11, 0, 0, 0}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_target_over_its_source_is_refused) {
    std::vector<state_dict> const target{one_tensor(part("w", {3, 4}, {{0, 0}, {2, 4}}), upper)};
    BOOST_CHECK_EXCEPTION(redistribute_ranks(source, target), error, [](error const& problem) {
        return problem.code() == errc::memory_overlap;
    });
    BOOST_TEST(upper[5] == 5);
}

BOOST_AUTO_TEST_CASE(a_job_keeps_the_handles_of_its_tensors) {
    test::counted_row row({0, 1, 2}), target({0, 0, 0});
    auto const prepared = [&] {
        state_dict have, want;
        have.add(part("w", {2}, {{0}, {2}}), row.narrow(1, 2));
        want.add(part("w", {2}, {{0}, {2}}), target.narrow(0, 2));
        return prepare(solo{}, have, want);
    };
    {
        job ready = prepared();
        BOOST_TEST(row.storage.use_count() == 2);
        BOOST_TEST(target.storage.use_count() == 2);
        run(ready);
    }
    BOOST_TEST(*target.storage == (std::vector<float>{1, 2, 0}), boost::test_tools::per_element());
    BOOST_TEST(row.storage.use_count() == 1);
    BOOST_TEST(target.storage.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(a_shard_that_a_rank_added_twice_with_different_elements_is_refused) {
    shard_descriptor const shard = part("w", {2, 2}, {{0, 0}, {2, 2}});
    std::vector<float> a{0, 1, 2, 3}, b{0, 1, 2, 4}, got(4), again(4);
    const_state_dict have = one_tensor(shard, a);
    have.add(shard,
             tensor_view{a.data(), data_type::f32, {2, 2}, {2, 1}}); // one tensor all the same
    have.add(shard, tensor_view{b.data(), data_type::f32, {2, 2}, {2, 1}});
    BOOST_CHECK_EXCEPTION(redistribute(solo(), have, one_tensor(shard, got)), error,
                          says(errc::overlap,
                               "'w' [0:2, 0:2] was added twice, at different addresses, with "
                               "different elements; give each tensor its own key"));
    BOOST_TEST(got == std::vector<float>(4), boost::test_tools::per_element());
    b[3] = 3; // a replica
    state_dict want = one_tensor(shard, got);
    want.add(shard, tensor_view{again.data(), data_type::f32, {2, 2}, {2, 1}});
    redistribute(solo(), have, want);
    BOOST_TEST(got == a, boost::test_tools::per_element());
    BOOST_TEST(again == a, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(copies_are_compared_before_anything_moves) {
    std::vector<float> embed{0, 1, 2, 3, 4, 5}, head = embed, filled(6, -1);
    shard_descriptor const shard = part("embed", {3, 2}, whole({3, 2}));
    shard_descriptor const descriptor = part("head", {3, 2}, whole({3, 2}));
    const_state_dict have;
    have.add(shard, const_tensor_view{embed.data(), data_type::f32, {3, 2}, {2, 1}});
    have.add(descriptor, const_tensor_view{head.data(), data_type::f32, {3, 2}, {2, 1}});
    mapping program(catalog_of(layout_of({{shard, descriptor}})));
    program.define("embed", program.source(0));
    program.remove("head");
    program.relate({detail::relation::kind::copy, "embed", "head"});
    redistribute(solo(), have, one_tensor(shard, filled), {.program = program});
    BOOST_TEST(filled == embed, boost::test_tools::per_element());
    head[3] = 2.5F;
    filled.assign(6, -1);
    BOOST_CHECK_EXCEPTION(
        redistribute(solo(), have, one_tensor(shard, filled), {.program = program}), error,
        says(errc::overlap, "'head' is declared as a copy of 'embed', but differs from it: element "
                            "[1, 1] is 2.5 and 3; make them equal, or take 'embed' without "
                            "comparing (option take_first)"));
    BOOST_TEST(filled == std::vector<float>(6, -1), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(numbers_of_joined_parameters_are_compared_before_anything_moves) {
    std::vector<float> steps{5, 5, 5}, filled{-1};
    std::vector<shard_descriptor> shards;
    const_state_dict have;
    for (std::size_t i = 0; i < 3; ++i) {
        shards.push_back(part(std::string(1, "abc"[i]) + ".step", {}, whole({})));
        have.add(shards[i], const_tensor_view{&steps[i], data_type::f32, {}, {}});
    }
    shard_descriptor const shard = part("abc.step", {}, whole({}));
    mapping program(catalog_of(layout_of({shards})));
    program.define("abc.step", program.source(0));
    for (std::string const other : {"b.step", "c.step"})
        program.relate({detail::relation::kind::number, "a.step", other});
    redistribute(solo(), have, one_tensor(shard, filled), {.program = program});
    BOOST_TEST(filled[0] == 5);
    steps[2] = 7;
    filled[0] = -1;
    BOOST_CHECK_EXCEPTION(
        redistribute(solo(), have, one_tensor(shard, filled), {.program = program}), error,
        says(errc::overlap,
             "'a.step' and 'c.step' are 5 and 7, but the program joins their parameters, and the "
             "result has one number; add a statement that takes it from one of them, and remove "
             "the other:  'c.step' -> _"));
    BOOST_TEST(filled[0] == -1);
}

BOOST_AUTO_TEST_CASE(scales_that_lie_apart_are_refused) {
    std::vector<float> w(16), s(4), half(8), scales(4);
    const_state_dict have;
    have.add(part("w", {4, 4}, whole({4, 4})),
             const_tensor_view{w.data(), data_type::f32, {4, 4}, {4, 1}});
    have.add(part("s", {2, 2}, whole({2, 2})),
             const_tensor_view{s.data(), data_type::f32, {2, 2}, {2, 1}});
    state_dict want = one_tensor(part("w", {4, 4}, {{2, 0}, {2, 4}}), half);
    want.add(part("s", {2, 2}, {{0, 0}, {1, 2}}),
             tensor_view{scales.data(), data_type::f32, {1, 2}, {2, 1}});
    mapping program;
    program.define("w", program.source("w", {4, 4}, data_type::f32));
    program.define("s", program.source("s", {2, 2}, data_type::f32));
    program.relate({detail::relation::kind::scale, "w", "s", {2, 2}});
    BOOST_CHECK_EXCEPTION(
        redistribute(solo(), have, want, {.program = program}), error,
        says(errc::bad_layout,
             "'w': rank 0 holds [2:4, 0:4], whose scales are [1:2, 0:2] of 's', but of these it "
             "holds only [0:1, 0:2]; along axis 0, cut 'w' and its scales between blocks of 2, or "
             "give each rank the scales of every block that it holds elements of: do not cut 's'"));
}

BOOST_AUTO_TEST_SUITE_END()
