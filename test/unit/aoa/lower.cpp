// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/lower.hpp>

#include "aoa/language.hpp"
#include "support/says.hpp"

#include <reshard/aoa/expand.hpp>
#include <reshard/expr/algebra.hpp>

// The meaning of each statement, and the text of each error, is in the goldens, test/aoa/lower.
// Here: the same as the algebra, and the cases that goldens cannot show.

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::aoa;
using reshard::test::mentions;
using reshard::test::parsed;
using reshard::test::says;
using reshard::test::tensor;

BOOST_AUTO_TEST_SUITE(aoa_lower)

namespace {

catalog const source({tensor("a", {2, 4}), tensor("b", {2, 6}),
                      tensor("h", {2, 4}, data_type::bf16)});
expression const a = source_tensor(0, {2, 4}, data_type::f32);
expression const b = source_tensor(1, {2, 6}, data_type::f32);
expression const h = source_tensor(2, {2, 4}, data_type::bf16);

/// The results of a program for the tensors of `source`, all of them kept.
expression output(char const* text, char const* key) {
    mapping const map = lower(expand(parsed(text), source).code, source);
    BOOST_TEST_REQUIRE(map.find(key) != nullptr);
    return map.find(key)->value;
}

errc code_of(char const* text, catalog const* target = nullptr) {
    try {
        lower(expand(parsed(text), source, target).code, source, target);
    } catch (error const& problem) {
        return problem.code();
    }
    return errc::io;
}

bool refuses(char const* text, errc code) { return code_of(text) == code; }

} // namespace

BOOST_AUTO_TEST_CASE(each_statement_is_a_call_of_the_algebra) {
    BOOST_TEST((output("a -> x", "x") == a));
    BOOST_TEST((output("a, b -> x, axis=1", "x") == concat({a, b}, 1)));
    BOOST_TEST((output("a -> x, y, axis=1", "y") == split(a, 1, std::size_t{2})[1]));
    std::vector<index_t> const sizes = {1, 3};
    BOOST_TEST((output("a -> x, y, axis=1, sizes='[1,3]'", "y") == split(a, 1, sizes)[1]));
    BOOST_TEST((output("a -> x, permute='[1,0]'", "x") == transpose(a)));
    BOOST_TEST((output("a^T -> x", "x") == transpose(a)));
    BOOST_TEST((output("a -> x, dtype='bfloat16'", "x") == cast(a, data_type::bf16)));
    BOOST_TEST((output("h -> x, src_dtype='bfloat16', dst_dtype='float64'", "x") ==
                cast(h, data_type::f64)));
}

BOOST_AUTO_TEST_CASE(attributes_apply_from_left_to_right) {
    BOOST_TEST((output("a -> x, permute='[1,0]', dtype='float16', dtype='float32'", "x") ==
                cast(cast(transpose(a), data_type::f16), data_type::f32)));
    BOOST_TEST((output("a, b -> x, permute='[]', axis=0", "x") ==
                concat({transpose(a), transpose(b)}, 0)));
    BOOST_TEST((output("a, b -> x, axis=1, permute='[]'", "x") == transpose(concat({a, b}, 1))));
    BOOST_TEST((output("a -> x, y, axis=1, dtype='float16'", "x") ==
                cast(split(a, 1, std::size_t{2})[0], data_type::f16)));
}

BOOST_AUTO_TEST_CASE(a_name_means_what_it_was_bound_to_last) {
    BOOST_TEST((output("a -> x\nb -> x", "x") == b));
    BOOST_TEST((output("a^T -> a\na -> x", "x") == transpose(a)));
    BOOST_TEST((output("a -> t\nb -> a\nt -> b", "a") == b));
    BOOST_TEST((output("a -> t\nb -> a\nt -> b", "b") == a));
}

