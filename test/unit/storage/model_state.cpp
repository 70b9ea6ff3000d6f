// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/model_state.hpp>

#include <reshard/layout/equal_shares.hpp>

#include "support/says.hpp"

#include <algorithm>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(tensor_model_state)

namespace {

tensor_view row_of(std::vector<float>& elements, index_t rows) {
    auto const count = static_cast<index_t>(elements.size());
    return {elements.data(), data_type::f32, {rows, count / rows}, {count / rows, 1}};
}

/// Gate and up, one above the other, as two separate tensors: views, nothing is copied.
deferred_tensor::functions halves() {
    return {[](std::string const& key, tensor_view const& tensor) {
        index_vector half = tensor.shape;
        half[0] /= 2;
        tensor_view second = tensor;
        second.shape = half;
        tensor_view const first = second;
        second.data = static_cast<float*>(tensor.data) + half[0] * tensor.strides[0];
        deferred_tensor::built result;
        result.shards.add(replicated(key + ".gate", tensor.dtype, half), first);
        result.shards.add(replicated(key + ".up", tensor.dtype, half), second);
        return result;
    }};
}

/// The negative of a tensor of one axis, in separate memory.
deferred_tensor::functions negative() {
    auto const negate = [](tensor_view const& from, tensor_view const& to) {
        auto const* const source = static_cast<float const*>(from.data);
        std::transform(source, source + from.shape[0], static_cast<float*>(to.data),
                       [](float value) { return -value; });
    };
    return {[negate](std::string const& key, tensor_view const& tensor) {
                auto const memory =
                    std::make_shared<std::vector<float>>(static_cast<std::size_t>(tensor.shape[0]));
                tensor_view const built{memory->data(), tensor.dtype, tensor.shape, {1}};
                negate(tensor, built);
                deferred_tensor::built result;
                result.shards.add(replicated(key, tensor.dtype, tensor.shape), built);
                result.memory = memory;
                return result;
            },
            [negate](deferred_tensor::built const& built, tensor_view const& tensor) {
                negate(built.shards[0].tensor, tensor);
            }};
}

} // namespace

BOOST_AUTO_TEST_CASE(a_state_of_tensors_is_sharded_so_is_an_empty_one_and_a_mix_is_an_error) {
    model_state state;
    BOOST_TEST(is_sharded(state));
    std::vector<float> elements(4);
    state["w"] = local_shard{replicated("w", data_type::f32, {2, 2}), row_of(elements, 2)};
    state["fused"] = deferred_tensor{"mlp", row_of(elements, 2), halves()};
    BOOST_TEST(is_sharded(state));
    state["lr"] = stored_value{"0.1"};
    BOOST_CHECK_EXCEPTION(
        is_sharded(state), error,
        says(errc::usage, "a state of 3 entries has 2 shards ('fused') and other entries ('lr'), "
                          "so it is only partly sharded; check its entries separately"));
    BOOST_TEST(!is_sharded({{"lr", stored_value{"0.1"}}, {"step", unsaved_value{7}}}));
}

BOOST_AUTO_TEST_CASE(values_and_objects_are_listed_in_the_order_of_names) {
    model_state const state{{"b", stored_value{"2"}},
                            {"a", stored_value{"1"}},
                            {"rng", stored_object{{"generator", {2}, {1}}, "xyz"}},
                            {"timer", unsaved_value{42}}};
    auto const values = common_values(state);
    BOOST_TEST_REQUIRE(values.size() == 2u);
    BOOST_TEST(values[0].name == "a");
    BOOST_TEST(values[1].bytes == "2");
    auto const objects = held_objects(state);
    BOOST_TEST_REQUIRE(objects.size() == 1u);
    BOOST_TEST(tensor_key(objects[0].cell) == "generator/shard_1_2");
    BOOST_TEST(objects[0].bytes == "xyz");
}

BOOST_AUTO_TEST_CASE(a_key_is_a_cell_if_an_array_has_it) {
    for (std::string const key : {"rng/shard_1_4", "rng/shard_1.2_2.3", "rng/shard__"})
        BOOST_TEST(tensor_key(detail::cell_of(key).value()) == key);
    for (std::string const key : {"rng", "rng/shard_4_4", "rng/shard_1.3_2.3", "rng/shard_-1_4",
                                  "rng/shard_1_4.4", "rng/shard_x_4"})
        BOOST_TEST(!detail::cell_of(key), key);
}

BOOST_AUTO_TEST_CASE(a_factory_of_views_needs_no_merge) {
    std::vector<float> elements{0, 1, 2, 3, 4, 5, 6, 7};
    deferred_tensor const fused{"mlp", row_of(elements, 4), halves()};
    deferred_tensor::built const built = build(fused);
    BOOST_TEST_REQUIRE(built.shards.size() == 2u);
    BOOST_TEST(to_string(built.shards[1].descriptor) == "mlp.up: float32 [2, 2] [0:2, 0:2]");
    BOOST_TEST(static_cast<float*>(built.shards[1].tensor.data)[0] == 4);
    static_cast<float*>(built.shards[1].tensor.data)[0] = -4;
    merge(fused, built);
    BOOST_TEST(elements[4] == -4);
}

BOOST_AUTO_TEST_CASE(merge_is_the_inverse_of_build) {
    std::vector<float> elements{1, -2, 3};
    deferred_tensor const tensor{"w", {elements.data(), data_type::f32, {3}, {1}}, negative()};
    deferred_tensor::built const built = build(tensor);
    auto const* const values = static_cast<float const*>(built.shards[0].tensor.data);
    BOOST_TEST(std::vector<float>(values, values + 3) == (std::vector<float>{-1, 2, -3}),
               boost::test_tools::per_element());
    elements = {0, 0, 0};
    merge(tensor, built);
    BOOST_TEST(elements == (std::vector<float>{1, -2, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_factory_lays_a_moment_out_as_its_weight) {
    std::vector<float> weight(8), moment(8);
    auto const factory = halves();
    auto weights = build({"mlp", row_of(weight, 4), factory}).shards.descriptors();
    auto const moments = build({"mlp.exp_avg", row_of(moment, 4), factory}).shards.descriptors();
    BOOST_TEST(moments[0].key == "mlp.exp_avg.gate");
    for (std::size_t i = 0; i < 2; ++i)
        weights[i].key = moments[i].key;
    BOOST_TEST((weights == moments));
}

BOOST_AUTO_TEST_CASE(a_factory_that_builds_nothing_is_refused) {
    BOOST_CHECK_EXCEPTION(
        build({"w", {nullptr, data_type::f32, {0, 2}, {2, 1}}, {}}), error,
        says(errc::usage, "'w': a tensor of shape [0, 2] has a factory without a build function"));
}

BOOST_AUTO_TEST_SUITE_END()
