// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/macro/attempt.hpp>

#include "aoa/language.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::parsed;

BOOST_AUTO_TEST_SUITE(aoa_macro_attempt)

namespace {

/// A program with what macros work on.
struct attempt_at {
    explicit attempt_at(char const* text) : code(parsed(text)) {}

    aoa::program code;
    aoa::expand_options options;
    reshard::vector<aoa::finding> findings;
    aoa::macro_context context{code, nullptr, nullptr, options, findings};
};

[[noreturn]] void refuse_statement(attempt_at& at, errc code) {
    aoa::fail_in(at.code.statements()[0], {code, "no", {}});
}

} // namespace

BOOST_AUTO_TEST_CASE(a_step_without_an_error_leaves_the_statement_alone) {
    attempt_at at("a -> b");
    aoa::statement statement = at.code.statements()[0];
    aoa::detail::attempt(at.context, statement, [] {});
    BOOST_TEST(!at.code.is_broken(statement));
    BOOST_TEST(at.findings.empty());
}

BOOST_AUTO_TEST_CASE(an_error_is_a_finding_and_the_statement_keeps_its_names_alone) {
    attempt_at at("a^T, _ -> b, c, axis=0");
    aoa::statement statement = at.code.statements()[0];
    aoa::detail::attempt(at.context, statement, [&] { refuse_statement(at, errc::bad_macro); });
    BOOST_TEST(at.code.is_broken(statement));
    BOOST_TEST(at.code.attributes(statement).empty());
    BOOST_TEST_REQUIRE(statement.left == 1u); // nothing is not a name
    BOOST_TEST(at.code.text(at.code.left(statement)[0]) == "a");
    BOOST_TEST(!at.code.left(statement)[0].transposed);
    BOOST_TEST(statement.right == 2u);
    BOOST_TEST_REQUIRE(at.findings.size() == 1u);
    BOOST_TEST(at.findings[0].code == "bad_macro");
    BOOST_TEST((at.context.first_error == errc::bad_macro));
}

BOOST_AUTO_TEST_CASE(a_statement_that_needs_a_broken_one_is_broken_without_a_word) {
    attempt_at at("a -> b");
    aoa::statement statement = at.code.statements()[0];
    aoa::detail::attempt(at.context, statement, [] { throw aoa::no_value{}; });
    BOOST_TEST(at.code.is_broken(statement));
    BOOST_TEST(at.findings.empty());
    BOOST_TEST(!at.context.first_error);
}

BOOST_AUTO_TEST_CASE(what_a_step_had_appended_before_its_error_is_taken_back) {
    attempt_at at("a -> b\nc -> d");
    reshard::vector<aoa::statement> expanded{at.code.statements()[1]};
    aoa::detail::attempt(at.context, at.code.statements()[0], expanded,
                         [&](aoa::statement const& statement) {
                             expanded.push_back(statement);
                             expanded.push_back(statement);
                             throw aoa::statement_error{errc::bad_macro, "no", {}};
                         });
    BOOST_TEST_REQUIRE(expanded.size() == 2u);
    BOOST_TEST(!at.code.is_broken(expanded[0]));
    BOOST_TEST(at.code.is_broken(expanded[1]));
}

BOOST_AUTO_TEST_CASE(names_with_open_numbers_are_lost) {
    attempt_at at("a.$N, b -> c_$N, d, axis=0");
    aoa::statement statement = at.code.statements()[0];
    aoa::detail::attempt(at.context, statement, [&] { refuse_statement(at, errc::bad_macro); });
    BOOST_TEST_REQUIRE(at.context.lost.size() == 2u);
    BOOST_TEST(at.context.lost[0].is_read);
    BOOST_TEST(!at.context.lost[1].is_read);
    BOOST_TEST(statement.left == 1u);
    BOOST_TEST(statement.right == 1u);
}

BOOST_AUTO_TEST_CASE(a_limit_ends_everything) {
    attempt_at at("a -> b");
    aoa::statement statement = at.code.statements()[0];
    BOOST_CHECK_THROW(aoa::detail::attempt(at.context, statement,
                                           [&] { refuse_statement(at, errc::limit_exceeded); }),
                      aoa::detail::failed_statement);
    BOOST_TEST(!at.code.is_broken(statement));
}

BOOST_AUTO_TEST_SUITE_END()
