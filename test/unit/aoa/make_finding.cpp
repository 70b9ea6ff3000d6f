// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/make_finding.hpp>

#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/lower.hpp>

#include "aoa/language.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::aoa;
using namespace reshard::aoa::detail;
using reshard::test::parsed;

BOOST_AUTO_TEST_SUITE(aoa_make_finding)

namespace {

catalog layers_of_two() {
    std::vector<catalog_entry> entries;
    for (char const* key : {"l.0.g", "l.0.u", "l.1.g", "l.1.u"})
        entries.push_back(reshard::test::tensor(key, {4, 4}));
    return catalog(entries);
}

catalog const two_layers = layers_of_two();

/// Each layer: `g^T`, the two together, their parts, `d`.
program fused_layers() {
    return expand(parsed("l.$N.g^T, # turned\n  l.$N.u -> l.$N.d, fused_ffn"), two_layers).code;
}

} // namespace

BOOST_AUTO_TEST_CASE(statements_that_hang_together_by_temporaries_are_a_group) {
    program const code = fused_layers();
    BOOST_TEST_REQUIRE(code.statements().size() == 8u);
    for (std::size_t i = 0; i < 8; ++i) {
        auto const group = statement_group(code, code.statements()[i]).statements();
        BOOST_TEST(group.data() == &code.statements()[i / 4 * 4]);
        BOOST_TEST(group.size() == 4u);
    }
    statement const alone = code.statements()[2];
    BOOST_TEST(statement_group(code, alone).statements().size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_statement_of_macros_is_shown_as_it_was_written) {
    program const code = fused_layers();
    for (std::size_t i = 0; i < 8; ++i)
        BOOST_TEST(
            shown_statement(code, code.statements()[i]) ==
            (i < 4 ? "l.0.g^T, l.0.u -> l.0.d, fused_ffn" : "l.1.g^T, l.1.u -> l.1.d, fused_ffn"));
}

BOOST_AUTO_TEST_CASE(a_statement_that_reads_as_it_stands_in_the_text_is_not_shown) {
    program const code = expand(parsed("l.0.g^T -> d"), two_layers).code;
    BOOST_TEST(shown_statement(code, code.statements()[0]) == "");
    BOOST_TEST(shown_statement(code, code.statements()[1]) == "");
}

BOOST_AUTO_TEST_CASE(temporaries_are_called_by_what_they_are_made_of) {
    program const code = fused_layers();
    auto const shown = [&](std::size_t i, std::size_t k) {
        statement const& statement = code.statements()[i];
        return shown_name(code, statement, code.names(statement)[k]);
    };
    BOOST_TEST(shown(4, 0) == "l.1.g"); // l.1.g -> l.1.g^T
    BOOST_TEST(shown(4, 1) == "l.1.g^T");
    BOOST_TEST(shown(5, 2) == "l.1.g^T, l.1.u"); // l.1.g^T, l.1.u -> both
    BOOST_TEST(shown(6, 0) == "l.1.g^T, l.1.u"); // both -> parts
    BOOST_TEST(shown(7, 1) == "l.1.g^T, l.1.u"); // parts -> l.1.d
    BOOST_TEST(shown(7, 2) == "l.1.d");
    statement const& cut = code.statements()[6];
    BOOST_TEST(shown_key(code, cut, code.names(cut)[0]) == "l.1.g");
}

namespace {

/// The first error of a program over queries of [8, 6], keys and values of [4, 6].
std::string error_of(std::string const& text) {
    std::vector<catalog_entry> entries;
    for (char const* key : {"q", "k", "v"})
        entries.push_back(reshard::test::tensor(key, {key[0] == 'q' ? 8 : 4, 6}));
    catalog const source(entries);
    auto const findings = lower_all(expand(parsed(text), source).code, source).findings;
    auto const match = std::ranges::find(findings, severity::error, &finding::level);
    return match == findings.end() ? std::string() : match->message;
}

} // namespace

BOOST_AUTO_TEST_CASE(an_axis_that_a_macro_assumes_is_named) {
    std::string const hint =
        " without an axis takes axis 1; write axis=0 for biases and for weights of [out, in]";
    std::string const heads = ", num_heads=4, num_key_value_groups=2";
    BOOST_TEST(error_of("q, k, v -> x, fused_qkv" + heads) ==
               "fused_qkv cuts 'q' along axis 1 into 4 equal parts, but the extent there is 6; "
               "fused_qkv" +
                   hint);
    BOOST_TEST(error_of("q, k, v -> x, fused_qkv, axis=0" + heads) == "");
    BOOST_TEST(error_of("q, k, v -> x, fused_qkv, axis=1" + heads) ==
               "fused_qkv cuts 'q' along axis 1 into 4 equal parts, but the extent there is 6");
    BOOST_TEST(error_of("q, k -> x, fused_ffn").ends_with("; fused_ffn" + hint));
    BOOST_TEST(error_of("q, k -> x, fused_ffn, axis=0") == "");
}

BOOST_AUTO_TEST_SUITE_END()
