// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/layout_of.hpp>
#include <reshard/model/parallel_tensor.hpp>

#include "support/held_once.hpp"
#include "support/says.hpp"

#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::model;

BOOST_AUTO_TEST_SUITE(model_parallel_tensor)

namespace {

using rank_vector = std::vector<holder_t>;

rank_vector all_holders(parallel_tensor const& tensor, parallel_job const& job) {
    return holders_of(sharding_of(tensor, job), whole(tensor.shape));
}

} // namespace

BOOST_AUTO_TEST_CASE(layers_stand_on_their_stages) {
    // 5 layers on 2 stages of 2 x 2 ranks: 3 and 2.
    parallel_job const job({.tp = 2, .dp = 2, .pp = 2}, uneven_pipeline(5, 2));
    BOOST_TEST((all_holders({.key = "a", .shape = {4}, .stage = on_layer(2)}, job) ==
                rank_vector{0, 1, 2, 3}));
    BOOST_TEST((all_holders({.key = "b", .shape = {4}, .stage = on_layer(3)}, job) ==
                rank_vector{4, 5, 6, 7}));
    BOOST_TEST((all_holders({.key = "e", .shape = {4}, .stage = on_first_stage()}, job) ==
                rank_vector{0, 1, 2, 3}));
    BOOST_TEST((all_holders({.key = "h", .shape = {4}, .stage = on_last_stage()}, job) ==
                rank_vector{4, 5, 6, 7}));
    BOOST_TEST(all_holders({.key = "t", .shape = {4}}, job).size() == 8);
}

BOOST_AUTO_TEST_CASE(linear_layers_of_paddle_are_cut_along_their_outputs_or_inputs) {
    // Weights are [in, out]. With sequence parallelism it is the same: only what passes between layers is cut.
    parallel_job const job({.tp = 4, .dp = 2});
    auto const spread = [&](index_vector const& shape, tensor_cut const& cut) {
        tensor_sharding const tensor = sharding_of({.key = "w", .shape = shape, .cut = cut}, job);
        BOOST_TEST(test::is_held_once(tensor));
        return tensor;
    };
    tensor_sharding const column = spread({6, 8}, column_parallel(weight_order::in_out));
    tensor_sharding const column_bias = spread({8}, column_parallel_bias());
    tensor_sharding const row = spread({8, 6}, row_parallel(weight_order::in_out));
    tensor_sharding const row_bias = spread({6}, replicated());
    tensor_sharding const words = spread({12, 6}, vocabulary_parallel());
    for (holder_t rank = 0; rank < 8; ++rank) {
        index_t const t = rank % 4;
        BOOST_TEST((shards_of(column, rank).at(0).region == box{{0, 2 * t}, {6, 2}}));
        BOOST_TEST((shards_of(column_bias, rank).at(0).region == box{{2 * t}, {2}}));
        BOOST_TEST((shards_of(row, rank).at(0).region == box{{2 * t, 0}, {2, 6}}));
        BOOST_TEST((shards_of(row_bias, rank).at(0).region == whole({6})));
        BOOST_TEST((shards_of(words, rank).at(0).region == box{{3 * t, 0}, {3, 6}}));
    }
    BOOST_TEST(holders_of(row_bias, whole({6})).size() == 8);
    BOOST_TEST((holders_of(row_bias, whole({6}), copies::main) == rank_vector{0}));
}

BOOST_AUTO_TEST_CASE(an_embedding_that_is_the_head_stands_on_both_ends) {
    parallel_job const job({.tp = 2, .pp = 3}, even_pipeline(6, 3));
    parallel_tensor const tied{
        .key = "e", .shape = {8, 2}, .cut = vocabulary_parallel(), .stage = on_both_ends()};
    tensor_sharding const spread = sharding_of(tied, job);
    BOOST_TEST((holders_of(spread, {{0, 0}, {1, 1}}) == rank_vector{0, 4}));
    BOOST_TEST((holders_of(spread, {{0, 0}, {1, 1}}, copies::main) == rank_vector{0}));
    BOOST_TEST(sharding_of(tied, parallel_job({.tp = 2})).parts.size() == 1);
}

BOOST_AUTO_TEST_CASE(an_expert_stands_on_one_expert_parallel_rank_and_its_copies) {
    // 8 ranks of a stage: expert e of 8 on the ranks whose number modulo 4 is e / 2.
    parallel_job const job({.tp = 2, .dp = 4, .pp = 2, .ep = 4}, even_pipeline(4, 2), 8);
    parallel_tensor expert{
        .key = "x", .shape = {4, 6}, .cut = column_parallel(), .stage = on_layer(3)};
    expert.expert = 5;
    BOOST_TEST((all_holders(expert, job) == rank_vector{10, 14}));
    // Tensor parallelism of the other layers does not cut it.
    BOOST_TEST((shards_of(sharding_of(expert, job), 14)[0].region == whole({4, 6})));
}

BOOST_AUTO_TEST_CASE(experts_may_be_tensor_parallel_themselves) {
    parallel_job const job({.tp = 2, .dp = 4, .ep = 2, .etp = 2}, pipeline(1), 4);
    parallel_tensor expert{
        .key = "x", .shape = {4, 6}, .cut = row_parallel(), .stage = on_layer(0)};
    expert.expert = 3;
    // Rank number: etp + 2 * (ep + 2 * edp).
    BOOST_TEST((all_holders(expert, job) == rank_vector{2, 3, 6, 7}));
    BOOST_TEST((shards_of(sharding_of(expert, job), 7)[0].region == box{{0, 3}, {4, 3}}));
    BOOST_TEST(shards_of(sharding_of(expert, job), 5).empty());
}

BOOST_AUTO_TEST_CASE(a_job_that_does_not_fit_its_model_is_refused) {
    using test::says;
    BOOST_CHECK_EXCEPTION(parallel_job({.pp = 2}, even_pipeline(6, 3)), error,
                          says(errc::bad_layout, "the pipeline has 3 stages, but pp=2"));
    BOOST_CHECK_EXCEPTION(
        parallel_job({.dp = 4, .ep = 4}, pipeline(1), 6), error,
        says(errc::bad_layout, "6 experts cannot be shared equally by ep=4 ranks"));
    parallel_job const job({.tp = 2}, pipeline(2));
    parallel_tensor const beyond{.key = "w", .shape = {4}, .stage = on_layer(2)};
    BOOST_CHECK_EXCEPTION(
        sharding_of(beyond, job), error,
        says(errc::bad_layout,
             "there is no layer 2 in a pipeline of 2 layers; numbering starts at 0"));
}

BOOST_AUTO_TEST_CASE(a_key_stands_once_in_a_layout) {
    parallel_job const job({.dp = 2, .ep = 2}, pipeline(1), 2);
    parallel_tensor first{.key = "expert.0", .shape = {4}, .stage = on_layer(0)}, second = first;
    first.expert = 0;
    second.expert = 1;
    BOOST_CHECK_EXCEPTION(
        layout_of(std::vector{sharding_of(first, job), sharding_of(second, job)}), error,
        test::says(errc::bad_layout,
                   "'expert.0' of shape [4] appears twice in the layout; list each tensor once, "
                   "and number the tensors of experts and layers"));
    second.key = "expert.1";
    layout const both = layout_of(std::vector{sharding_of(second, job), sharding_of(first, job)});
    BOOST_TEST(both.holders == 2);
    BOOST_TEST(both.shards_of(both.tensors[0]).holder(0) == 0);
    BOOST_TEST(both.shards_of(both.tensors[1]).holder(0) == 1);
}

BOOST_AUTO_TEST_SUITE_END()
