// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/model/parallel_tensor.hpp>
#include <reshard/model/zero.hpp>

#include "support/held_once.hpp"
#include "support/says.hpp"

#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::model;

BOOST_AUTO_TEST_SUITE(model_zero)

namespace {

using tensor_list = std::vector<tensor_sharding>;

tensor_list spread(std::vector<parallel_tensor> const& tensors, parallel_job const& job) {
    tensor_list result;
    for (parallel_tensor const& tensor : tensors)
        result.push_back(sharding_of(tensor, job));
    return result;
}

/// The flat ranges that a rank holds, as `key 0:5, ...`.
std::string ranges(tensor_list const& tensors, holder_t rank) {
    std::string text;
    for (shard_descriptor const& shard : shards_of(tensors, rank))
        text += (text.empty() ? "" : ", ") + shard.key + " " +
                (shard.flat ? to_string(*shard.flat) : to_string(shard.region));
    return text;
}

void obeys_the_laws(tensor_list const& tensors) {
    for (tensor_sharding const& tensor : tensors) {
        BOOST_TEST(test::is_held_once(tensor), tensor.key << " is not held once");
        BOOST_TEST(test::is_inverse(tensor), tensor.key << " has other holders");
    }
}

/// Tensors at multiples of 4, buffers that ranks share equally.
buffer_rules fours(index_t ranks) { return {4, ranks, 0, false}; }

} // namespace

BOOST_AUTO_TEST_CASE(padding_of_a_fused_buffer_is_nobodys) {
    // 5 elements, padded to 8, then 3, padded to 4: 12, cut at 6. Rank 0 has all of the 5, rank 1 none.
    parallel_job const job({.dp = 2});
    auto const state =
        shard_buffers(spread({{.key = "a", .shape = {5}}, {.key = "b", .shape = {3}}}, job), fours);
    BOOST_TEST(ranges(state, 0) == "a 0:5");
    BOOST_TEST(ranges(state, 1) == "b 0:3");
    obeys_the_laws(state);
}

BOOST_AUTO_TEST_CASE(a_parameter_may_straddle_ranks) {
    parallel_job const job({.dp = 3});
    auto const state = shard_buffers(
        spread({{.key = "a", .shape = {5}}, {.key = "b", .shape = {3, 3}}}, job), fours);
    // a in 0:8, b in 8:17, padded to 18: cut at 6 and 12.
    BOOST_TEST(ranges(state, 0) == "a 0:5");
    BOOST_TEST(ranges(state, 1) == "b 0:4");
    BOOST_TEST(ranges(state, 2) == "b 4:9");
    obeys_the_laws(state);
}

BOOST_AUTO_TEST_CASE(megatron_packs_what_tensor_parallelism_leaves_from_the_back) {
    // On each rank w has 12 elements and b 6. b from 0, w from 64 to 76; padded to 128: cut at 64.
    parallel_job const job({.tp = 2, .dp = 2});
    auto const state =
        shard_buffers(spread({{.key = "w", .shape = {4, 6}, .cut = column_parallel()},
                              {.key = "b", .shape = {6}}},
                             job),
                      megatron_buckets);
    BOOST_TEST(ranges(state, 0) == "b 0:6");
    BOOST_TEST(ranges(state, 1) == "b 0:6");
    BOOST_TEST(ranges(state, 2) == "w 0:12");
    BOOST_TEST(ranges(state, 3) == "w 0:12");
    BOOST_TEST((shards_of(state, 3)[0].region == box{{2, 0}, {2, 6}}));
    obeys_the_laws(state);
}

BOOST_AUTO_TEST_CASE(context_parallel_ranks_share_too) {
    parallel_job const job({.cp = 2, .dp = 2});
    auto const state = shard_buffers(spread({{.key = "w", .shape = {8}}}, job), fours);
    BOOST_TEST(ranges(state, 1) == "w 2:4");
    BOOST_TEST(ranges(state, 2) == "w 4:6");
}

