// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/expand.hpp>

#include "aoa/language.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;
using reshard::test::parsed;
using reshard::test::tensor;

BOOST_AUTO_TEST_SUITE(aoa_lost_names)

namespace {

std::vector<std::string> texts_of(aoa::program const& code, std::span<aoa::name const> names) {
    std::vector<std::string> texts;
    for (aoa::name const& name : names)
        texts.emplace_back(code.text(name));
    std::ranges::sort(texts);
    return texts;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_broken_statement_with_open_numbers_says_what_it_may_have_meant) {
    catalog const source({tensor("l.0.w", {2}), tensor("l.0.w.w_0", {2}), tensor("l.12.w", {2}),
                          tensor("l.0.v", {2})});
    catalog const target({tensor("m.3.w", {2}), tensor("n", {2})});
    aoa::expansion const expansion =
        aoa::expand_all(parsed("l.$A.w -> m.$B.w\nm.7.w -> n"), source, &target);
    BOOST_TEST_REQUIRE(expansion.code.statements().size() == 3u);
    aoa::statement const& first = expansion.code.statements()[0];
    BOOST_TEST(expansion.code.is_broken(first));
    BOOST_TEST(texts_of(expansion.code, expansion.code.left(first)) ==
                   (std::vector<std::string>{"l.0.w", "l.12.w"}),
               boost::test_tools::per_element());
    BOOST_TEST(texts_of(expansion.code, expansion.code.right(first)) ==
                   (std::vector<std::string>{"m.3.w", "m.7.w"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_statement_is_added_only_where_names_are_lost) {
    catalog const source({tensor("a", {2})});
    BOOST_TEST(aoa::expand_all(parsed("a -> b"), source).code.statements().size() == 1u);
    BOOST_TEST(aoa::expand_all(parsed("a[1:1] -> b"), source).code.statements().size() == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