BOOST_AUTO_TEST_CASE(without_a_target_what_nothing_reads_is_left_over) {
    mapping const map = lower(parsed("a -> t\nt -> x\nt -> y\nh -> _"), source);
    std::vector<std::string> keys;
    for (mapping_output const& output : map.outputs())
        keys.push_back(output.key);
    BOOST_TEST(keys == (std::vector<std::string>{"b", "x", "y"}), boost::test_tools::per_element());
    BOOST_TEST(map.removed() == std::vector<std::string>{"h"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_empty_program_is_the_identity) {
    BOOST_TEST((lower(parsed(""), source) == identity_mapping(source)));
    BOOST_TEST((lower(parsed(""), source, &source) == identity_mapping(source, &source)));
}

BOOST_AUTO_TEST_CASE(all_errors_are_found_and_the_first_is_thrown) {
    program const code = parsed("zz -> x\na -> y, axis='0'\nx -> w\na, h -> v, axis=0");
    lowering const lowering = lower_all(code, source);
    BOOST_TEST_REQUIRE(lowering.findings.size() ==
                       3u); // x has no value, and that is not a separate error
    BOOST_TEST(lowering.findings[0].code == "unknown_key");
    BOOST_TEST(lowering.findings[1].code == "syntax");
    BOOST_TEST(lowering.findings[2].code == "dtype_mismatch");
    BOOST_TEST((lowering.first_error == errc::unknown_key));
    BOOST_CHECK_EXCEPTION(lower(code, source), error,
                          [](error const& problem) { return problem.code() == errc::unknown_key; });
}

BOOST_AUTO_TEST_CASE(a_program_with_macros_is_not_lowered) {
    for (char const* text :
         {"a^T -> x", "l.$LAYER_ID -> x", "a -> x, fused_ffn", "a* -> x", "a[0:1] -> x"})
        BOOST_CHECK_EXCEPTION(lower(parsed(text), source), error, [](error const& problem) {
            return problem.code() == errc::bad_macro;
        });
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_is_refused) {
    BOOST_TEST(refuses("a, b -> x, y, axis=0", errc::syntax));
    BOOST_TEST(refuses("a, b -> x", errc::syntax));
    BOOST_TEST(refuses("a, b -> x, axis=1, axis=1", errc::syntax));
    BOOST_TEST(refuses("a -> x, sizes='[2]'", errc::syntax));
    BOOST_TEST(refuses("a -> x, y, sizes='[2,2]', sizes='[2,2]', axis=1", errc::syntax));
    BOOST_TEST(refuses("a -> x, dtype=1", errc::syntax));
    BOOST_TEST(refuses("_ -> _", errc::syntax));
    BOOST_TEST(refuses("_ -> x, y, axis=0", errc::syntax));
    BOOST_TEST(refuses("_ -> x, axis=0", errc::syntax));
    BOOST_TEST(refuses("a -> _, axis=0", errc::syntax));
    BOOST_TEST(refuses("a, b -> x, axis=2", errc::shape_mismatch));
    BOOST_TEST(refuses("a, b -> x, axis=-3", errc::shape_mismatch));
    BOOST_TEST(refuses("a -> x, y, axis=1, sizes='[5,-1]'", errc::shape_mismatch));
    BOOST_TEST(refuses("a -> x, permute='[0]'", errc::shape_mismatch));
    BOOST_TEST(refuses("a -> x, dtype='complex128'", errc::dtype_mismatch));
    BOOST_TEST(refuses("a -> x, resize='[2]'", errc::shape_mismatch));
    BOOST_TEST(refuses("a -> x, slice='[0:1]'", errc::shape_mismatch));
    BOOST_TEST(refuses("a -> x, slice='[0:1'", errc::syntax));
    BOOST_TEST(refuses("a -> _\na -> x", errc::unknown_key));
}

BOOST_AUTO_TEST_CASE(a_target_type_may_be_wider_where_the_options_say_so) {
    catalog const target({tensor("h", {2, 4}, data_type::f32)});
    BOOST_TEST((code_of("", &target) == errc::dtype_mismatch));
    lower_options options;
    options.policy = dtype_policy::widen;
    mapping const map = lower(parsed(""), source, &target, options);
    BOOST_TEST((map.find("h")->value == cast(h, data_type::f32)));
    catalog const narrow({tensor("a", {2, 4}, data_type::bf16)});
    BOOST_CHECK_THROW(lower(parsed(""), source, &narrow, options), error);
}

BOOST_AUTO_TEST_CASE(what_the_target_wants_and_nothing_yields_may_be_left) {
    catalog const target({tensor("a", {2, 4}), tensor("b", {2, 6}), tensor("zz", {3})});
    lower_options options;
    options.leave_unexpected = true;
    lowering const lowering = lower_all(parsed("b -> _"), source, &target, options);
    BOOST_TEST(lowering.unexpected == std::vector<std::string>{"zz"},
               boost::test_tools::per_element());
    BOOST_TEST(lowering.map.find("zz") == nullptr);
    BOOST_TEST_REQUIRE(lowering.findings.size() == 1u); // b is removed, and that is not a mismatch
    BOOST_TEST(lowering.findings[0].key == "b");
    BOOST_TEST((code_of("", &target) == errc::unknown_key));
}

BOOST_AUTO_TEST_CASE(values_that_nothing_reads_are_noted) {
    catalog const target({tensor("x", {2, 4})});
    lowering const lowering = lower_all(parsed("a -> x\nb -> y\nh -> z\na -> z"), source, &target);
    BOOST_TEST_REQUIRE(lowering.dropped.size() == 3u);
    BOOST_TEST(lowering.dropped[0].key == "z"); // made again, and that is a finding
    BOOST_TEST(lowering.dropped[0].is_reported);
    BOOST_TEST((lowering.dropped[0].value == h));
    BOOST_TEST(lowering.dropped[1].key == "y");
    BOOST_TEST(!lowering.dropped[1].is_reported);
    BOOST_TEST((lowering.dropped[1].value == b));
    BOOST_TEST(lowering.dropped[2].key == "z");
    BOOST_TEST(lower_all(parsed("a -> x"), source).dropped.empty()); // x is left over
}

BOOST_AUTO_TEST_CASE(statements_that_change_nothing_are_noted) {
    program const code = parsed("a -> a\na -> x\na -> y, dtype='float32'\nb -> z, permute='[0,1]'"
                                "\na -> v, axis=0\na -> u, permute='[]'");
    BOOST_TEST(lower_all(code, source).idle == (std::vector<std::uint32_t>{0, 2, 3}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(state_follows_under_other_endings) {
    catalog const with(
        {tensor("a", {2, 4}), tensor("a/m", {2, 4}, data_type::f64), tensor("a/n", {})});
    expand_options options;
    options.state_suffixes = {{"/m", false}, {"/n", true}};
    program const code =
        expand(parsed("a^T -> t\nt -> x, dtype='float16'"), with, nullptr, options).code;
    BOOST_TEST((code.state_suffixes() == options.state_suffixes));
    mapping const map = lower(code, with);
    BOOST_TEST_REQUIRE(map.outputs().size() == 3u);
    BOOST_TEST((map.find("x/m")->value == transpose(source_tensor(1, {2, 4}, data_type::f64))));
    BOOST_TEST((map.find("x/n")->value == source_tensor(2, {}, data_type::f32)));
    BOOST_TEST(
        (map.relations() == std::vector<relation>{{relation::kind::state, "x", "x/m"},
                                                  {relation::kind::scalar_state, "x", "x/n"}}));
}

BOOST_AUTO_TEST_CASE(tensors_of_one_value_are_aliases) {
    catalog const with({tensor("bias", {2}), tensor("embed", {4, 2}), tensor("norm", {2})});
    catalog const target({tensor("bias", {2}), tensor("embed", {4, 2}), tensor("head", {4, 2}),
                          tensor("norm", {2}), tensor("plain", {2}), tensor("turned", {2, 4}),
                          tensor("also_turned", {2, 4})});
    program const code = parsed("embed -> turned, permute='[]'\nturned -> also_turned\n"
                                "embed -> head\nbias -> plain\n");
    BOOST_TEST((lower(code, with, &target).relations() ==
                std::vector<relation>{{relation::kind::alias, "embed", "head"},
                                      {relation::kind::alias, "bias", "plain"},
                                      {relation::kind::alias, "also_turned", "turned"}}));
    // The first value that is made has the number of the first tensor, and they are not the same.
    BOOST_TEST(
        lower(parsed("bias -> x, permute='[0]'\nembed -> y, permute='[]'\nnorm -> norm"), with)
            .relations()
            .empty());
    BOOST_TEST(lower(parsed("embed -> head\nembed -> x"), with).relations().size() == 1u);
    // made twice is not the same tensor to the program
    BOOST_TEST(lower(parsed("embed -> a, permute='[]'\nembed -> b, permute='[]'"), with)
                   .relations()
                   .empty());
}

BOOST_AUTO_TEST_CASE(tied_weights_that_are_left_over_have_one_state) {
    catalog const with({tensor("embed", {4, 2}), tensor("embed.moment1_0", {4, 2})});
    mapping const map = lower(parsed("embed -> head\nembed -> embed"), with);
    BOOST_TEST_REQUIRE(map.outputs().size() == 3u);
    BOOST_TEST((map.find("embed.moment1_0")->value == source_tensor(1, {4, 2}, data_type::f32)));
    BOOST_TEST((map.relations() ==
                std::vector<relation>{{relation::kind::state, "embed", "embed.moment1_0"},
                                      {relation::kind::alias, "embed", "head"}}));
    // Two tensors again: each has a state if the target wants it.
    catalog const target({tensor("embed", {4, 2}), tensor("embed.moment1_0", {4, 2}),
                          tensor("head", {4, 2}), tensor("head.moment1_0", {4, 2})});
    BOOST_TEST(lower(parsed("embed -> head"), with, &target).outputs().size() == 4u);
}

BOOST_AUTO_TEST_CASE(the_states_of_a_copy_have_to_be_equal_too) {
    catalog const with({tensor("emb", {4, 2}), tensor("emb.moment1_0", {4, 2}),
                        tensor("emb.moment2_0", {4, 2}), tensor("head", {4, 2}),
                        tensor("head.beta1_pow_acc_0", {1}), tensor("head.moment1_0", {4, 2})});
    program const code = parsed("head -> _, copy_of=\"emb\"");
    BOOST_TEST((lower(code, with).relations() ==
                std::vector<relation>{{relation::kind::copy, "emb", "head"},
                                      {relation::kind::copy, "emb.moment1_0", "head.moment1_0"}}));
    catalog const catalog({tensor("emb", {4, 2}), tensor("emb.moment1_0", {4, 2}),
                           tensor("head", {4, 2}),
                           tensor("head.moment1_0", {4, 2}, data_type::f64)});
    BOOST_CHECK_EXCEPTION(lower(code, catalog), error,
                          mentions(errc::dtype_mismatch,
                                   "'head.moment1_0' is declared as a copy of 'emb.moment1_0', but "
                                   "is float64, not float32"));
}

BOOST_AUTO_TEST_CASE(numbers_of_joined_parameters_have_to_be_equal) {
    auto const with = [](data_type of_b) {
        return catalog({tensor("a", {2, 4}), tensor("a.beta1_pow_acc_0", {1}), tensor("b", {2, 4}),
                        tensor("b.beta1_pow_acc_0", {1}, of_b)});
    };
    program const code = parsed("a, b, a -> x, axis=0");
    BOOST_TEST((
        lower(code, with(data_type::f32)).relations() ==
        std::vector<relation>{{relation::kind::scalar_state, "x", "x.beta1_pow_acc_0"},
                              {relation::kind::number, "a.beta1_pow_acc_0", "b.beta1_pow_acc_0"}}));
    BOOST_CHECK_EXCEPTION(
        lower(code, with(data_type::f64)), error,
        mentions(errc::dtype_mismatch,
                 "'b.beta1_pow_acc_0' is float64 [1], but 'a.beta1_pow_acc_0', whose parameter is "
                 "joined with its parameter, is float32 [1]"));
}

BOOST_AUTO_TEST_CASE(aliases_are_of_the_first_name_and_come_in_the_order_of_keys) {
    catalog const with({tensor("v", {3}), tensor("w", {4, 2})});
    catalog const target({tensor("a", {4, 2}), tensor("b", {4, 2}), tensor("c", {3}),
                          tensor("d", {3}), tensor("w", {4, 2})});
    mapping const map = lower(parsed("w -> b\nv -> d\nw -> a\nv -> c\nw -> x"), with, &target);
    BOOST_TEST((map.relations() == std::vector<relation>{{relation::kind::alias, "a", "b"},
                                                         {relation::kind::alias, "c", "d"},
                                                         {relation::kind::alias, "a", "w"}}));
}

BOOST_AUTO_TEST_CASE(a_tensor_without_elements_keeps_its_state) {
    catalog const with({tensor("e", {0, 4}, data_type::bf16), tensor("e.beta1_pow_acc_0", {1}),
                        tensor("e.w_0", {0, 4})});
    catalog const target({tensor("x", {4, 0}, data_type::f16), tensor("x.beta1_pow_acc_0", {1}),
                          tensor("x.w_0", {4, 0})});
    program const code = parsed("e -> t, permute='[1,0]'\nt -> x, dtype='float16'");
    mapping const exported = lower(code, with), wanted = lower(code, with, &target);
    for (mapping const* const map : {&exported, &wanted}) {
        BOOST_TEST_REQUIRE(map->outputs().size() == 3u);
        BOOST_TEST((map->find("x")->value == zeros({4, 0}, data_type::f16)));
        BOOST_TEST((map->find("x.w_0")->value == zeros({4, 0}, data_type::f32)));
        BOOST_TEST(
            (map->find("x.beta1_pow_acc_0")->value == source_tensor(1, {1}, data_type::f32)));
    }
}

BOOST_AUTO_TEST_CASE(a_part_without_elements_keeps_the_state_of_what_it_is_cut_from) {
    catalog const with({tensor("a", {4}, data_type::bf16), tensor("a.beta2_pow_acc_0", {1}),
                        tensor("a.moment1_0", {4}, data_type::f64)});
    mapping const map = lower(parsed("a -> x, y, axis=0, sizes='[4,0]'"), with);
    BOOST_TEST_REQUIRE(map.outputs().size() == 6u);
    BOOST_TEST((map.find("y.moment1_0")->value == zeros({0}, data_type::f64)));
    BOOST_TEST((map.find("y.beta2_pow_acc_0")->value == source_tensor(1, {1}, data_type::f32)));
}

BOOST_AUTO_TEST_CASE(a_parameter_without_elements_that_only_its_state_knows_is_not_left_over) {
    catalog const state_only({tensor("e.w_0", {0, 4})});
    mapping const map = lower(parsed("e -> x"), state_only);
    BOOST_TEST_REQUIRE(map.outputs().size() == 1u);
    BOOST_TEST(map.find("x.w_0") != nullptr);
}

BOOST_AUTO_TEST_CASE(a_key_that_ends_like_state_is_a_tensor_when_nobody_has_its_parameter) {
    catalog const alone({tensor("s.w_0", {2})});
    catalog const target({tensor("d", {2})});
    BOOST_TEST((lower(parsed("s.w_0 -> d"), alone, &target).find("d")->value ==
                source_tensor(0, {2}, data_type::f32)));
}

BOOST_AUTO_TEST_CASE(a_scalar_may_be_renamed_and_concat_refuses_it) {
    catalog const scalars({tensor("s", {}), tensor("t", {})});
    BOOST_TEST((lower(parsed("s -> x"), scalars).find("x")->value ==
                source_tensor(0, {}, data_type::f32)));
    BOOST_CHECK_THROW(lower(parsed("s, t -> x, axis=0"), scalars), error);
}

BOOST_AUTO_TEST_CASE(a_program_that_makes_too_many_pieces_is_refused) {
    // each statement doubles the pieces: two of a, four, eight, and a copy of these for the target
    std::string const doubled = "a, a -> t, axis=0\nt, t -> t, axis=0\nt, t -> t, axis=0";
    auto const lowered = [&](std::size_t max_pieces) {
        lower_options options;
        options.max_pieces = max_pieces;
        lower(parsed(doubled, "m.aoa"), source, nullptr, options);
    };
    BOOST_CHECK_NO_THROW(lowered(2 + 4 + 8 + 8));
    BOOST_CHECK_EXCEPTION(lowered(21), error,
                          says(errc::limit_exceeded,
                               "m.aoa:3:9: limit exceeded: the program has more than 21 pieces in "
                               "all tensors that it makes (option max_pieces)\n"
                               "    t, t -> t, axis=0\n"
                               "            ^"));
    BOOST_CHECK_EXCEPTION(lowered(13), error,
                          says(errc::limit_exceeded,
                               "m.aoa:3:1: limit exceeded: the program has more than 13 pieces in "
                               "all tensors that it makes (option max_pieces)\n"
                               "    t, t -> t, axis=0\n"
                               "    ^"));
}

BOOST_AUTO_TEST_CASE(state_that_no_source_has_is_left_where_that_is_allowed) {
    catalog const with({tensor("a", {2})});
    catalog const target({tensor("w", {2}), tensor("w.moment1_0", {2})});
    lower_options options;
    options.leave_unexpected = true;
    lowering const lowering = lower_all(parsed("a -> w"), with, &target, options);
    BOOST_TEST(!lowering.first_error);
    BOOST_TEST(lowering.unexpected == std::vector<std::string>{"w.moment1_0"},
               boost::test_tools::per_element());
    options.leave_unexpected = false;
    BOOST_TEST(
        (lower_all(parsed("a -> w"), with, &target, options).first_error == errc::unknown_key));
}

BOOST_AUTO_TEST_CASE(a_program_has_a_few_endings_of_scales) {
    std::string text;
    std::vector<catalog_entry> entries{tensor("a", {4, 4})};
    for (int i = 0; i < 65; ++i) {
        std::string const ending = "_" + std::to_string(i) + "_";
        text += "a -> x" + std::to_string(i) + ", scales='" + ending + "', blocks='[1,1]'\n";
        entries.push_back(tensor("a" + ending, {4, 4}));
    }
    catalog const with(std::move(entries));
    lowering const lowering = lower_all(parsed(text), with, nullptr, {});
    BOOST_TEST_REQUIRE(lowering.first_error.has_value());
    BOOST_TEST((*lowering.first_error == errc::limit_exceeded));
    BOOST_TEST(first_error_of(lowering.findings)->message ==
               "a program can have at most 64 scale suffixes; '_64_' is one too many");
}

BOOST_AUTO_TEST_CASE(pieces_are_counted_where_rows_and_columns_cross) {
    // 40 rows of one tensor, cut into 40 columns of 40 pieces each, all of them targets
    std::vector<catalog_entry> rows;
    std::string text, columns;
    for (int i = 0; i < 40; ++i) {
        std::string const number = std::to_string(100 + i);
        rows.push_back(tensor("r" + number, {1, 40}));
        text += (i ? ", r" : "r") + number;
        columns += (i ? ", c" : "c") + number;
    }
    text += " -> t, axis=0\nt -> " + columns + ", axis=1";
    catalog const with(rows);
    lower_options options;
    options.max_pieces = 40 + 1600 + 1600;
    BOOST_CHECK_NO_THROW(lower(parsed(text), with, nullptr, options));
    --options.max_pieces;
    BOOST_CHECK_EXCEPTION(
        lower(parsed(text), with, nullptr, options), error,
        [](error const& problem) { return problem.code() == errc::limit_exceeded; });
}

BOOST_AUTO_TEST_CASE(a_reshape_makes_no_more_pieces_than_are_left) {
    // Rows of 7 are cut into rows of 5: two pieces each, and the third one of 1, 5 and 1.
    catalog const with({tensor("a", {7, 5})});
    program const code = parsed("a -> t, permute='[]', reshape='[7, 5]'", "m.aoa");
    lower_options options;
    options.max_pieces = 1 + 11 + 11;
    BOOST_CHECK_NO_THROW(lower(code, with, nullptr, options));
    options.max_pieces = 1 + 10;
    BOOST_CHECK_EXCEPTION(lower(code, with, nullptr, options), error,
                          says(errc::limit_exceeded,
                               "m.aoa:1:1: limit exceeded: the program has more than 11 pieces in "
                               "all tensors that it makes (option max_pieces)\n"
                               "    a -> t, permute='[]', reshape='[7, 5]'\n"
                               "    ^"));
}

BOOST_AUTO_TEST_CASE(pieces_that_double_without_end_are_refused_early) {
    std::string text = "a -> t\n";
    for (int i = 0; i < 60; ++i)
        text += "t, t -> t, axis=0\n";
    lower_options options;
    options.max_pieces = 1000;
    lowering const lowering = lower_all(parsed(text), source, nullptr, options);
    BOOST_TEST((lowering.first_error == errc::limit_exceeded));
    BOOST_TEST(lowering.map.outputs().size() == 2u); // b and h
}

BOOST_AUTO_TEST_CASE(a_program_tells_what_there_is_to_say_of_it) {
    catalog_entry fused = tensor("d", {2, 8});
    fused.parts = {2, 1};
    catalog const target({fused});
    std::vector<std::string> digests;
    auto const stated_program = with_findings(
        parsed("a, a -> d, fused_ffn"), [&](program const& code, finding const& finding) {
            digests.push_back(finding.code + ": " + describe(code, finding));
        });
    BOOST_TEST((stated_program(source, &target) ==
                mapping_of(parsed("a, a -> d, fused_ffn"), source, &target)));
    std::vector<std::string> const expected{
        "fused_axis: program:1:1: warning: fused_ffn runs along axis 1 of 'a', 'a' -> 'd', which "
        "neither side cuts, but 'd' is cut into 2 parts along axis 0; write axis=0 if these are "
        "tensor-parallel parts, as for [out, in] weights, or axis=1 if they are not\n    a, a -> "
        "d, fused_ffn\n    ^"};
    BOOST_TEST(digests == expected, boost::test_tools::per_element());
    digests.clear();
    catalog const same({tensor("a", {2, 4})});
    mapping const renamed =
        with_findings(parsed("a -> aa"), [&](program const& code, finding const& finding) {
            digests.push_back(finding.code + ": " + describe(code, finding));
        })(source, &same);
    BOOST_TEST(
        digests ==
            (std::vector<std::string>{
                "not_used: program:1:6: warning: nothing reads 'aa', and the target does not "
                "want it\n"
                "    a -> aa\n"
                "         ^"}),
        boost::test_tools::per_element());
    BOOST_TEST(renamed.left_over() == std::vector<std::string>{"aa"},
               boost::test_tools::per_element());
    BOOST_CHECK_EXCEPTION(with_findings(parsed("x -> d"), {})(source, &target), error,
                          [](error const& problem) { return problem.code() == errc::unknown_key; });
}

BOOST_AUTO_TEST_SUITE_END()
