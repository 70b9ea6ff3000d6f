// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "support/all_ranks.hpp"
#include <reshard/model/optimizer_state.hpp>

#include <reshard/adapt/span.hpp>
#include <reshard/bind/redistribute.hpp>
#include <reshard/model/parallel_tensor.hpp>
#include <reshard/model/zero.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::model;

BOOST_AUTO_TEST_SUITE(model_first_step)

namespace {

float float_of(bfloat16 number) { return std::bit_cast<float>(std::uint32_t{number.bits} << 16); }

/// The bfloat16 nearest to a small integer, which it is.
bfloat16 bfloat16_of(index_t number) {
    return {
        static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(number)) >> 16)};
}

/// A rank under stage 3: its padded slice of a parameter, and the state that its optimizer makes of it
/// at its first step.
struct stage_3_rank {
    index_t begin = 0; ///< of the slice, in the parameter
    index_t real = 0;  ///< elements of it that are no padding
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
        std::vector<state_dict> all(ranks_.size());
        for (std::size_t r = 0; r < ranks_.size(); ++r)
            for (shard_descriptor const& shard : shards_of(states_, static_cast<holder_t>(r))) {
                auto& elements = ranks_[r].state[shard.key];
                if (elements.empty())
                    elements.resize(static_cast<std::size_t>(element_count(local_shape(shard))), 1);
                all[r].add(shard, elements);
            }
        return all;
    }

    /// The slices of `fw_storage`, without the padding.
    std::vector<const_state_dict> slices() const {
        std::vector<const_state_dict> all(ranks_.size());
        for (std::size_t r = 0; r < ranks_.size(); ++r)
            for (shard_descriptor const& shard : shards_of(parameters_, static_cast<holder_t>(r)))
                all[r].add(shard, const_tensor_view{ranks_[r].fw_storage.data(),
                                                    data_type::bf16,
                                                    {ranks_[r].real},
                                                    {1}});
        return all;
    }

    /// A state of all ranks, one behind the other.
    std::vector<float> whole_state(std::string const& key) const {
        std::vector<float> all;
        for (stage_3_rank const& rank : ranks_)
            all.insert(all.end(), rank.state.at(key).begin(), rank.state.at(key).end());
        return all;
    }

    bool operator==(stage_3_job const& other) const {
        for (std::string const key : {"w.w_0", "w.moment1_0", "w.moment2_0"})
            if (whole_state(key) != other.whole_state(key))
                return false;
        return ranks_[0].state.at("w.beta1_pow_acc_0") ==
                   other.ranks_[0].state.at("w.beta1_pow_acc_0") &&
               ranks_.back().state.at("w.beta2_pow_acc_0") ==
                   other.ranks_.back().state.at("w.beta2_pow_acc_0");
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
