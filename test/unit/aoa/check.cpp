// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/check.hpp>

#include "aoa/language.hpp"

#include <boost/test/unit_test.hpp>

// The output of a check is in the goldens, test/aoa/check. Here: the cases that goldens cannot
// show.

using namespace reshard;
using reshard::test::parsed;
using reshard::test::tensor;

BOOST_AUTO_TEST_SUITE(aoa_check)

namespace {

catalog const checked_tensors({tensor("a", {4}), tensor("b", {4}), tensor("e.0.w", {2}),
                               tensor("e.1.w", {2})});

aoa::program_report report_of(char const* text, catalog const* target = nullptr) {
    return aoa::check(parsed(text, "m.aoa"), checked_tensors, target);
}

std::vector<std::string> codes_of(aoa::program_report const& report) {
    std::vector<std::string> codes;
    for (aoa::finding const& finding : report.findings)
        codes.push_back(finding.code);
    return codes;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_check_never_throws_and_says_all) {
    aoa::program_report const report =
        report_of("zz -> x\nw[1:1] -> y, axis=0\na, e.0.w -> z, axis=3");
    BOOST_TEST(codes_of(report) ==
                   (std::vector<std::string>{"unknown_key", "bad_macro", "shape_mismatch"}),
               boost::test_tools::per_element());
    BOOST_TEST(!report.ok());
    BOOST_TEST(!report.invertible());
    BOOST_TEST(aoa::why_not_invertible(report) == "the program has errors");
    BOOST_TEST(report.losses.empty());
}

BOOST_AUTO_TEST_CASE(an_expansion_that_a_limit_ends_is_not_lowered) {
    aoa::check_options options;
    options.expanding.max_names = 3;
    auto const check =
        aoa::check(parsed("zz -> x\nw[0:9] -> y, axis=0"), checked_tensors, nullptr, options);
    BOOST_TEST(codes_of(check) == std::vector<std::string>{"limit_exceeded"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_can_be_undone_has_no_losses) {
    aoa::program_report const report = report_of("a, b -> c, axis=0");
    BOOST_TEST(report.findings.empty());
    BOOST_TEST(report.invertible());
    BOOST_TEST(aoa::why_not_invertible(report) == "");
    BOOST_TEST(report.keys.identity == (std::vector<std::string>{"e.0.w", "e.1.w"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(each_loss_names_the_statement_that_destroys) {
    aoa::program_report const report = report_of("a -> t\n"
                                                 "t -> u, dtype='bfloat16', dtype='float32'\n"
                                                 "u -> v, permute='[0]'\n"
                                                 "b -> _");
    BOOST_TEST_REQUIRE(report.losses.size() == 2u);
    BOOST_TEST(aoa::detail::place_text(report.code, report.losses[0].where) == "m.aoa:2:1");
    BOOST_TEST(report.losses[0].text == "is rounded on the way from float32 to bfloat16");
    BOOST_TEST(aoa::detail::place_text(report.code, report.losses[1].where) == "m.aoa:4:1");
    BOOST_TEST(report.losses[1].text == "is removed");
    BOOST_TEST(aoa::why_not_invertible(report) ==
               "'a' is rounded on the way from float32 to bfloat16 (the statement at m.aoa:2:1); "
               "and 1 more");
}

BOOST_AUTO_TEST_CASE(of_a_program_with_errors_classes_are_what_can_be_told) {
    aoa::program_report const report = report_of("a -> c\nzz -> d");
    BOOST_TEST(report.keys.renamed == std::vector<std::string>{"c"},
               boost::test_tools::per_element());
    BOOST_TEST(report.keys.identity == (std::vector<std::string>{"b", "e.0.w", "e.1.w"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(findings_of_one_name_are_one) {
    catalog const target({tensor("a", {4}), tensor("b", {4})});
    aoa::program_report const report = report_of("e.$N.w -> f.$N", &target);
    BOOST_TEST_REQUIRE(report.findings.size() == 1u);
    BOOST_TEST(report.findings[0].code == "not_used");
    BOOST_TEST(report.findings[0].message ==
               "nothing reads 'f.0' and 1 more, and the target does not want them");
}

BOOST_AUTO_TEST_CASE(many_unknown_keys_are_not_all_searched_for) {
    std::string text;
    for (char const first : std::string("bcdefghijklmnopqrstuvwxyz"))
        for (char const second : std::string("bcdefg"))
            text += std::string("mode") + first + second + " -> x_" + first + second + "\n";
    catalog const source({tensor("model.a", {1}), tensor("modeaa", {1})});
    std::size_t suggested = 0;
    for (aoa::finding const& finding : aoa::check(parsed(text), source).findings)
        suggested += finding.message.find("did you mean 'modeaa'?") != std::string::npos;
    BOOST_TEST(suggested == 32u);
}

BOOST_AUTO_TEST_SUITE_END()
