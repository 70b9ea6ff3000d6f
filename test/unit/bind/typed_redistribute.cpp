// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/typed_redistribute.hpp>

#include <reshard/layout/layout_of.hpp>

#include "support/says.hpp"
#include "support/typed_tensors.hpp"

#include <reshard/expr/by_name.hpp>
#include <reshard/expr/typed_expression.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/plan/typed_cost.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(local_typed_redistribute)

namespace {

/// A different number for each element of tensors of up to 99 rows and columns.
double number_of(std::string_view key, index_vector const& at) {
    double sum = key.front();
    for (index_t const one : at)
        sum = sum * 100 + static_cast<double>(one);
    return sum;
}

/// Fills the source as `rule` says and checks what the plan makes of it.
template <class Plan, class Source = float, class Target = Source>
void check_moves(test::element_rule const& expected) {
    test::typed_tensors<typename Plan::source_layout, Source> source;
    test::typed_tensors<typename Plan::target_layout, Target> target;
    source.fill(number_of);
    target.fill([](std::string_view, index_vector const&) { return -1; });
    redistribute<Plan>(source.template state_dicts<const_state_dict>(),
                       target.template state_dicts<state_dict>());
    BOOST_TEST(target.differences(expected) == 0u);
}

/// Checks that the compiler plans what the run-time planner does: what each rank keeps and gets. Of
/// several that hold the same, another one may give it: a plan that is a constant is not balanced.
template <class Plan>
void check_cost(mapping const& program) {
    layout const source = typename Plan::source_layout{}, target = typename Plan::target_layout{};
    plan const whole = make_plan(problem_of(program, source, target));
    plan_cost const constant = cost_of<Plan>();
    plan_cost const expected = cost_of(whole, std::max(source.holders, target.holders));
    BOOST_TEST(constant.bytes == expected.bytes);
    BOOST_TEST(constant.bytes_local == expected.bytes_local);
    BOOST_TEST_REQUIRE(constant.by_process.size() == expected.by_process.size());
    for (std::size_t rank = 0; rank < expected.by_process.size(); ++rank) {
        BOOST_TEST(constant.by_process[rank].bytes_in == expected.by_process[rank].bytes_in);
        BOOST_TEST(constant.by_process[rank].bytes_local == expected.by_process[rank].bytes_local);
    }
}

template <class Plan>
void check_by_name() {
    check_moves<Plan>(number_of);
    layout const source = typename Plan::source_layout{}, target = typename Plan::target_layout{};
    check_cost<Plan>(by_name(catalog_of(source), target));
}

template <fixed_string Key, index_t Rows, index_t Columns, auto... Placements>
using matrix = typed::tensor<Key, float, index_vector{Rows, Columns}, Placements...>;

struct seven : typed::layout<mesh{{"tp", 7}}, matrix<"a", 10, 6, shard{0}>,
                             matrix<"b", 3, 8, shard{0}>, matrix<"c", 5, 9, shard{1}>,
                             typed::tensor<"s", float, index_vector{}, replicate{}>,
                             matrix<"z", 0, 4, shard{1}>> {};
struct two_by_two
    : typed::layout<mesh{{"dp", 2}, {"tp", 2}}, matrix<"z", 0, 4, replicate{}, shard{0}>,
                    typed::tensor<"s", float, index_vector{}, replicate{}, replicate{}>,
                    matrix<"c", 5, 9, shard{0}, shard{0}>, matrix<"b", 3, 8, shard{1}, shard{1}>,
                    matrix<"a", 10, 6, shard{1}, shard{0}>> {};
struct three : typed::layout<mesh{{"tp", 3}}, matrix<"a", 10, 6, shard_sizes{0, {1, 0, 9}}>,
                             matrix<"c", 5, 9, replicate{}>> {};
struct stages
    : typed::layout<mesh{{"pp", 3}, {"tp", 2}}, matrix<"a", 10, 6, only{0}, shard{0}>,
                    matrix<"b", 3, 8, only{1}, shard{1}>, matrix<"c", 5, 9, only{1}, replicate{}>> {
};

} // namespace

BOOST_AUTO_TEST_CASE(shards_of_odd_numbers_of_ranks_are_moved) {
    check_by_name<typed::plan<seven, two_by_two>>();
    check_by_name<typed::plan<two_by_two, seven>>();
}

