// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/define_outputs.hpp>

#include "aoa/language.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::aoa;
using namespace reshard::aoa::detail;

BOOST_AUTO_TEST_SUITE(aoa_missing_key)

namespace {

/// A program whose statements have all matched nothing.
program unmatched(std::string const& text) {
    program code = test::parsed(text, "m.aoa");
    for (statement const& statement : code.statements())
        code.add_unmatched(statement);
    code.replace_statements({});
    return code;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_statement_that_would_make_a_key_is_named) {
    program const code = unmatched("a.$L -> b.$L\nx.$L.e.$E -> y.$L.e.$E, z.$L.$E, axis=0");
    missing_makers makers(code);
    BOOST_TEST(makers.advice("b.7") ==
               "the statement at m.aoa:1:1 would make it, but its placeholders match nothing");
    BOOST_TEST(makers.advice("z.0.12") ==
               "the statement at m.aoa:2:1 would make it, but its placeholders match nothing");
}

BOOST_AUTO_TEST_CASE(other_statements_that_match_nothing_are_counted) {
    program const two = unmatched("a.$L -> b.$L\nc.$L -> d.$L");
    BOOST_TEST(missing_makers(two).advice("n-1") ==
               "the placeholders of 2 statements match nothing, the first at m.aoa:1:1; or write  "
               "_ -> \"n-1\"  if it has no source");
}

BOOST_AUTO_TEST_CASE(where_every_statement_matches_the_key_is_to_be_added) {
    BOOST_TEST(missing_makers(test::parsed("a -> b")).advice("n") ==
               "write  _ -> n  if it has no source");
}

BOOST_AUTO_TEST_CASE(a_name_whose_numbers_touch_is_no_key) {
    program const code = unmatched("a.$L.$E -> b$L$E");
    BOOST_TEST(missing_makers(code).advice("b12").starts_with("the placeholders of 1 statement"));
}

BOOST_AUTO_TEST_SUITE_END()
