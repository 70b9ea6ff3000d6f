// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/make_finding.hpp>

#include "aoa/language.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::aoa;
using namespace reshard::aoa::detail;
using reshard::test::parsed;

BOOST_AUTO_TEST_SUITE(aoa_diagnostic)

namespace {

/// `w -> d` at the second line, with a statement that two macros made of it.
program expanded() {
    program code = parsed("# one\nw -> d, fused_ffn\n", "m.aoa");
    statement statement = code.statements()[0];
    statement.origin = code.make_origin({"$LAYER_ID", statement.origin, statement.where});
    statement.origin = code.make_origin({"fused_ffn", statement.origin, statement.where});
    aoa::name const w = code.make_text("w.0"), d = code.make_fresh("t");
    statement.attributes = 0;
    code.replace_statements({code.make_statement({&w, 1}, {&d, 1}, statement)});
    return code;
}

} // namespace

BOOST_AUTO_TEST_CASE(an_error_shows_place_line_caret_and_the_chain_of_macros) {
    program const code = expanded();
    finding const finding =
        make_finding(code, code.statements()[0], {errc::shape_mismatch, "it does not fit", {}});
    BOOST_TEST(describe(code, finding) ==
               "m.aoa:2:1: shape mismatch: it does not fit, in the statement  w.0 -> t\n"
               "    w -> d, fused_ffn\n"
               "    ^\n"
               "  expanded by fused_ffn from m.aoa:2:1\n"
               "  expanded by $LAYER_ID from m.aoa:2:1");
}

BOOST_AUTO_TEST_CASE(other_words_may_say_what_a_finding_is) {
    program const code = parsed("w -> d", "m.aoa");
    finding const finding{severity::warning, "no_match", "w", "nothing happens", {0, 6}, 0};
    BOOST_TEST(describe_as(code, finding, "") == "m.aoa:1:1: nothing happens\n    w -> d\n    ^");
    BOOST_TEST(kind_of(finding) == "warning");
    BOOST_TEST(kind_of({severity::error, "bad_macro", {}, {}, {}, 0}) == "bad macro");
}

BOOST_AUTO_TEST_CASE(an_error_in_a_statement_of_the_user_stands_at_its_own_place) {
    program const code = parsed("w -> d, axis=7", "m.aoa");
    auto const where = code.attributes(code.statements()[0])[0].where;
    finding const finding =
        make_finding(code, code.statements()[0], {errc::shape_mismatch, "no axis 7", where, "w"});
    BOOST_TEST(describe(code, finding) ==
               "m.aoa:1:9: shape mismatch: no axis 7\n    w -> d, axis=7\n            ^");
    BOOST_TEST(finding.code == "shape_mismatch");
    BOOST_TEST(finding.key == "w");
    BOOST_TEST((finding.level == severity::error));
}

BOOST_AUTO_TEST_CASE(a_warning_says_that_it_is_one) {
    program const code = parsed("w -> d", "m.aoa");
    BOOST_TEST(
        describe(code, {severity::warning, "no_effect", "w", "nothing happens", {0, 6}, 0}) ==
        "m.aoa:1:1: warning: nothing happens\n    w -> d\n    ^");
    BOOST_TEST(name_of(severity::note) == "note");
}

BOOST_AUTO_TEST_CASE(a_finding_without_a_place_names_the_file_only) {
    program const code = parsed("w -> d", "m.aoa");
    BOOST_TEST(describe(code, {severity::error, "unknown_key", "n", "no 'n'", {}, 0}) ==
               "m.aoa: unknown key: no 'n'");
    BOOST_TEST(describe(program(), {severity::error, "unknown_key", "n", "no 'n'", {}, 0}) ==
               "program: unknown key: no 'n'");
}

BOOST_AUTO_TEST_CASE(a_long_statement_is_cut) {
    program code = expanded();
    aoa::name const d = code.make_text("d"), w = code.make_text(std::string(500, 'w'));
    statement const statement = code.make_statement({&w, 1}, {&d, 1}, code.statements()[0]);
    std::string const message = make_finding(code, statement, {errc::io, "x", {}}).message;
    BOOST_TEST(message == "x, in the statement  " + std::string(160, 'w') + "...");
}

BOOST_AUTO_TEST_SUITE_END()
