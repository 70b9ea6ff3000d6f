// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/macro/macros.hpp>

#include "aoa/language.hpp"
#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

// The expansion of each macro is in the goldens, test/aoa/expand.

using namespace reshard;
using namespace reshard::aoa;
using reshard::test::parsed;
using reshard::test::says;
using reshard::test::tensor;

BOOST_AUTO_TEST_SUITE(aoa_expand)

namespace {

catalog const layers({tensor("l.0.w", {4, 4}), tensor("l.1.w", {4, 4})});

} // namespace

BOOST_AUTO_TEST_CASE(a_program_without_macros_stays_as_it_is) {
    program const code = parsed("a, b -> c, axis=0\n_ -> d\n'x*' -> e, dtype='float32'");
    expansion const expanded = expand(code, layers);
    BOOST_TEST((expanded.code == code));
    BOOST_TEST(expanded.findings.empty());
}

BOOST_AUTO_TEST_CASE(macros_are_applied_in_the_order_of_the_original) {
    std::vector<std::string_view> names;
    for (macro const& macro : macros)
        names.push_back(macro.name);
    BOOST_TEST(names == (std::vector<std::string_view>{
                            "members", "$NAME", "[a:b]", "unstack", "*", "**", "stack", "^T",
                            "fused_qkv_old", "fused_ffn", "fused_qkv", "fused", "quantize"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(expanding_twice_is_expanding_once) {
    expansion const once = expand(parsed("l.$LAYER_ID.w^T -> m.$LAYER_ID.w"), layers);
    BOOST_TEST((expand(once.code, layers).code == once.code));
}

BOOST_AUTO_TEST_CASE(a_statement_without_a_match_is_reported_as_asked) {
    program const code = parsed("x.$LAYER_ID.w -> y.$LAYER_ID.w\na -> b");
    expand_options options;
    auto const warned = expand(code, layers, nullptr, options);
    BOOST_TEST((warned.code == parsed("a -> b")));
    BOOST_TEST_REQUIRE(warned.findings.size() == 1u);
    BOOST_TEST(warned.findings[0].code == "no_match");
    BOOST_TEST(warned.findings[0].key == "x.$LAYER_ID.w");
    options.no_match = on_no_match::ignore;
    BOOST_TEST(expand(code, layers, nullptr, options).findings.empty());
    options.no_match = on_no_match::error;
    BOOST_CHECK_EXCEPTION(expand(code, layers, nullptr, options), error,
                          [](error const& e) { return e.code() == errc::unknown_key; });
}

BOOST_AUTO_TEST_CASE(the_statements_without_errors_are_expanded_all_the_same) {
    expansion const expansion = expand_all(
        parsed("w[2:1] -> x, axis=0\nl.$LAYER_ID.w -> m.$LAYER_ID.w\na -> b^T\nq.$A -> r\nc -> d"),
        layers);
    std::vector<std::string> messages;
    for (finding const& finding : expansion.findings)
        messages.push_back(finding.code);
    BOOST_TEST(messages == (std::vector<std::string>{"bad_macro", "bad_macro", "bad_macro"}),
               boost::test_tools::per_element());
    BOOST_TEST((expansion.first_error == errc::bad_macro));
    BOOST_TEST(expansion.is_complete);
    std::size_t sound = 0;
    for (statement const& statement : expansion.code.statements())
        sound += !expansion.code.is_broken(statement);
    BOOST_TEST(sound == 3u); // two layers, and the last one
}

BOOST_AUTO_TEST_CASE(a_limit_ends_the_expansion) {
    expand_options options;
    options.max_names = 4;
    expansion const expansion =
        expand_all(parsed("w[2:1] -> x, axis=0\nw[0:9] -> x, axis=0"), layers, nullptr, options);
    BOOST_TEST_REQUIRE(expansion.findings.size() == 2u);
    BOOST_TEST(expansion.findings[1].code == "limit_exceeded");
    BOOST_TEST(!expansion.is_complete);
    BOOST_CHECK_EXCEPTION(
        expand(parsed("w[2:1] -> x, axis=0\nw[0:9] -> x, axis=0"), layers, nullptr, options), error,
        [](error const& e) { return e.code() == errc::bad_macro; });
}

BOOST_AUTO_TEST_CASE(a_program_that_grows_too_large_is_refused) {
    expand_options options;
    options.max_names = 9;
    BOOST_CHECK_NO_THROW(expand(parsed("w[0:4] -> x, axis=0"), layers, nullptr, options));
    for (char const* text : {"w[0:5] -> x, axis=0", "w[0:999999999999] -> x, axis=0",
                             "q, k, v -> d, fused_qkv, num_heads=999999999, num_kv_heads=1"})
        BOOST_CHECK_EXCEPTION(expand(parsed(text), layers, nullptr, options), error,
                              [](error const& e) { return e.code() == errc::limit_exceeded; });
}

BOOST_AUTO_TEST_CASE(without_an_option_a_program_has_four_million_names_at_most) {
    BOOST_CHECK_EXCEPTION(expand(parsed("\nw[0:4194305] -> x, axis=0", "m.aoa"), layers), error,
                          says(errc::limit_exceeded,
                               "m.aoa:2:1: limit exceeded: the program has more than 4194304 "
                               "names after expansion (option max_names)\n"
                               "    w[0:4194305] -> x, axis=0\n"
                               "    ^"));
}

BOOST_AUTO_TEST_CASE(an_error_is_about_a_tensor) {
    auto const key = [](char const* text) {
        return expand_all(parsed(text), layers).findings.at(0).key;
    };
    BOOST_TEST(key("l.$L.w -> y.$L, dtype=\"F3\"") == "l.$L.w");
    BOOST_TEST(key("w[2:1] -> y, axis=0") == "w[2:1]");
    BOOST_TEST(key("_^T -> y") == "y");
    BOOST_TEST(key("g, u -> d, fused_ffn, axis=0, axis=1") == "g");
}

BOOST_AUTO_TEST_CASE(a_program_whose_names_grow_too_long_is_refused) {
    expand_options options;
    options.max_characters = 100;
    std::string const name(30, 'x');
    BOOST_CHECK_NO_THROW(expand(parsed("l.$L.w -> " + name + ".$L"), layers, nullptr, options));
    for (std::string const& text : {"l.$L.w -> " + name + name + ".$L", name + "[0:4] -> y, axis=0",
                                    "l.$L.w -> y.$L, permute=\"[" + std::string(60, ' ') + "0]\"",
                                    name + ", k, v -> d, fused_qkv, num_heads=4, num_kv_heads=1"})
        BOOST_CHECK_EXCEPTION(
            expand(parsed(text), layers, nullptr, options), error, [](error const& problem) {
                std::string_view const message = problem.what();
                return problem.code() == errc::limit_exceeded &&
                       message.find("the program has more than 100 characters after expansion "
                                    "(option max_characters)") != message.npos;
            });
}

BOOST_AUTO_TEST_CASE(a_program_that_takes_too_many_steps_is_refused) {
    expand_options options;
    options.max_steps = 4;
    char const* const twice = "l.$L.w -> x.$L\nl.$K.w -> y.$K"; // each is compared with two keys
    BOOST_CHECK_NO_THROW(expand(parsed(twice), layers, nullptr, options));
    options.max_steps = 3;
    BOOST_CHECK_EXCEPTION(expand(parsed(twice), layers, nullptr, options), error,
                          says(errc::limit_exceeded,
                               "program: limit exceeded: the program has more than 3 steps of "
                               "expansion (option max_steps)"));
}

BOOST_AUTO_TEST_CASE(a_temporary_is_no_name_that_a_user_can_write) {
    program const code = expand(parsed("a^T -> b\na_transpose_tmp -> c"), layers).code;
    auto const& last = code.statements().back();
    BOOST_TEST((code.left(last)[0].kind == aoa::name::kind_type::text));
    BOOST_TEST((code.right(code.statements()[0])[0].kind == aoa::name::kind_type::fresh));
}

BOOST_AUTO_TEST_CASE(each_statement_knows_which_macros_made_it) {
    program const code =
        expand(parsed("a -> b\n l.$LAYER_ID.w^T -> m.$LAYER_ID.w", "m.aoa"), layers).code;
    BOOST_TEST(macro_chain(code, code.statements()[0].origin).empty());
    std::vector<std::string> const expected = {"^T from m.aoa:2:2", "$LAYER_ID from m.aoa:2:2"};
    for (std::size_t i = 1; i < 5; ++i)
        BOOST_TEST(macro_chain(code, code.statements()[i].origin) == expected,
                   boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_name_that_decides_keeps_its_leading_zeros) {
    catalog const source({tensor("l.00.w", {}), tensor("l.0.w", {}), tensor("l.07.w", {})});
    BOOST_TEST((expand(parsed("l.$LAYER_ID.w -> m.$LAYER_ID.w"), source).code ==
                parsed("l.0.w -> m.0.w\nl.00.w -> m.0.w\nl.07.w -> m.7.w")));
}

BOOST_AUTO_TEST_CASE(state_alone_makes_a_layer_known) {
    catalog const source({tensor("l.0.w.moment1_0", {4})});
    BOOST_TEST((expand(parsed("l.$LAYER_ID.w -> m.$LAYER_ID.w"), source).code ==
                parsed("l.0.w -> m.0.w")));
}

BOOST_AUTO_TEST_CASE(statements_stay_in_order) {
    BOOST_TEST((expand(parsed("a -> b\nl.$LAYER_ID.w -> m.$LAYER_ID.w\nc -> d"), layers).code ==
                parsed("a -> b\nl.0.w -> m.0.w\nl.1.w -> m.1.w\nc -> d")));
}

BOOST_AUTO_TEST_SUITE_END()
