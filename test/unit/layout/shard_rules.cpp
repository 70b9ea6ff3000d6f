// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/group/check_world.hpp>

#include <reshard/group/solo.hpp>

#include "support/says.hpp"

#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(shard_shard_rules)

namespace {

/// An attention layer on rank 1 of 2, in Paddle's [in, out] arrangement.
std::vector<shard_rules::tensor> const attention{{"qkv.weight", data_type::bf16, {8, 12}},
                                                 {"qkv.bias", data_type::bf16, {12}},
                                                 {"out.weight", data_type::bf16, {4, 8}},
                                                 {"out.bias", data_type::bf16, {8}}};

shard_rules attention_rules() {
    return {"layers.3.",
            {{key_pattern("qkv.weight"), 1},
             {key_pattern("qkv.bias"), 0},
             {key_pattern("out.weight"), 0},
             {key_pattern("*.bias")}}};
}

constexpr equal_share second_of_two{0, 1, 2};

} // namespace

BOOST_AUTO_TEST_CASE(names_in_the_rules_are_cut_and_have_the_prefix) {
    auto const result = apply(attention_rules(), attention, second_of_two);
    std::vector<shard_descriptor> const expected{
        {"layers.3.qkv.weight", data_type::bf16, {8, 24}, {{0, 12}, {8, 12}}, {}},
        {"layers.3.qkv.bias", data_type::bf16, {24}, {{12}, {12}}, {}},
        {"layers.3.out.weight", data_type::bf16, {8, 8}, {{4, 0}, {4, 8}}, {}},
        {"layers.3.out.bias", data_type::bf16, {8}, {{0}, {8}}, {}}};
    BOOST_TEST((result.shards == expected));
    BOOST_TEST(result.unmatched.empty());
    check(solo{}, attention_rules(), attention, result);
}

BOOST_AUTO_TEST_CASE(without_a_rule_every_rank_has_a_copy_and_the_key_is_reported) {
    auto layer = attention_rules();
    layer.rules.pop_back();
    auto const result = apply(layer, attention, second_of_two);
    BOOST_TEST((result.shards[3] == replicated("layers.3.out.bias", data_type::bf16, {8})));
    BOOST_TEST((result.unmatched == std::vector<std::string>{"layers.3.out.bias"}));
    check(solo{}, layer, attention, result);
    layer.others = shard_rules::unmatched::refuse;
    BOOST_CHECK_EXCEPTION(check(solo{}, layer, attention, result), error,
                          says(errc::unknown_key,
                               "'layers.3.out.bias' matches no rule; add a rule for each tensor "
                               "(a rule without an axis replicates it)"));
    layer.rules.pop_back();
    BOOST_CHECK_EXCEPTION(
        check(solo{}, layer, attention, apply(layer, attention, second_of_two)), error,
        says(errc::unknown_key, "'layers.3.out.weight' and 1 more key match no rule; add a rule "
                                "for each tensor (a rule without an axis replicates it)"));
}

BOOST_AUTO_TEST_CASE(a_rule_that_matches_nothing_is_an_error) {
    auto layer = attention_rules();
    layer.rules[2].match = key_pattern("out.wieght");
    auto const result = apply(layer, attention, second_of_two);
    BOOST_TEST((result.used == std::vector<bool>{true, true, false, true}));
    BOOST_CHECK_EXCEPTION(check(solo{}, layer, attention, result), error,
                          says(errc::unknown_key,
                               "rule 3 of 4, 'out.wieght', applies to no tensor on any rank (did "
                               "you mean 'out.weight'?); rank 0 has 4 tensors below 'layers.3.'"));
}

BOOST_AUTO_TEST_CASE(a_rule_behind_one_that_takes_all_is_an_error) {
    shard_rules const layer{"", {{key_pattern("**")}, {key_pattern("a"), 0}}};
    std::vector<shard_rules::tensor> const tensors{{"a", data_type::f32, {2}}};
    BOOST_CHECK_EXCEPTION(
        check(solo{}, layer, tensors, apply(layer, tensors, second_of_two)), error,
        says(errc::unknown_key,
             "rule 2 of 2, 'a', applies to no tensor on any rank: an earlier rule matches 'a'"));
}

BOOST_AUTO_TEST_CASE(an_axis_that_a_tensor_does_not_have_names_the_whole_key) {
    shard_rules const layer{"norm.", {{key_pattern("*"), 1}}};
    BOOST_CHECK_EXCEPTION(
        apply(layer, {{"w", data_type::f32, {2}}}, second_of_two), error,
        says(errc::shape_mismatch, "'norm.w': axis 1 is out of range for a tensor of shape [2]"));
}

BOOST_AUTO_TEST_CASE(no_tensors_need_no_rules) {
    BOOST_TEST(apply({}, {}, second_of_two).shards.empty());
    check(solo{}, {}, {}, {});
}

BOOST_AUTO_TEST_SUITE_END()
