// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/model/optimizer_state.hpp>
#include <reshard/model/parallel_tensor.hpp>
#include <reshard/model/zero.hpp>

#include "support/held_once.hpp"
#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace reshard;
using reshard::test::mentions;
using namespace reshard::model;

BOOST_AUTO_TEST_SUITE(model_optimizer_state)

namespace {

std::string lines_of_state(std::vector<tensor_sharding> const& states, holder_t rank) {
    std::string text;
    for (shard_descriptor const& shard : shards_of(states, rank))
        text += to_string(shard) + "\n";
    return text;
}

buffer_rules one_buffer(index_t ranks) { return {1, ranks, 0, false}; }

} // namespace

BOOST_AUTO_TEST_CASE(moments_lie_where_their_parameter_lies) {
    parallel_job const job({.tp = 2});
    auto const states = states_of(
        sharding_of({.key = "w", .shape = {4, 6}, .cut = row_parallel()}, job), paddle_states());
    BOOST_TEST(lines_of_state(states, 1) == "w.w_0: float32 [4, 6] [0:4, 3:6]\n"
                                            "w.moment1_0: float32 [4, 6] [0:4, 3:6]\n"
                                            "w.moment2_0: float32 [4, 6] [0:4, 3:6]\n"
                                            "w.beta1_pow_acc_0: float32 [1] [0:1]\n"
                                            "w.beta2_pow_acc_0: float32 [1] [0:1]\n");
}

BOOST_AUTO_TEST_CASE(a_parameter_that_is_its_own_master_has_no_other) {
    parallel_job const job({});
    parallel_tensor const bias{.key = "b", .shape = {3}, .dtype = data_type::f32};
    auto const states = states_of({sharding_of(bias, job)}, megatron_states());
    BOOST_TEST(lines_of_state(states, 0) == "optimizer.state.exp_avg.b: float32 [3] [0:3]\n"
                                            "optimizer.state.exp_avg_sq.b: float32 [3] [0:3]\n");
    BOOST_TEST(lines_of_state(states_of(sharding_of(bias, job), torch_states()), 0) ==
               "state.b.exp_avg: float32 [3] [0:3]\n"
               "state.b.exp_avg_sq: float32 [3] [0:3]\n"
               "state.b.step: float32 [] []\n");
}

BOOST_AUTO_TEST_CASE(flat_state_follows_the_slices_and_scalars_are_on_every_rank) {
    parallel_job const job({.tp = 2, .dp = 2});
    auto const states = states_of(
        shard_buffers(
            std::vector{sharding_of({.key = "w", .shape = {4, 3}, .cut = fused_gate_up()}, job)},
            one_buffer),
        paddle_states());
    BOOST_TEST(lines_of_state(states, 3) == "w.w_0: float32 [4, 3] [3:4, 0:3] flat 0:3\n"
                                            "w.moment1_0: float32 [4, 3] [3:4, 0:3] flat 0:3\n"
                                            "w.moment2_0: float32 [4, 3] [3:4, 0:3] flat 0:3\n"
                                            "w.beta1_pow_acc_0: float32 [1] [0:1]\n"
                                            "w.beta2_pow_acc_0: float32 [1] [0:1]\n");
    for (tensor_sharding const& state : states) {
        BOOST_TEST(test::is_held_once(state), state.key);
        BOOST_TEST(test::is_inverse(state), state.key);
    }
    BOOST_TEST(holders_of(states[4], {{0}, {1}}).size() == 4);
}

BOOST_AUTO_TEST_CASE(scalars_of_experts_stages_and_owners_stay_there) {
    parallel_job const job({.tp = 2, .dp = 2, .pp = 2, .ep = 2}, even_pipeline(2, 2), 2);
    parallel_tensor const expert{.key = "x", .shape = {4}, .stage = on_layer(1), .expert = 1};
    auto const of_expert = states_of(sharding_of(expert, job), torch_states());
    BOOST_TEST((holders_of(of_expert[2], box{}) == std::vector<holder_t>{5, 7}));
    parallel_tensor const dense{
        .key = "w", .shape = {4, 2}, .cut = fused_qkv_cut(2, 1), .stage = on_layer(0)};
    auto const owned = states_of(shard_whole({sharding_of(dense, job)}), torch_states());
    BOOST_TEST((holders_of(owned[0], whole({4, 2})) == std::vector<holder_t>{0, 1}));
    BOOST_TEST((holders_of(owned[2], box{}) == std::vector<holder_t>{0, 1}));
    BOOST_TEST((holders_of(owned[2], box{}, copies::main) == std::vector<holder_t>{0}));
}

