// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/macro/key_pattern.hpp>

#include "aoa/language.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::aoa;
using reshard::test::parsed;
using reshard::test::tensor;
using numbers = std::vector<index_t>;

BOOST_AUTO_TEST_SUITE(aoa_macro_key_pattern)

namespace {

/// The pattern of a name in which each placeholder is captured, in the order in which they stand.
key_pattern pattern(std::string const& text) {
    program const code = parsed(text + " -> target");
    std::size_t next = 0;
    return make_key_pattern(code.pattern(code.left(code.statements()[0])[0]),
                            [&](segment const& one) -> std::optional<std::size_t> {
                                if (one.kind != segment::kind_type::placeholder)
                                    return std::nullopt;
                                return next++;
                            });
}

std::optional<numbers> match(std::string const& text, std::string_view key) {
    return aoa::detail::match(pattern(text), key);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_placeholder_is_one_or_more_digits) {
    BOOST_TEST((match("l.$L.w", "l.12.w") == numbers{12}));
    for (char const* key : {"l..w", "l.x.w", "l.1x.w", "l.1.w2", "xl.1.w", "l.1", "l.-1.w", ""})
        BOOST_TEST(!match("l.$L.w", key).has_value(), key);
}

BOOST_AUTO_TEST_CASE(digits_of_the_text_next_to_a_placeholder_stay_text) {
    BOOST_TEST((match("w1$L", "w123") == numbers{23}));
    BOOST_TEST((match("\"w$L\"", "w123") == numbers{123}));
    BOOST_TEST((match("l.$L.x0.$E", "l.3.x0.4") == numbers{3, 4}));
    BOOST_TEST(!match("w1$L", "w1").has_value());
    BOOST_TEST(
        (aoa::detail::match({{{"w", true, 0}, {"2.x", false, {}}}, 1}, "w122.x") == numbers{12}));
    BOOST_TEST(!aoa::detail::match({{{"w", true, 0}, {"2.x", false, {}}}, 1}, "w2.x").has_value());
}

BOOST_AUTO_TEST_CASE(a_star_and_an_array_match_and_are_forgotten) {
    BOOST_TEST((match("l.$L.e.*.w", "l.3.e.17.w") == numbers{3}));
    BOOST_TEST((match("l.$L.w[0:4]", "l.3.w_2") == numbers{3}));
}

BOOST_AUTO_TEST_CASE(a_number_of_more_than_18_digits_is_none) {
    BOOST_TEST((match("l$L", "l999999999999999999") == numbers{999999999999999999}));
    BOOST_TEST(!match("l$L", "l1000000000000000000").has_value());
}

BOOST_AUTO_TEST_CASE(two_open_numbers_may_not_touch) {
    BOOST_CHECK_THROW(pattern("l$A$B"), statement_error);
    BOOST_CHECK_THROW(pattern("l$A*"), statement_error);
    BOOST_CHECK_NO_THROW(pattern("l$A.$B"));
}

BOOST_AUTO_TEST_CASE(one_search_answers_for_all_patterns) {
    pattern_index index;
    auto const q = index.add(pattern("l.$L.q")), k = index.add(pattern("l.$L.k")),
               none = index.add(pattern("m.$L.k"));
    catalog const keys({tensor("l.10.q", {}), tensor("l.2.q", {}), tensor("l.2.k", {}),
                        tensor("l.x.q", {}), tensor("l.3.q.moment1_0", {}),
                        tensor("l.2.q.w_0", {})});
    budget steps{1000, "steps", "max_steps"};
    index.search(keys, default_state_suffixes(), steps);
    BOOST_TEST(steps.spent == 5u); // l.x.q is like no pattern
    BOOST_TEST_REQUIRE(index.matches(q).size() == 3u);
    BOOST_TEST(index.matches(q)[0].key == "l.2.q");
    BOOST_TEST(index.matches(q)[1].key == "l.3.q");
    BOOST_TEST(index.matches(q)[2].key == "l.10.q");
    BOOST_TEST_REQUIRE(index.matches(k).size() == 1u);
    BOOST_TEST((index.matches(k)[0].numbers == numbers{2}));
    BOOST_TEST(index.matches(none).empty());
}

BOOST_AUTO_TEST_CASE(names_that_statements_make_count_where_no_key_matches) {
    pattern_index index;
    auto const keyed = index.add(pattern("l.$L.q")), made = index.add(pattern("t.$L.q"));
    catalog const keys({tensor("l.2.q", {})});
    budget steps{1000, "steps", "max_steps"};
    index.search(keys, default_state_suffixes(), steps);
    BOOST_TEST(index.has_open());
    for (char const* name : {"t.10.q", "l.3.q", "t.9.q", "t.x.q", "t.10.q"})
        index.add_made(name);
    BOOST_TEST(index.matches(keyed).size() == 1u);
    BOOST_TEST_REQUIRE(index.matches(made).size() == 2u);
    BOOST_TEST(index.matches(made)[0].key == "t.9.q");
    BOOST_TEST(index.matches(made)[1].key == "t.10.q");
    index.add_made("t.1.q");
    BOOST_TEST(index.matches(made).size() == 3u);
    BOOST_TEST(index.matches(made)[0].key == "t.1.q");
}

BOOST_AUTO_TEST_CASE(where_every_pattern_has_a_key_no_name_is_looked_at) {
    pattern_index index;
    index.add(pattern("l.$L.q"));
    catalog const keys({tensor("l.2.q", {})});
    budget steps{1000, "steps", "max_steps"};
    index.search(keys, default_state_suffixes(), steps);
    BOOST_TEST(!index.has_open());
}

BOOST_AUTO_TEST_CASE(a_search_that_takes_too_many_steps_is_given_up) {
    pattern_index index;
    index.add(pattern("l.$L.q"));
    index.add(pattern("l.*.q"));
    catalog const keys({tensor("l.1.q", {}), tensor("l.2.q", {})});
    budget enough{4, "steps", "max_steps"}, too_few{3, "steps", "max_steps"};
    BOOST_CHECK_NO_THROW(index.search(keys, default_state_suffixes(), enough));
    BOOST_CHECK_THROW(index.search(keys, default_state_suffixes(), too_few), error);
}

BOOST_AUTO_TEST_SUITE_END()