BOOST_AUTO_TEST_CASE(uneven_and_empty_shards_and_replicas_are_moved) {
    check_by_name<typed::plan<seven, three>>();
    check_by_name<typed::plan<two_by_two, three>>();
    check_by_name<typed::plan<seven, seven>>();
}

BOOST_AUTO_TEST_CASE(ranks_of_other_stages_hold_nothing) {
    check_by_name<typed::plan<seven, stages>>();
    check_by_name<typed::plan<stages, three>>();
}

namespace {

struct fused : typed::layout<mesh{{"tp", 3}}, matrix<"ab", 4, 10, shard{0}>,
                             matrix<"turned", 9, 5, shard{1}>, matrix<"zero", 2, 3, shard{0}>> {};
struct unfused : typed::layout<mesh{{"tp", 2}}, matrix<"a", 4, 6, shard{1}>,
                               matrix<"b", 4, 4, shard{0}>, matrix<"c", 5, 9, shard{0}>> {};
using fuse_all = typed::plan<
    unfused, fused,
    typed::definition<"turned", typed::permute<typed::source_of<unfused, "c">, index_vector{1, 0}>>,
    typed::definition<"zero", typed::zeros<float, index_vector{2, 3}>>,
    typed::definition<
        "ab", typed::concat<1, typed::source_of<unfused, "a">, typed::source_of<unfused, "b">>>>;

} // namespace

BOOST_AUTO_TEST_CASE(definitions_are_what_their_expressions_say) {
    check_moves<fuse_all>([](std::string_view key, index_vector const& at) {
        if (key == "zero")
            return 0.0;
        if (key == "turned")
            return number_of("c", {at[1], at[0]});
        return at[1] < 6 ? number_of("a", at) : number_of("b", {at[0], at[1] - 6});
    });
    mapping program(catalog_of(layout(unfused{})));
    program.define("ab", concat({program.source(0), program.source(1)}, 1));
    program.define("turned", transpose(program.source(2)));
    program.define("zero", zeros({2, 3}, data_type::f32));
    check_cost<fuse_all>(program);
}

namespace {

struct halves
    : typed::layout<mesh{{"tp", 2}}, typed::tensor<"w", double, index_vector{4, 6}, shard{0}>> {};
struct rounded
    : typed::layout<mesh{{"tp", 3}}, typed::tensor<"w", float, index_vector{2, 12}, shard{1}>> {};
using round = typed::plan<
    halves, rounded,
    typed::definition<
        "w",
        typed::cast<typed::reshape<typed::source_of<halves, "w">, index_vector{2, 12}>, float>>>;

struct bits_of_four
    : typed::layout<mesh{{"tp", 3}}, typed::tensor<"w", data_type_constant<data_type::f4>,
                                                   index_vector{9}, shard{0}>> {};
struct whole_bits
    : typed::layout<mesh{},
                    typed::tensor<"w", data_type_constant<data_type::f4>, index_vector{9}>> {};

} // namespace

BOOST_AUTO_TEST_CASE(elements_are_converted_on_the_way) {
    check_moves<round, double, float>([](std::string_view key, index_vector const& at) {
        index_t const place = at[0] * 12 + at[1];
        return number_of(key, {place / 6, place % 6});
    });
}

BOOST_AUTO_TEST_CASE(elements_of_less_than_a_byte_are_moved) {
    // Three parts of three elements, 0x1 to 0x9, lowest bits first.
    unsigned char const parts[3][2] = {{0x21, 0x03}, {0x54, 0x06}, {0x87, 0x09}};
    unsigned char all[5] = {};
    typed::addresses<bits_of_four, std::byte const> from;
    for (holder_t rank = 0; rank < 3; ++rank)
        from.set(0, rank, reinterpret_cast<std::byte const*>(parts[rank]));
    typed::addresses<whole_bits, std::byte> to;
    to.set(0, 0, reinterpret_cast<std::byte*>(all));
    run_locally<typed::plan<bits_of_four, whole_bits>>(from, to);
    unsigned char const expected[] = {0x21, 0x43, 0x65, 0x87, 0x09};
    BOOST_TEST(all == expected, boost::test_tools::per_element());
}

namespace {

using nothing = typed::layout<mesh{{"tp", 2}}>;
using no_plan = typed::plan<nothing, nothing>;
using one_matrix = typed::layout<mesh{}, matrix<"w", 2, 2>>;
using same_plan = typed::plan<one_matrix, one_matrix>;

} // namespace