BOOST_AUTO_TEST_CASE(stages_and_experts_have_buffers_of_their_own) {
    parallel_job const job({.dp = 4, .pp = 2, .ep = 2}, even_pipeline(2, 2), 2);
    std::vector<parallel_tensor> tensors{
        {.key = "a", .shape = {4}, .stage = on_layer(0)},
        {.key = "x0", .shape = {4}, .stage = on_layer(0), .expert = 0},
        {.key = "x1", .shape = {4}, .stage = on_layer(0), .expert = 1},
        {.key = "z", .shape = {4}, .stage = on_layer(1)}};
    auto const state = shard_buffers(spread(tensors, job), fours);
    BOOST_TEST(ranges(state, 0) == "a 0:1, x0 0:2");
    BOOST_TEST(ranges(state, 1) == "a 1:2, x1 0:2");
    BOOST_TEST(ranges(state, 2) == "a 2:3, x0 2:4");
    BOOST_TEST(ranges(state, 7) == "z 3:4");
    obeys_the_laws(state);
}

BOOST_AUTO_TEST_CASE(data_types_have_buffers_of_their_own) {
    parallel_job const job({.dp = 2});
    auto const state = shard_buffers(spread({{.key = "a", .shape = {4}},
                                             {.key = "bias", .shape = {4}, .dtype = data_type::f32},
                                             {.key = "c", .shape = {4}}},
                                            job),
                                     fours);
    BOOST_TEST(ranges(state, 0) == "a 0:4, bias 0:2");
    BOOST_TEST(ranges(state, 1) == "bias 2:4, c 0:4");
}

BOOST_AUTO_TEST_CASE(parts_of_a_fused_weight_lie_one_behind_the_other) {
    parallel_job const job({.tp = 2, .dp = 2});
    auto const state =
        shard_buffers(spread({{.key = "w", .shape = {8, 3}, .cut = fused_gate_up()}}, job), fours);
    // A rank stores 6 elements of the gate, 6 of the up; the cut at 6 falls between them.
    BOOST_TEST(ranges(state, 0) == "w 0:6");
    BOOST_TEST((shards_of(state, 0)[0].region == box{{0, 0}, {2, 3}}));
    BOOST_TEST((shards_of(state, 3)[0].region == box{{6, 0}, {2, 3}}));
    obeys_the_laws(state);
    parallel_job const wide({.tp = 4, .dp = 3});
    obeys_the_laws(
        shard_buffers(spread({{.key = "n", .shape = {3}},
                              {.key = "qkv", .shape = {16, 3}, .cut = fused_qkv_cut(4, 2)}},
                             wide),
                      fours));
}

BOOST_AUTO_TEST_CASE(a_tied_embedding_has_a_place_in_the_buffers_of_both_ends) {
    parallel_job const job({.dp = 2, .pp = 2}, even_pipeline(2, 2));
    auto const state = shard_buffers(spread({{.key = "e", .shape = {6}, .stage = on_both_ends()},
                                             {.key = "h", .shape = {8}, .stage = on_layer(1)}},
                                            job),
                                     fours);
    BOOST_TEST(ranges(state, 0) == "e 0:3");
    BOOST_TEST(ranges(state, 1) == "e 3:6");
    BOOST_TEST(ranges(state, 2) == "e 0:6");
    BOOST_TEST(ranges(state, 3) == "h 0:8");
    BOOST_TEST(test::is_held_once(state[0]));
}

BOOST_AUTO_TEST_CASE(a_padded_vocabulary_keeps_its_place_in_the_buffer) {
    // 5 words padded to 8 of 2 elements: each rank stores 4 words, of which the last has one.
    parallel_job const job({.tp = 2, .dp = 2});
    auto const state =
        shard_buffers(spread({{.key = "e", .shape = {5, 2}, .cut = vocabulary_parallel(8)},
                              {.key = "b", .shape = {4}}},
                             job),
                      fours);
    BOOST_TEST(ranges(state, 0) == "e 0:6");
    BOOST_TEST(ranges(state, 1) == "e 0:2");
    BOOST_TEST(ranges(state, 2) == "e 6:8, b 0:4");
    BOOST_TEST(ranges(state, 3) == "b 0:4");
    obeys_the_laws(state);
}

