// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/macro/pattern_index.hpp>

#include "aoa/patterns.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::aoa;
using namespace reshard::aoa::detail;
using reshard::test::parsed;
using reshard::test::pattern;
using reshard::test::tensor;

BOOST_AUTO_TEST_SUITE(aoa_macro_pattern_index)

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
    BOOST_TEST(std::ranges::equal(index.matches(k)[0].numbers, std::vector<index_t>{2}));
    BOOST_TEST(index.matches(none).empty());
}

BOOST_AUTO_TEST_CASE(matches_are_in_the_order_of_all_their_numbers) {
    pattern_index index;
    auto const match = index.add(pattern("$A.$B.$C.w"));
    catalog const keys({tensor("1.10.3.w", {}), tensor("1.2.10.w", {}), tensor("1.2.9.w", {}),
                        tensor("10.0.0.w", {}), tensor("9.0.0.w", {})});
    budget steps{1000, "steps", "max_steps"};
    index.search(keys, default_state_suffixes(), steps);
    std::vector<std::string_view> order;
    for (key_match const& key_match : index.matches(match))
        order.push_back(key_match.key);
    BOOST_TEST((order == std::vector<std::string_view>{"1.2.9.w", "1.2.10.w", "1.10.3.w", "9.0.0.w",
                                                       "10.0.0.w"}));
}

BOOST_AUTO_TEST_CASE(names_that_statements_make_count_where_no_key_matches) {
    pattern_index index;
    auto const keyed = index.add(pattern("l.$L.q")), result = index.add(pattern("t.$L.q"));
    catalog const keys({tensor("l.2.q", {})});
    budget steps{1000, "steps", "max_steps"};
    index.search(keys, default_state_suffixes(), steps);
    BOOST_TEST(index.has_open());
    for (char const* name : {"t.10.q", "l.3.q", "t.9.q", "t.x.q", "t.10.q"})
        index.add_made(name);
    BOOST_TEST(index.matches(keyed).size() == 1u);
    BOOST_TEST_REQUIRE(index.matches(result).size() == 2u);
    BOOST_TEST(index.matches(result)[0].key == "t.9.q");
    BOOST_TEST(index.matches(result)[1].key == "t.10.q");
    index.add_made("t.1.q");
    BOOST_TEST(index.matches(result).size() == 3u);
    BOOST_TEST(index.matches(result)[0].key == "t.1.q");
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

BOOST_AUTO_TEST_CASE(a_key_with_the_fixed_numbers_of_others_is_not_compared) {
    pattern_index index;
    for (int i = 0; i < 100; ++i)
        index.add(pattern("l." + std::to_string(i) + ".$E.w"));
    catalog const keys({tensor("l.7.0.w", {}), tensor("l.7.1.w", {}), tensor("l.100.0.w", {})});
    budget steps{1000, "steps", "max_steps"};
    index.search(keys, default_state_suffixes(), steps);
    BOOST_TEST(steps.spent == 3u);
    BOOST_TEST(index.matches(7).size() == 2u);
    BOOST_TEST(index.matches(10).empty());
}

BOOST_AUTO_TEST_CASE(the_same_number_written_in_two_ways_is_two_keys) {
    pattern_index index;
    auto const elements = index.add(pattern("l.$L.q"));
    catalog const keys({tensor("l.1.q", {}), tensor("l.01.q", {}), tensor("l.0.q", {})});
    budget steps{1000, "steps", "max_steps"};
    index.search(keys, default_state_suffixes(), steps);
    BOOST_TEST_REQUIRE(index.matches(elements).size() == 3u);
    BOOST_TEST(!same_numbers(index.matches(elements)[0], index.matches(elements)[1]));
    BOOST_TEST(same_numbers(index.matches(elements)[1], index.matches(elements)[2]));
}

BOOST_AUTO_TEST_SUITE_END()
