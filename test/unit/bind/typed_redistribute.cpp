// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/typed_redistribute.hpp>

#include <reshard/layout/layout_of.hpp>

#include "support/says.hpp"
#include "support/typed_tensors.hpp"

#include <reshard/bind/bind.hpp>
#include <reshard/bind/shard_views.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/expr/typed_expression.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/planned_job.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/plan/typed_cost.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <ratio>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(local_typed_redistribute)

namespace {

/// A different number for each element of tensors of up to 99 rows and columns.
double number_of(std::string_view key, index_vector const& at) {
    double sum = key.front();
    for (index_t const element : at)
        sum = sum * 100 + static_cast<double>(element);
    return sum;
}

/// The transfers between two ranks, with what they move, in the order of one of them's plan.
using listed_transfers = std::vector<std::tuple<key_id, key_id, cut, step_chain>>;

listed_transfers between(plan const& plan, holder_t source, holder_t target) {
    listed_transfers transfers;
    for (transfer const& t : plan.transfers)
        if (t.source_holder == source && t.target_holder == target)
            transfers.emplace_back(t.source_key, t.target_key, cut_of(plan, t),
                                   plan.chains[t.chain]);
    return transfers;
}

/// Runs each rank's transfers by its own plan, with all ranks in this process, after a look at the
/// senders' plans.
template <class Plan>
void run_everywhere(std::vector<const_state_dict> const& source,
                    std::vector<state_dict> const& target) {
    auto const ranks = static_cast<holder_t>(std::max(source.size(), target.size()));
    std::vector<std::shared_ptr<planned_job const>> plans;
    for (holder_t me = 0; me < ranks; ++me)
        plans.push_back(listed_plan<Plan>({}, {}, {me, ranks}).planned);
    shard_views<const_tensor_view> from;
    shard_views<tensor_view> to;
    for (holder_t rank = 0; rank < source.size(); ++rank)
        from.add(source[rank], plans[0]->source, rank);
    for (holder_t rank = 0; rank < target.size(); ++rank)
        to.add(target[rank], plans[0]->target, rank);
    for (holder_t me = 0; me < ranks; ++me) {
        plan const& plan = plans[me]->whole;
        validate(plan);
        for (holder_t other = 0; other < ranks; ++other)
            BOOST_TEST((between(plan, other, me) == between(plans[other]->whole, other, me)));
        for (transfer const& t : plan.transfers)
            if (t.target_holder == me)
                run_locally({plan, plans[me]->problem, from, to, plans[me]->conversions}, t);
    }
}

/// Fills the source as `rule` says and checks the result of the plan.
template <class Plan, class Source = float, class Target = Source>
void check_moves(test::element_rule const& expected) {
    test::typed_tensors<typename Plan::source_layout, Source> source;
    test::typed_tensors<typename Plan::target_layout, Target> target;
    source.fill(number_of);
    target.fill([](std::string_view, index_vector const&) { return -1; });
    run_everywhere<Plan>(source.template state_dicts<const_state_dict>(),
                         target.template state_dicts<state_dict>());
    BOOST_TEST(target.differences(expected) == 0u);
}

/// Checks that the compiler's plan is the run-time planner's: the elements that each rank keeps and
/// gets. Of several holders, another one may be the sender: a plan that is a constant is not
/// balanced.
template <class Plan>
void check_cost(mapping const& program) {
    layout const source = typename Plan::source_layout{}, target = typename Plan::target_layout{};
    plan const plan = make_plan(problem_of(program, source, target));
    plan_cost const constant = cost_of<Plan>();
    plan_cost const expected = cost_of(plan, std::max(source.holders, target.holders));
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
struct three : typed::layout<mesh{{"tp", 3}}, matrix<"a", 10, 6, shard{0, {1, 0, 9}}>,
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

struct dealt_out : typed::layout<mesh{{"p", 2}, {"q", 2}},
                                 matrix<"a", 10, 6, block_cyclic{0, 2}, block_cyclic{1, 1}>,
                                 matrix<"b", 3, 8, block_cyclic{1, 3}, replicate{}>> {};
struct in_rows
    : typed::layout<mesh{{"p", 3}}, matrix<"a", 10, 6, shard{0}>, matrix<"b", 3, 8, shard{0}>> {};
struct strided
    : typed::layout<mesh{{"dp", 2}, {"tp", 2}}, matrix<"a", 10, 6, strided_shard{0}, shard{0}>,
                    matrix<"b", 3, 8, shard{1}, strided_shard{1}>> {};

} // namespace

// g++ 12 refuses plans whose target is dealt out.
BOOST_AUTO_TEST_CASE(blocks_that_are_dealt_out_are_gathered) {
    check_by_name<typed::plan<dealt_out, in_rows>>();
    check_by_name<typed::plan<dealt_out, strided>>();
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
        index_t const index = at[0] * 12 + at[1];
        return number_of(key, {index / 6, index % 6});
    });
}

