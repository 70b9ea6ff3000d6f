// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/load.hpp>

#include <reshard/aoa.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/format/names/variable_names.hpp>
#include <reshard/layout/equal_shares.hpp>
#include <reshard/storage/compare.hpp>
#include <reshard/storage/convert.hpp>

#include "shared_directory.hpp"
#include "support/says.hpp"

#include <bit>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

/// \file
/// Unified Checkpoints with and without model and master weights, into a job that wants both.

BOOST_AUTO_TEST_SUITE(storage_unified)

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

/// Weights count from 0; each is less than its master by this.
constexpr float rounded_away = 0.125F;

checkpoint open_case(std::string const& name) {
    return open_checkpoint(world(),
                           std::filesystem::path(RESHARD_TEST_DATA) / "formats/unified" / name);
}

/// The embedding of the test data, 6 x 4: a weight of 16 bits and its master weight, on each rank.
class embedding {
public:
    embedding() {
        add("emb.weight", data_type::bf16, weight_.data());
        add("emb.weight.w_0", data_type::f32, master_.data());
    }

    state_dict& tensors() { return tensors_; }

    /// Whether each element is its number and so much more.
    bool is(float weight, float master) const {
        for (std::size_t i = 0; i < weight_.size(); ++i)
            if (value_of(weight_[i]) != static_cast<float>(i) + weight ||
                master_[i] != static_cast<float>(i) + master)
                return false;
        return true;
    }

private:
    static float value_of(std::uint16_t bf16) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(bf16) << 16);
    }

    void add(std::string const& key, data_type dtype, void* memory) {
        index_vector const shape{6, 4};
        tensors_.add(
            replicated(key, dtype, shape),
            tensor_view{static_cast<std::byte*>(memory), dtype, shape, row_major_strides(shape)});
    }

    std::vector<std::uint16_t> weight_ = std::vector<std::uint16_t>(24, 0xEEEE);
    std::vector<float> master_ = std::vector<float>(24, -1);
    state_dict tensors_;
};

// [masters]
/// By name, and what the rule lets be made of others.
reshard::any_program with_rule(reshard::model::master_rule rule) {
    return [rule](reshard::catalog const& stored, reshard::catalog const* wanted) {
        reshard::mapping program = identity_mapping(stored);
        reshard::model::define_masters(program, *wanted, stored, rule);
        return program;
    };
}
// [/masters]

void load_case(std::string const& name, embedding& want, model::master_rule rule) {
    load(world(), open_case(name), want.tensors(), {.program = with_rule(rule)});
}

bool loads_as(std::string const& name, model::master_rule rule, float weight, float master) {
    embedding want;
    load_case(name, want, rule);
    return want.is(weight, master);
}

void check_refused(std::string const& name, model::master_rule rule, errc code,
                   std::string const& key) {
    embedding want;
    BOOST_CHECK_EXCEPTION(load_case(name, want, rule), error, mentions(code, "'" + key + "'"));
}

constexpr model::master_rule neither{}, skip{.weights_of_masters = true},
    compatible{.masters_of_weights = true}, both{true, true};

} // namespace

BOOST_AUTO_TEST_CASE(model_and_masters_are_loaded_as_they_are) {
    for (model::master_rule const rule : {neither, skip, compatible, both})
        BOOST_TEST(loads_as("all_three", rule, 0, rounded_away));
}

BOOST_AUTO_TEST_CASE(masters_are_cast_to_weights_where_that_is_allowed) {
    for (std::string const name : {"skip_save_model_weight", "masters_alone"})
        BOOST_TEST_CONTEXT(name) {
            for (model::master_rule const rule : {skip, both})
                BOOST_TEST(loads_as(name, rule, rounded_away, rounded_away));
            for (model::master_rule const rule : {neither, compatible})
                check_refused(name, rule, errc::dtype_mismatch, "emb.weight");
        }
}

BOOST_AUTO_TEST_CASE(weights_are_cast_to_masters_where_that_is_allowed) {
    for (model::master_rule const rule : {compatible, both})
        BOOST_TEST(loads_as("lost_masters", rule, 0, 0));
    for (model::master_rule const rule : {neither, skip})
        check_refused("lost_masters", rule, errc::unknown_key, "emb.weight.w_0");
}

BOOST_AUTO_TEST_CASE(what_is_written_is_what_was_read) {
    shared_directory const directory;
    for (std::string const name : {"all_three", "no_masters", "masters_alone"}) {
        checkpoint const read = open_case(name);
        convert(world(), read, directory / name, {.writing = {.format = "unified_checkpoint"}});
        checkpoint const written = open_checkpoint(world(), directory / name);
        BOOST_TEST(written.metadata().format == "unified_checkpoint");
        BOOST_TEST(written.metadata().warnings.empty());
        BOOST_TEST(compare(world(), read, written).equal());
    }
    BOOST_TEST(
        (directory.names("all_three") ==
         std::vector<std::string>{
             "master_weights-00001-of-00001.safetensors", "master_weights.safetensors.index.json",
             "model-00001-of-00001.safetensors", "model.safetensors.index.json",
             "optimizer-00001-of-00001.safetensors", "optimizer.safetensors.index.json"}));
    BOOST_TEST((directory.names("no_masters") ==
                std::vector<std::string>{
                    "model-00001-of-00001.safetensors", "model.safetensors.index.json",
                    "optimizer-00001-of-00001.safetensors", "optimizer.safetensors.index.json"}));
    BOOST_TEST(open_checkpoint(world(), directory / "all_three").metadata().files.size() == 3u);
}

BOOST_AUTO_TEST_CASE(states_follow_their_weight_through_a_program) {
    std::vector<float> moment(24), master(24);
    index_vector const shape{4, 6};
    state_dict want;
    for (auto const& [key, memory] : {std::pair{"e.moment1_0", &moment}, {"e.w_0", &master}})
        want.add(replicated(key, data_type::f32, shape),
                 tensor_view{reinterpret_cast<std::byte*>(memory->data()), data_type::f32, shape,
                             row_major_strides(shape)});
    load(world(), open_case("all_three"), want, {.program = aoa::parse("emb.weight^T -> e")});
    for (std::size_t row = 0; row < 4; ++row)
        for (std::size_t column = 0; column < 6; ++column) {
            auto const number = static_cast<float>(column * 4 + row);
            BOOST_TEST(moment[row * 6 + column] == 100 + number);
            BOOST_TEST(master[row * 6 + column] == number + rounded_away);
        }
}

BOOST_AUTO_TEST_SUITE_END()
