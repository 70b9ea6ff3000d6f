// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/model/optimizer_state.hpp>

#include <reshard/adapt/span.hpp>
#include <reshard/bind/redistribute.hpp>
#include <reshard/model/parallel_tensor.hpp>
#include <reshard/model/zero.hpp>

#include "support/all_ranks.hpp"
#include "support/held_once.hpp"
#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::model;
using reshard::test::mentions;

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

/// A box, a flat range, a scalar and two parts without elements, one after the other in memory.
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

    void add(shard_descriptor const& shard, std::size_t index) {
        index_vector const shape = local_shape(shard);
        all.add(shard,
                const_tensor_view{&memory[index], data_type::f32, shape, row_major_strides(shape)});
    }

    std::string state_at(std::size_t index, state_kind const& kind) const {
        return to_string(state_of(all, &memory[index], kind));
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(state_is_described_by_the_memory_of_its_parameter) {
    parameters_in_memory const memory;
    BOOST_TEST(memory.state_at(0, {.suffix = ".exp_avg"}) ==
               "w.exp_avg: float32 [7, 3] [3:5, 0:3]");
    BOOST_TEST(memory.state_at(6, {.prefix = "state.", .suffix = ".m", .dtype = data_type::bf16}) ==
               "state.flat.m: bfloat16 [5] [0:5] flat 1:4");
    // Of the two parts at one address, the one that has elements.
    BOOST_TEST(memory.state_at(9, {.suffix = ".m"}) == "scalar.m: float32 [] []");
    BOOST_TEST(memory.state_at(10, {.suffix = ".m"}) == "end.m: float32 [3] [3:3]");
    BOOST_TEST(memory.state_at(6, {.suffix = ".step", .scalar_shape = index_vector{1}}) ==
               "flat.step: float32 [1] [0:1]");
}

BOOST_AUTO_TEST_CASE(state_of_memory_that_is_no_parameter_or_two_is_refused) {
    parameters_in_memory memory;
    BOOST_CHECK_EXCEPTION(memory.state_at(1, {.suffix = ".m"}), error,
                          mentions(errc::unknown_key, "the state '*.m': no parameter begins at the "
                                                      "given address, which is inside 'w'; pass"));
    BOOST_CHECK_EXCEPTION(
        memory.state_at(15, {.suffix = ".m"}), error,
        mentions(errc::unknown_key, "given address; pass the parameter's own address"));
    BOOST_CHECK_EXCEPTION(state_of(memory.all, nullptr, {.suffix = ".m"}), error,
                          mentions(errc::unknown_key,
                                   "the state '*.m' belongs to a parameter at a null address: a "
                                   "shard without elements has no memory"));
    memory.add({"tied", data_type::f32, {7, 3}, {{3, 0}, {2, 3}}, {}}, 0);
    memory.add({"also end", data_type::f32, {3}, {{3}, {0}}, {}}, 10);
    BOOST_CHECK_EXCEPTION(memory.state_at(0, {.suffix = ".m"}), error,
                          mentions(errc::memory_overlap, "'w' and 'tied' both begin at"));
    BOOST_CHECK_EXCEPTION(memory.state_at(10, {.suffix = ".m"}), error,
                          mentions(errc::memory_overlap, "'end' and 'also end' both begin at"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(model_first_step)

namespace {

float float_of(bfloat16 number) { return std::bit_cast<float>(std::uint32_t{number.bits} << 16); }

/// The bfloat16 nearest to a small integer, which it is.
bfloat16 bfloat16_of(index_t number) {
    return {
        static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(number)) >> 16)};
}

/// A rank under stage 3: its padded slice of a parameter, and the state that its optimizer makes of
/// it at its first step.
struct stage_3_rank {
    index_t begin = 0; ///< of the slice, in the parameter
    index_t real = 0;  ///< elements of it that are not padding
    std::vector<bfloat16> fw_storage;
    std::map<std::string, std::vector<float>> state;

    void make_state() {
        for (index_t i = 0; i < real; ++i)
            state["w.w_0"].push_back(float_of(fw_storage[static_cast<std::size_t>(i)]));
        state["w.moment1_0"].assign(state["w.w_0"].size(), 0);
        state["w.moment2_0"].assign(state["w.w_0"].size(), 0);
        state["w.beta1_pow_acc_0"] = state["w.beta2_pow_acc_0"] = {1};
    }

    void step() {
        if (state.empty())
            make_state();
        float const power1 = state["w.beta1_pow_acc_0"][0] *= 0.5F;
        float const power2 = state["w.beta2_pow_acc_0"][0] *= 0.75F;
        for (std::size_t i = 0; i < state["w.w_0"].size(); ++i) {
            float const gradient = 0.3F * static_cast<float>(begin + static_cast<index_t>(i)) - 1;
            float& first = state["w.moment1_0"][i];
            float& second = state["w.moment2_0"][i];
            first = 0.5F * first + 0.5F * gradient;
            second = 0.75F * second + 0.25F * gradient * gradient;
            state["w.w_0"][i] -= first / (1 - power1) / (std::sqrt(second / (1 - power2)) + 0.1F);
        }
    }
};

/// A job whose one parameter of 5 x 2 elements, which count up from 1, is cut into padded slices.
class stage_3_job {
public:
    explicit stage_3_job(index_t ranks)
        : parameters_(shard_slices(
              {sharding_of({.key = "w", .shape = {5, 2}}, parallel_job({.dp = ranks}))})),
          states_(states_of(parameters_, paddle_states())),
          ranks_(static_cast<std::size_t>(ranks)) {
        index_t const length = (10 + ranks - 1) / ranks;
        for (index_t r = 0; r < ranks; ++r) {
            stage_3_rank& rank = ranks_[static_cast<std::size_t>(r)];
            rank.begin = r * length;
            rank.real = std::min(length, 10 - rank.begin);
            for (index_t i = 0; i < length; ++i)
                rank.fw_storage.push_back(bfloat16_of(i < rank.real ? rank.begin + i + 1 : 99));
        }
    }

    std::vector<tensor_sharding> const& parameters() const { return parameters_; }

    void step() {
        for (stage_3_rank& rank : ranks_)
            rank.step();
    }

    /// What its optimizer has, whether it has made it or not: then it is made here, as it will be.
    std::vector<state_dict> state() {
        std::vector<state_dict> tensors(ranks_.size());
        for (std::size_t r = 0; r < ranks_.size(); ++r)
            for (shard_descriptor const& shard : shards_of(states_, static_cast<holder_t>(r))) {
                auto& elements = ranks_[r].state[shard.key];
                if (elements.empty())
                    elements.resize(static_cast<std::size_t>(element_count(local_shape(shard))), 1);
                tensors[r].add(shard, elements);
            }
        return tensors;
    }

    /// The slices of `fw_storage`, without the padding.
    std::vector<const_state_dict> slices() const {
        std::vector<const_state_dict> tensors(ranks_.size());
        for (std::size_t r = 0; r < ranks_.size(); ++r)
            for (shard_descriptor const& shard : shards_of(parameters_, static_cast<holder_t>(r)))
                tensors[r].add(shard, const_tensor_view{ranks_[r].fw_storage.data(),
                                                        data_type::bf16,
                                                        {ranks_[r].real},
                                                        {1}});
        return tensors;
    }

    /// A state of all ranks, one after the other.
    std::vector<float> whole_state(std::string const& key) const {
        std::vector<float> values;
        for (stage_3_rank const& rank : ranks_)
            values.insert(values.end(), rank.state.at(key).begin(), rank.state.at(key).end());
        return values;
    }

    bool operator==(stage_3_job const& other_job) const {
        for (std::string const key : {"w.w_0", "w.moment1_0", "w.moment2_0"})
            if (whole_state(key) != other_job.whole_state(key))
                return false;
        return ranks_[0].state.at("w.beta1_pow_acc_0") ==
                   other_job.ranks_[0].state.at("w.beta1_pow_acc_0") &&
               ranks_.back().state.at("w.beta2_pow_acc_0") ==
                   other_job.ranks_.back().state.at("w.beta2_pow_acc_0");
    }

private:
    std::vector<tensor_sharding> parameters_;
    std::vector<tensor_sharding> states_;
    std::vector<stage_3_rank> ranks_;
};

void load(stage_3_job& to, stage_3_job& from) {
    std::vector<const_state_dict> source;
    for (state_dict const& each : from.state())
        source.emplace_back(each);
    reshard::test::redistribute_ranks(source, to.state());
}

} // namespace

BOOST_AUTO_TEST_CASE(state_before_the_first_step_is_made_of_the_slices) {
    stage_3_job early(4);
    reshard::test::redistribute_ranks(early.slices(), early.state(),
                                      before_first_step(early.parameters(), paddle_states()));
    BOOST_TEST(early.whole_state("w.w_0") == (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
    BOOST_TEST(early.whole_state("w.moment2_0") == std::vector<float>(10, 0.0F));
    BOOST_TEST(early.whole_state("w.beta1_pow_acc_0") == std::vector<float>(4, 1.0F));
    stage_3_job normal(4);
    early.step();
    normal.step();
    BOOST_TEST((early == normal));
    BOOST_TEST(early.whole_state("w.w_0")[0] != 1);
}

BOOST_AUTO_TEST_CASE(a_load_before_the_first_step_is_followed_by_the_second) {
    stage_3_job trained(2), loaded(4);
    trained.step();
    load(loaded, trained);
    BOOST_TEST((loaded == trained));
    loaded.step();
    BOOST_TEST((loaded != trained));
    trained.step();
    BOOST_TEST((loaded == trained));
}

BOOST_AUTO_TEST_CASE(state_that_was_made_early_loads_as_any_other) {
    stage_3_job early(4), loaded(3), normal(3);
    reshard::test::redistribute_ranks(early.slices(), early.state(),
                                      before_first_step(early.parameters(), paddle_states()));
    load(loaded, early);
    loaded.step();
    normal.step();
    BOOST_TEST((loaded == normal));
}

BOOST_AUTO_TEST_CASE(a_parameter_that_is_its_own_master_starts_without_one) {
    auto const start = before_first_step(
        {sharding_of({.key = "b", .shape = {3}, .dtype = data_type::f32}, parallel_job({}))},
        megatron_states());
    BOOST_TEST(start.outputs().size() == 2);
    BOOST_TEST(start.find("optimizer.state.exp_avg.b") != nullptr);
    BOOST_TEST(start.find("optimizer.state.fp32_param.b") == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