/// The shard of a vector on a rank.
state_dict elements_of(shard_descriptor const& shard, unsigned char* first) {
    state_dict tensors;
    tensors.add(shard, tensor_view{first, shard.dtype, shard.region.shape, {1}});
    return tensors;
}

BOOST_AUTO_TEST_CASE(elements_of_less_than_a_byte_are_moved) {
    // Three parts of three elements, 0x1 to 0x9, lowest bits first.
    unsigned char parts[3][2] = {{0x21, 0x03}, {0x54, 0x06}, {0x87, 0x09}};
    unsigned char all[5] = {};
    std::vector<const_state_dict> source;
    for (holder_t rank = 0; rank < 3; ++rank)
        source.emplace_back(elements_of(descriptors_of<bits_of_four>(rank).front(), parts[rank]));
    run_everywhere<typed::plan<bits_of_four, whole_bits>>(
        source, {elements_of(descriptors_of<whole_bits>(0).front(), all)});
    unsigned char const expected[] = {0x21, 0x43, 0x65, 0x87, 0x09};
    BOOST_TEST(all == expected, boost::test_tools::per_element());
}

namespace {

using nothing = typed::layout<mesh{{"tp", 2}}>;
using no_plan = typed::plan<nothing, nothing>;

} // namespace

BOOST_AUTO_TEST_CASE(a_plan_without_tensors_does_nothing) {
    run_everywhere<no_plan>(std::vector<const_state_dict>(2), std::vector<state_dict>(2));
    BOOST_TEST(cost_of<no_plan>().transfers == 0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(local_typed_job)

namespace {

struct one_rank : typed::layout<mesh{}, typed::tensor<"w", float, index_vector{2, 3}>> {};
struct turned : typed::layout<mesh{}, typed::tensor<"round", bfloat16, index_vector{2, 3}>,
                              typed::tensor<"t", float, index_vector{3, 2}>,
                              typed::tensor<"w", float, index_vector{2, 3}>> {};
using w = typed::source_of<one_rank, "w">;
using turn =
    typed::plan<one_rank, turned, typed::definition<"t", typed::permute<w, index_vector{1, 0}>>,
                typed::definition<"round", typed::shifted<w, std::ratio<-1>, bfloat16>>>;

template <class T>
state_dict matrix_of(char const* key, T* first, index_vector const& shape,
                     index_vector const& strides) {
    state_dict tensors;
    tensors.add(shard_descriptor{key, data_type_of<T>, shape, whole(shape), {}},
                tensor_view{first, data_type_of<T>, shape, strides});
    return tensors;
}

struct fixture {
    float numbers[6] = {1, 2, 3, 4, 5, 6};
    float same[8] = {};
    float transposed[6] = {};
    bfloat16 rounded[6] = {};
    const_state_dict have = matrix_of("w", numbers, {2, 3}, {3, 1});

    /// The targets, each row of `w` with a gap after it.
    state_dict want() {
        state_dict tensors = matrix_of("w", same, {2, 3}, {4, 1});
        tensors.add(shard_descriptor{"t", data_type::f32, {3, 2}, whole({3, 2}), {}},
                    tensor_view{transposed, data_type::f32, {3, 2}, {2, 1}});
        tensors.add(shard_descriptor{"round", data_type::bf16, {2, 3}, whole({2, 3}), {}},
                    tensor_view{rounded, data_type::bf16, {2, 3}, {3, 1}});
        return tensors;
    }

    /// That the call is refused in those words, before anything is written.
    void check_refused(source_tensors const& from, target_tensors const& to, errc code,
                       std::string const& words) {
        BOOST_CHECK_EXCEPTION(redistribute<turn>(solo(), from, to), error, says(code, words));
        BOOST_TEST((same[0] == 0 && transposed[0] == 0));
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_job_runs_again_and_again_in_memory_of_any_strides, fixture) {
    job ready = prepare<turn>(solo(), have, want());
    for (float const first : {1.0F, 100.0F}) {
        numbers[0] = first;
        run(ready);
        float const rows[8] = {first, 2, 3, 0, 4, 5, 6, 0};
        float const columns[6] = {first, 4, 2, 5, 3, 6};
        BOOST_TEST(same == rows, boost::test_tools::per_element());
        BOOST_TEST(transposed == columns, boost::test_tools::per_element());
        BOOST_TEST((rounded[0] == (first == 1 ? bfloat16{0} : bfloat16{0x42c6}))); // 99
        BOOST_TEST((rounded[5] == bfloat16{0x40a0}));                              // 5
    }
    BOOST_TEST(ready.cost().bytes_local == cost_of<turn>().bytes);
    BOOST_TEST((ready.source_layout() == layout(one_rank{})));
}

BOOST_FIXTURE_TEST_CASE(state_dicts_that_contradict_their_layouts_are_refused, fixture) {
    check_refused({}, want(), errc::bad_layout,
                  "rank 0 holds no tensor for w: float32 [2, 3] [0:2, 0:3], which the layout "
                  "assigns to it; add it to the state dict");
    double wide[6] = {};
    check_refused(const_state_dict(matrix_of("w", wide, {2, 3}, {3, 1})), want(), errc::bad_layout,
                  "rank 0 holds w: float64 [2, 3] [0:2, 0:3], which the layout does not assign to "
                  "it");
    check_refused(const_state_dict(matrix_of("w", numbers, {3, 2}, {2, 1})), want(),
                  errc::bad_layout,
                  "rank 0 holds w: float32 [3, 2] [0:3, 0:2], which the layout does not assign to "
                  "it");
    state_dict more = want();
    more.add(shard_descriptor{"v", data_type::f32, {1}, whole({1}), {}},
             tensor_view{same + 3, data_type::f32, {1}, {1}});
    check_refused(have, more, errc::bad_layout,
                  "rank 0 holds v: float32 [1] [0:1], which the layout does not assign to it");
}

BOOST_FIXTURE_TEST_CASE(tensors_that_share_memory_are_refused, fixture) {
    state_dict shared = want();
    BOOST_CHECK_EXCEPTION(
        redistribute<turn>(solo(), const_state_dict(matrix_of("w", same, {2, 3}, {3, 1})), shared),
        error, [](error const& problem) { return problem.code() == errc::memory_overlap; });
}

BOOST_FIXTURE_TEST_CASE(layouts_beside_the_tensors_and_of_more_ranks_are_refused, fixture) {
    check_refused(
        {have, one_rank{}}, want(), errc::usage,
        "a typed plan has a layout of the source, but the call gives another one; omit it");
    using two_ranks =
        typed::layout<mesh{{"tp", 2}}, typed::tensor<"w", float, index_vector{2, 3}, shard{0}>>;
    using wide = typed::plan<two_ranks, one_rank>;
    BOOST_CHECK_EXCEPTION(prepare<wide>(solo(), {}, {}), error,
                          says(errc::bad_layout, "the layout of the source is for 2 ranks, and the "
                                                 "group has 1"));
}

BOOST_AUTO_TEST_SUITE_END()