BOOST_AUTO_TEST_CASE(a_plan_without_tensors_does_nothing) {
    redistribute<no_plan>(std::vector<const_state_dict>(2), std::vector<state_dict>(2));
    BOOST_TEST(cost_of<no_plan>().transfers == 0);
}

BOOST_AUTO_TEST_CASE(tensors_that_share_memory_are_refused) {
    test::typed_tensors<one_matrix, float> memory;
    auto const source = memory.state_dicts<const_state_dict>();
    auto const target = memory.state_dicts<state_dict>();
    BOOST_CHECK_EXCEPTION(redistribute<same_plan>(source, target), error, [](error const& problem) {
        return problem.code() == errc::memory_overlap;
    });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(local_typed_addresses)

namespace {

struct halves
    : typed::layout<mesh{{"tp", 2}}, typed::tensor<"w", float, index_vector{4, 3}, shard{0}>> {};

float elements[64];

/// What a rank holds of `w` from that row on: two rows.
shard_descriptor rows_from(index_t row) {
    return {"w", data_type::f32, {4, 3}, {{row, 0}, {2, 3}}, {}};
}

state_dict dict_of(shard_descriptor shard, index_vector const& strides, float* first = elements) {
    state_dict held;
    index_vector const shape = local_shape(shard);
    held.add(std::move(shard), tensor_view{first, data_type::f32, shape, strides});
    return held;
}

auto addresses_of(std::vector<state_dict> const& ranks) {
    return typed::addresses<halves, std::byte>(ranks);
}

} // namespace

BOOST_AUTO_TEST_CASE(addresses_are_found_by_tensor_and_rank) {
    auto const found =
        addresses_of({dict_of(rows_from(0), {3, 1}), dict_of(rows_from(2), {3, 1}, elements + 20)});
    BOOST_TEST(static_cast<void const*>(found.of(0)[0]) == elements);
    BOOST_TEST(static_cast<void const*>(found.of(0)[1]) == elements + 20);
}

BOOST_AUTO_TEST_CASE(other_numbers_of_ranks_are_refused) {
    BOOST_CHECK_EXCEPTION(addresses_of({dict_of(rows_from(0), {3, 1})}), error,
                          says(errc::bad_layout, "state dicts of 1 rank for a layout of 2"));
}

BOOST_AUTO_TEST_CASE(shards_of_others_are_refused) {
    BOOST_CHECK_EXCEPTION(
        addresses_of({dict_of(rows_from(2), {3, 1}), dict_of(rows_from(0), {3, 1})}), error,
        says(errc::bad_layout,
             "rank 0 holds " + to_string(rows_from(2)) + ", which the layout does not give it"));
    shard_descriptor other = rows_from(0);
    other.key = "v";
    BOOST_CHECK_EXCEPTION(addresses_of({dict_of(other, {3, 1}), {}}), error,
                          says(errc::bad_layout, "rank 0 holds " + to_string(other) +
                                                     ", which the layout does not give it"));
}

BOOST_AUTO_TEST_CASE(a_shard_that_stands_twice_is_refused) {
    state_dict twice = dict_of(rows_from(0), {3, 1});
    twice.add(rows_from(0), tensor_view{elements + 9, data_type::f32, {2, 3}, {3, 1}});
    BOOST_CHECK_EXCEPTION(addresses_of({twice, {}}), error,
                          says(errc::bad_layout, "rank 0 holds " + to_string(rows_from(0)) +
                                                     ", which the layout does not give it"));
}

BOOST_AUTO_TEST_CASE(gaps_between_elements_are_refused) {
    BOOST_CHECK_EXCEPTION(
        addresses_of({dict_of(rows_from(0), {4, 1}), {}}), error,
        says(errc::bad_layout, "rank 0 holds " + to_string(rows_from(0)) +
                                   " with the strides [4, 1]; a typed plan moves dense shards "
                                   "only"));
}

BOOST_AUTO_TEST_CASE(missing_shards_are_refused) {
    BOOST_CHECK_EXCEPTION(addresses_of({dict_of(rows_from(0), {3, 1}), {}}), error,
                          says(errc::bad_layout, "rank 1 holds nothing of 'w', of which the "
                                                 "layout gives it a shard"));
}

BOOST_AUTO_TEST_SUITE_END()