BOOST_AUTO_TEST_CASE(large_tensors_are_cut_into_padded_slices_and_small_ones_are_whole) {
    // 10 elements over 4 ranks: slices of 3, of which the last has one real element.
    parallel_job const job({.dp = 4});
    auto const sliced =
        shard_slices(spread({{.key = "w", .shape = {5, 2}}, {.key = "b", .shape = {2}}}, job), 2);
    BOOST_TEST(ranges(sliced, 0) == "w 0:3, b [0:2]");
    BOOST_TEST(ranges(sliced, 3) == "w 9:10, b [0:2]");
    obeys_the_laws(sliced);
    // Of 2 elements over 4 ranks, two ranks have none. Their tensor keeps its shape.
    auto const tiny = shard_slices(spread({{.key = "b", .shape = {2}}}, job));
    BOOST_TEST(ranges(tiny, 1) == "b 1:2");
    BOOST_TEST(ranges(tiny, 3) == "");
    BOOST_TEST((shards_of(sliced, 1)[0].region == whole({5, 2})));
}

BOOST_AUTO_TEST_CASE(the_model_sees_all_of_a_parameter_and_the_optimizer_its_slice) {
    // Each rank stores 3 elements: 12, of which the last 2 are padding.
    BOOST_TEST(padded_slices(10, 4).length == 3);
    auto const sliced =
        shard_slices(spread({{.key = "w", .shape = {5, 2}}}, parallel_job({.dp = 4})));
    index_t real = 0;
    for (holder_t rank = 0; rank < 4; ++rank) {
        shard_descriptor const slice = shards_of(sliced[0], rank).at(0);
        BOOST_TEST((slice.region == whole({5, 2})));
        BOOST_TEST((local_shape(slice) == index_vector{rank < 3 ? 3 : 1}));
        BOOST_TEST(slice.flat->begin == 3 * rank);
        real += slice.flat->size();
    }
    BOOST_TEST(real == 10);
}

BOOST_AUTO_TEST_CASE(slices_of_fused_and_tensor_parallel_weights_cover_them) {
    parallel_job const job({.tp = 2, .dp = 4, .pp = 2}, even_pipeline(2, 2));
    obeys_the_laws(shard_slices(
        spread({{.key = "a", .shape = {6, 5}, .cut = column_parallel(), .stage = on_layer(0)},
                {.key = "b", .shape = {8, 3}, .cut = fused_gate_up(), .stage = on_layer(1)},
                {.key = "c", .shape = {10, 3}, .cut = vocabulary_parallel(12)},
                {.key = "e", .shape = {6, 3}, .cut = column_parallel(), .stage = on_both_ends()}},
               job)));
}

BOOST_AUTO_TEST_CASE(whole_tensors_are_dealt_out) {
    parallel_job const job({.cp = 2, .dp = 2});
    auto const dealt = shard_whole(spread({{.key = "a", .shape = {4, 4}},
                                           {.key = "b", .shape = {3}},
                                           {.key = "c", .shape = {2, 4}},
                                           {.key = "d", .shape = {5}},
                                           {.key = "e", .shape = {2}}},
                                          job));
    BOOST_TEST(ranges(dealt, 0) == "a [0:4, 0:4]");
    BOOST_TEST(ranges(dealt, 1) == "c [0:2, 0:4]");
    BOOST_TEST(ranges(dealt, 2) == "d [0:5]");
    BOOST_TEST(ranges(dealt, 3) == "b [0:3], e [0:2]");
    obeys_the_laws(dealt);
}

BOOST_AUTO_TEST_CASE(what_is_cut_already_cannot_be_shared) {
    mesh const ranks{{"dp", 2}};
    tensor_list const rows{
        sharding_of("w", data_type::f32, distribution(ranks, {shard{0}}, {4}, "w"))};
    BOOST_CHECK_EXCEPTION(
        shard_buffers(rows, fours), error,
        test::says(errc::bad_layout,
                   "'w': mesh axis 'dp' shares flat slices, so it must replicate, not shard 0"));
    BOOST_CHECK_EXCEPTION(
        shard_whole(rows), error,
        test::says(
            errc::bad_layout,
            "'w': mesh axis 'dp' distributes whole tensors, so it must replicate, not shard 0"));
}

BOOST_AUTO_TEST_SUITE_END()
