// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/names/variable_names.hpp>

#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::model;

BOOST_AUTO_TEST_SUITE(model_variable_names)

namespace {

std::string parsed_variable(std::string_view name) {
    variable_name const variable_name = parse_variable(name);
    return variable_name.parameter + " " + variable_name.suffix;
}

using name_list = std::vector<std::string>;

} // namespace

BOOST_AUTO_TEST_CASE(all_paths_lead_to_one_name) {
    // With 32 bits, a slice is its own master.
    BOOST_TEST(parsed_variable("slice@linear_0.w_0") == "linear_0.w_0 ");
    BOOST_TEST(parsed_variable("slice@linear_0.w_0_moment1_0") == "linear_0.w_0 .moment1_0");
    BOOST_TEST(parsed_variable("slice@linear_0.w_0_beta2_pow_acc_0") ==
               "linear_0.w_0 .beta2_pow_acc_0");
    // In mixed precision, master weights lack the prefix.
    BOOST_TEST(parsed_variable("linear_0.w_0_fp32_master_0") == "linear_0.w_0 .w_0");
    BOOST_TEST(parsed_variable("linear_0.w_0_fp32_master_0_moment2_0") ==
               "linear_0.w_0 .moment2_0");
    // Should they have it, or no number, they are the same.
    BOOST_TEST(parsed_variable("slice@linear_0.w_0_fp32_master_0") == "linear_0.w_0 .w_0");
    BOOST_TEST(parsed_variable("linear_0.w_0_fp32_master") == "linear_0.w_0 .w_0");
    // Without stage 3.
    BOOST_TEST(parsed_variable("linear_0.w_0") == "linear_0.w_0 ");
    BOOST_TEST(parsed_variable("linear_0.w_0_beta1_pow_acc_0") == "linear_0.w_0 .beta1_pow_acc_0");
}

BOOST_AUTO_TEST_CASE(an_older_checkpoint_has_a_segment_for_master_weights) {
    BOOST_TEST(parsed_variable("opt.master_weights.linear_0.w_0") == "opt.linear_0.w_0 .w_0");
    BOOST_TEST(parsed_variable("opt.linear_0.w_0_fp32_master_0") == "opt.linear_0.w_0 .w_0");
    BOOST_TEST(parsed_variable("master_weights.linear_0.w_0") == "linear_0.w_0 .w_0");
    BOOST_TEST(parsed_variable("my_master_weights.w_0") == "my_master_weights.w_0 ");
}

BOOST_AUTO_TEST_CASE(what_only_looks_like_state_is_a_parameter) {
    BOOST_TEST(parsed_variable("moment1_0") == "moment1_0 ");
    BOOST_TEST(parsed_variable("embedding_moment1") == "embedding_moment1 ");
    BOOST_TEST(parsed_variable("w_moment1_x0") == "w_moment1_x0 ");
    BOOST_TEST(parsed_variable("fp32_master_bias") == "fp32_master_bias ");
    BOOST_TEST(parsed_variable("7") == "7 ");
}

BOOST_AUTO_TEST_CASE(a_name_without_a_parameter_is_refused) {
    for (std::string const name : {"", "slice@", "_fp32_master_0", "slice@_moment1_0"})
        BOOST_CHECK_EXCEPTION(
            parse_variable(name), error,
            test::says(errc::unknown_key, "the variable '" + name + "' names no parameter"));
}

BOOST_AUTO_TEST_CASE(keys_are_those_of_parameters_and_what_the_state_is) {
    variable_keys const keys{{"linear_0.w_0", "model.layers.0.mlp.down.weight"},
                             {"linear_0.b_0", "model.layers.0.mlp.down.bias"}};
    BOOST_TEST(key_of_variable("linear_0.b_0", keys) == "model.layers.0.mlp.down.bias");
    BOOST_TEST(key_of_variable("slice@linear_0.b_0", keys) == "model.layers.0.mlp.down.bias");
    BOOST_TEST(key_of_variable("linear_0.w_0_fp32_master_0", keys) ==
               "model.layers.0.mlp.down.weight.w_0");
    BOOST_TEST(key_of_variable("linear_0.w_0_fp32_master_0_beta1_pow_acc_0", keys) ==
               "model.layers.0.mlp.down.weight.beta1_pow_acc_0");
    BOOST_CHECK_EXCEPTION(key_of_variable("slice@linear_1.w_0_moment1_0", keys), error,
                          test::says(errc::unknown_key,
                                     "the variable 'slice@linear_1.w_0_moment1_0' belongs to "
                                     "'linear_1.w_0', but no parameter has this name"));
}

BOOST_AUTO_TEST_CASE(an_optimizer_keeps_four_numbers_a_parameter_and_a_master_weight_before_them) {
    BOOST_TEST(state_variables("linear_0.w_0", {}) ==
               (name_list{"linear_0.w_0_moment1_0", "linear_0.w_0_moment2_0",
                          "linear_0.w_0_beta1_pow_acc_0", "linear_0.w_0_beta2_pow_acc_0"}));
    BOOST_TEST(state_variables("w", {.is_slice = true}) ==
               (name_list{"slice@w_moment1_0", "slice@w_moment2_0", "slice@w_beta1_pow_acc_0",
                          "slice@w_beta2_pow_acc_0"}));
    for (bool const is_slice : {false, true})
        BOOST_TEST(
            state_variables("w", {.is_slice = is_slice, .has_master = true}) ==
            (name_list{"w_fp32_master_0", "w_fp32_master_0_moment1_0", "w_fp32_master_0_moment2_0",
                       "w_fp32_master_0_beta1_pow_acc_0", "w_fp32_master_0_beta2_pow_acc_0"}));
}

BOOST_AUTO_TEST_CASE(variables_have_the_keys_that_states_have) {
    tensor_sharding const weight =
        sharding_of("model.w", data_type::bf16,
                    distribution(mesh{{"dp", 2}}, {replicate{}}, {3, 2}, "model.w"));
    auto const states = states_of(weight, paddle_states());
    auto const names = state_variables("linear_7.w_0", {.is_slice = true, .has_master = true});
    BOOST_TEST_REQUIRE(names.size() == states.size());
    for (std::size_t i = 0; i < names.size(); ++i)
        BOOST_TEST(key_of_variable(names[i], {{"linear_7.w_0", "model.w"}}) == states[i].key);
}

BOOST_AUTO_TEST_CASE(other_optimizers_have_other_accumulators) {
    std::vector<state_kind> const kinds{{.suffix = ".master", .is_master = true},
                                        {.suffix = ".velocity_0"}};
    BOOST_TEST(state_variables("w", {.has_master = true}, kinds) ==
               (name_list{"w_fp32_master_0", "w_fp32_master_0_velocity_0"}));
    BOOST_TEST(key_of_variable("w_fp32_master_0", {{"w", "layer.w"}}, kinds) == "layer.w.master");
    BOOST_TEST((parse_variable("w_velocity_3", kinds) == variable_name{"w", ".velocity_0"}));
    BOOST_TEST((parse_variable("w_moment1_0", kinds) == variable_name{"w_moment1_0", ""}));
}

BOOST_AUTO_TEST_SUITE_END()