BOOST_AUTO_TEST_CASE(state_of_a_tied_weight_is_kept_once_for_both_ends) {
    parallel_job const job({.tp = 2, .pp = 2}, even_pipeline(2, 2));
    auto const states = states_of(
        sharding_of(
            {.key = "e", .shape = {4, 2}, .cut = vocabulary_parallel(), .stage = on_both_ends()},
            job),
        paddle_states());
    BOOST_TEST(states.size() == 5);
    BOOST_TEST((holders_of(states[3], {{0}, {1}}) == std::vector<holder_t>{0, 1, 2, 3}));
    BOOST_TEST((holders_of(states[3], {{0}, {1}}, copies::main) == std::vector<holder_t>{0}));
}

namespace {

/// A box, a flat range, a scalar and two parts without elements, one behind the other in memory.
struct parameters_in_memory {
    std::vector<float> memory = std::vector<float>(20);
    const_state_dict all;

    parameters_in_memory() {
        add({"w", data_type::f32, {7, 3}, {{3, 0}, {2, 3}}, {}}, 0);
        add({"flat", data_type::f32, {5}, {{0}, {5}}, flat_range{1, 4}}, 6);
        add({"none", data_type::f32, {2, 3}, {{2, 0}, {0, 3}}, {}}, 9);
        add({"scalar", data_type::f32, {}, {}, {}}, 9);
        add({"end", data_type::f32, {3}, {{3}, {0}}, {}}, 10);
    }

    void add(shard_descriptor const& shard, std::size_t place) {
        index_vector const shape = local_shape(shard);
        all.add(shard,
                const_tensor_view{&memory[place], data_type::f32, shape, row_major_strides(shape)});
    }

    std::string state_at(std::size_t place, state_kind const& kind) const {
        return to_string(state_of(all, &memory[place], kind));
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(state_is_described_by_the_memory_of_its_parameter) {
    parameters_in_memory const known;
    BOOST_TEST(known.state_at(0, {.suffix = ".exp_avg"}) == "w.exp_avg: float32 [7, 3] [3:5, 0:3]");
    BOOST_TEST(known.state_at(6, {.prefix = "state.", .suffix = ".m", .dtype = data_type::bf16}) ==
               "state.flat.m: bfloat16 [5] [0:5] flat 1:4");
    // Of the two parts at one address, the one that has elements.
    BOOST_TEST(known.state_at(9, {.suffix = ".m"}) == "scalar.m: float32 [] []");
    BOOST_TEST(known.state_at(10, {.suffix = ".m"}) == "end.m: float32 [3] [3:3]");
    BOOST_TEST(known.state_at(6, {.suffix = ".step", .scalar_shape = index_vector{1}}) ==
               "flat.step: float32 [1] [0:1]");
}

BOOST_AUTO_TEST_CASE(state_of_memory_that_is_no_parameter_or_two_is_refused) {
    parameters_in_memory known;
    BOOST_CHECK_EXCEPTION(known.state_at(1, {.suffix = ".m"}), error,
                          mentions(errc::unknown_key,
                                   "the state '*.m': no parameter begins at the address that is "
                                   "given, which is inside of 'w'; give"));
    BOOST_CHECK_EXCEPTION(
        known.state_at(15, {.suffix = ".m"}), error,
        mentions(errc::unknown_key, "address that is given; give the parameters' own memory"));
    BOOST_CHECK_EXCEPTION(state_of(known.all, nullptr, {.suffix = ".m"}), error,
                          mentions(errc::unknown_key,
                                   "the state '*.m' of a parameter at a null address: a "
                                   "shard without elements has no memory"));
    known.add({"tied", data_type::f32, {7, 3}, {{3, 0}, {2, 3}}, {}}, 0);
    known.add({"also end", data_type::f32, {3}, {{3}, {0}}, {}}, 10);
    BOOST_CHECK_EXCEPTION(known.state_at(0, {.suffix = ".m"}), error,
                          mentions(errc::memory_overlap, "'w' and 'tied' both begin at"));
    BOOST_CHECK_EXCEPTION(known.state_at(10, {.suffix = ".m"}), error,
                          mentions(errc::memory_overlap, "'end' and 'also end' both begin at"));
}

BOOST_AUTO_TEST_SUITE_END()
