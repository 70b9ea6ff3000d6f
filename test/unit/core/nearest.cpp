// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/key_index.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(core_nearest)

namespace {

std::vector<std::string> const keys = {"lm_head.weight", "model.embed.weight",
                                       "model.layers.1.mlp.up.weight",
                                       "model.layers.2.mlp.up.weight", "model.norm.weight"};

} // namespace

BOOST_AUTO_TEST_CASE(a_distance_counts_what_has_to_be_typed_anew) {
    BOOST_TEST(edit_distance("axis", "axis", 4) == 0u);
    BOOST_TEST(edit_distance("axs", "axis", 4) == 1u);   // inserted
    BOOST_TEST(edit_distance("aixis", "axis", 4) == 1u); // removed
    BOOST_TEST(edit_distance("axes", "axis", 4) == 1u);  // replaced
    BOOST_TEST(edit_distance("aixs", "axis", 4) == 1u);  // exchanged
    BOOST_TEST(edit_distance("kitten", "sitting", 7) == 3u);
    BOOST_TEST(edit_distance("abcdef", "badcfe", 6) == 3u); // three exchanges
    BOOST_TEST(edit_distance("", "abc", 3) == 3u);
    BOOST_TEST(edit_distance("", "", 0) == 0u);
}

BOOST_AUTO_TEST_CASE(a_distance_beyond_the_limit_is_one_more_than_that) {
    BOOST_TEST(edit_distance("kitten", "sitting", 2) == 3u);
    BOOST_TEST(edit_distance("abc", "xyz", 1) == 2u);
    BOOST_TEST(edit_distance("abc", "abd", 0) == 1u);
    BOOST_TEST(edit_distance("a", "abcdefgh", 3) == 4u);
}

BOOST_AUTO_TEST_CASE(a_slip_of_the_pen_is_found) {
    BOOST_TEST(did_you_mean_key("model.norm.weigth", keys) ==
               " (did you mean 'model.norm.weight'?)");
    BOOST_TEST(did_you_mean_key("model.nrom.weigt", keys) ==
               " (did you mean 'model.norm.weight'?)");
    BOOST_TEST(did_you_mean_key("lm_head_weight", keys) == " (did you mean 'lm_head.weight'?)");
    std::vector<std::pair<std::string, int>> const pairs = {{"axis", 1}, {"dtype", 2}};
    BOOST_TEST(did_you_mean("axsi", pairs, &std::pair<std::string, int>::first) ==
               " (did you mean 'axis'?)");
}

BOOST_AUTO_TEST_CASE(what_is_far_is_not_suggested) {
    BOOST_TEST(did_you_mean_key("optimizer.step", keys) == "");
    BOOST_TEST(did_you_mean_key("", keys) == "");
    BOOST_TEST(did_you_mean("b", std::vector<std::string>{"a", "c"}) == "");
    BOOST_TEST(did_you_mean("x", std::vector<std::string>{}) == "");
    std::string const endless(100'000, 'a');
    BOOST_TEST(did_you_mean(endless, std::vector<std::string>{endless + "b"}) == "");
}

BOOST_AUTO_TEST_CASE(another_layer_is_no_slip_of_the_pen) {
    BOOST_TEST(did_you_mean_key("model.layers.3.mlp.up.weight", keys) == "");
    BOOST_TEST(did_you_mean_key("model.layers.2.mlp.pu.weight", keys) ==
               " (did you mean 'model.layers.2.mlp.up.weight'?)");
    BOOST_TEST(did_you_mean("float23", std::vector<std::string>{"float16", "float32"}) ==
               " (did you mean 'float32'?)");
}

BOOST_AUTO_TEST_CASE(the_nearest_one_is_suggested_and_of_equals_the_first) {
    std::vector<std::string> const words = {"abcdefgx", "abcdefg", "abcdefgy"};
    BOOST_TEST(did_you_mean("abcdefgh", words) == " (did you mean 'abcdefgx'?)");
    std::vector<std::string> const others = {"abcdexyh", "abcdefg"};
    BOOST_TEST(did_you_mean("abcdefgh", others) == " (did you mean 'abcdefg'?)");
}

BOOST_AUTO_TEST_CASE(only_so_many_texts_are_compared) {
    nearest_text search("abcdefghij", false);
    for (int i = 0; i < 5000; ++i)
        search.look_at("jihgfedcba"); // the same letters, so that none is passed over
    search.look_at("abcdefghij");
    BOOST_TEST(search.question() == "");
}

BOOST_AUTO_TEST_CASE(a_text_may_stand_for_another_one) {
    nearest_text search("l.0.w", true);
    search.look_at("l.0.v", "l.17.v");
    BOOST_TEST(search.question() == " (did you mean 'l.17.v'?)");
}

BOOST_AUTO_TEST_SUITE_END()
