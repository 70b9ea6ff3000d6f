// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/key_pattern.hpp>

#include <boost/test/unit_test.hpp>

#include <reshard/core/vector.hpp>
#include <tuple>

BOOST_AUTO_TEST_SUITE(shard_key_pattern)

namespace {

bool matches(std::string const& pattern, std::string const& key) {
    return reshard::key_pattern(pattern).matches(key);
}

} // namespace

BOOST_AUTO_TEST_CASE(text_stands_for_itself) {
    BOOST_TEST(matches("a?b[0]", "a?b[0]"));
    BOOST_TEST(!matches("a.b", "a.bc"));
    BOOST_TEST(!matches("a.b", "xa.b"));
    BOOST_TEST(!matches("a.b", "axb"));
    BOOST_TEST(matches("", ""));
}

BOOST_AUTO_TEST_CASE(a_star_is_one_or_more_characters_without_a_dot) {
    BOOST_TEST(matches("layers.*.w", "layers.17.w"));
    BOOST_TEST(!matches("layers.*.w", "layers..w"));
    BOOST_TEST(!matches("layers.*.w", "layers.1.2.w"));
    BOOST_TEST(matches("a*b*c", "axbbyc"));
    BOOST_TEST(!matches("a*b", "ab"));
    BOOST_TEST(matches("*", "x"));
    BOOST_TEST(!matches("*", ""));
    BOOST_TEST(!matches("*", "."));
}

BOOST_AUTO_TEST_CASE(two_stars_are_anything) {
    BOOST_TEST(matches("**", ""));
    BOOST_TEST(matches("**", "a.b.c"));
    BOOST_TEST(matches("model.**.weight", "model.layers.0.mlp.weight"));
    BOOST_TEST(matches("model.**", "model."));
    BOOST_TEST(!matches("model.**", "model"));
    BOOST_TEST(matches("**.w", "a.b.w"));
    BOOST_TEST(!matches("**.w", "a.b.wx"));
    BOOST_TEST(matches("***", "a"));
    BOOST_TEST(!matches("***", "a."));
}

BOOST_AUTO_TEST_CASE(a_question_mark_at_the_end_says_that_nothing_need_match) {
    BOOST_TEST(matches("a.**?", "a.b"));
    BOOST_TEST(!matches("a.b?", "a.b?"));
    BOOST_TEST(reshard::key_pattern("a.b?").text() == "a.b");
    for (auto const& [pattern, key, is_missed] :
         {std::tuple("a.*", "a.b", false), std::tuple("a.*", "b", true),
          std::tuple("a.*?", "b", false)}) {
        reshard::vector<reshard::detail::given_pattern> patterns{
            reshard::detail::given_pattern(pattern)};
        BOOST_TEST(reshard::detail::match_any(patterns, key) == matches(pattern, key));
        BOOST_TEST(!reshard::detail::match_any(patterns, "no key"));
        BOOST_TEST((reshard::detail::first_missed(patterns) != nullptr) == is_missed);
    }
}

BOOST_AUTO_TEST_CASE(hostile_patterns_take_no_longer) {
    std::string pattern;
    for (int i = 0; i < 200; ++i)
        pattern += "**a";
    BOOST_TEST(!matches(pattern, std::string(199, 'a')));
    BOOST_TEST(matches(pattern, std::string(300, 'a')));
}

BOOST_AUTO_TEST_SUITE_END()
