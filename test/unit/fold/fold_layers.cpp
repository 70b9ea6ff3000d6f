// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "fold/fold_layers.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using namespace tool;

BOOST_AUTO_TEST_SUITE(fold_layers)

namespace {

bool is_tensor(std::string const& name) { return name.find("tmp") == name.npos; }

/// What texts become; all that can be folded is.
name_list folded(name_list const& lines) {
    return texts_of(by_layers(lines_of(lines), is_tensor, [](std::size_t) { return true; }));
}

using texts = name_list;

} // namespace

BOOST_AUTO_TEST_CASE(statements_of_all_layers_are_one) {
    BOOST_TEST(folded({"l.0.a -> m.0.b", "x -> y", "l.1.a -> m.1.b"}) ==
               (texts{"l.$LAYER_ID.a -> m.$LAYER_ID.b", "x -> y"}));
}

BOOST_AUTO_TEST_CASE(numbers_that_go_together_differ_by_the_same) {
    BOOST_TEST(folded({"l.1.a -> m.0.b", "l.2.a -> m.1.b"}) ==
               texts{"l.$LAYER_ID.a -> m.$LAYER_ID - 1.b"});
    BOOST_TEST(folded({"l.1.a -> m.4.b", "l.2.a -> m.5.b"}) ==
               texts{"l.$LAYER_ID.a -> m.$LAYER_ID + 3.b"});
}

BOOST_AUTO_TEST_CASE(numbers_that_vary_apart_have_two_placeholders_and_no_more) {
    BOOST_TEST(folded({"l.0.e.1.a -> b.0.1", "l.0.e.2.a -> b.0.2", "l.1.e.1.a -> b.1.1"}) ==
               texts{"l.$LAYER_ID.e.$EXPERT_ID.a -> b.$LAYER_ID.$EXPERT_ID"});
    texts const three{"l.0.0.0.a -> b", "l.0.0.1.a -> b", "l.0.1.0.a -> b", "l.1.0.0.a -> b"};
    BOOST_TEST(folded(three) == three);
}

BOOST_AUTO_TEST_CASE(numbers_that_are_parts_of_words_stay) {
    texts const apart{"fc1.w -> a1", "fc2.w -> a2", "l.01.w -> b", "l.02.w -> b"};
    BOOST_TEST(folded(apart) == apart);
}

BOOST_AUTO_TEST_CASE(a_number_that_exceeds_64_bits_stays) {
    texts const apart{"l.99999999999999999998 -> a", "l.99999999999999999999 -> a"};
    BOOST_TEST(count_groups(lines_of(apart)) == 1u);
    BOOST_TEST(folded(apart) == apart);
}

BOOST_AUTO_TEST_CASE(other_attributes_are_other_groups) {
    texts const apart{"l.0.a -> m.0.b, dtype=\"bfloat16\"", "l.1.a -> m.1.b"};
    BOOST_TEST(count_groups(lines_of(apart)) == 2u);
    BOOST_TEST(folded(apart) == apart);
}

// The temporary of layer 2 is made after the statement that reads layer 3's.
BOOST_AUTO_TEST_CASE(what_reads_temporaries_stands_behind_all_that_make_them) {
    BOOST_TEST(folded({"n -> tmp.3", "tmp.3 -> m.3", "l.1 -> tmp.1", "tmp.1 -> m.1", "l.2 -> tmp.2",
                       "tmp.2^T -> m.2", "tmp.2 -> m.2"}) ==
               (texts{"n -> tmp.3", "l.$LAYER_ID -> tmp.$LAYER_ID", "tmp.2^T -> m.2",
                      "tmp.$LAYER_ID -> m.$LAYER_ID"}));
}

BOOST_AUTO_TEST_CASE(a_group_can_be_left_as_it_is) {
    auto const lines = lines_of({"l.0.a -> b.0", "l.0.c -> d.0", "l.1.a -> b.1", "l.1.c -> d.1"});
    BOOST_TEST(count_groups(lines) == 2u);
    BOOST_TEST(texts_of(by_layers(lines, is_tensor, [](std::size_t i) { return i == 1; })) ==
               (texts{"l.0.a -> b.0", "l.$LAYER_ID.c -> d.$LAYER_ID", "l.1.a -> b.1"}));
}

BOOST_AUTO_TEST_CASE(names_are_quoted_where_they_have_to_be) {
    texts const quoted{"\"a b\", c^T -> \"d+e\", axis=0, dtype=\"bfloat16\"", "_ -> x", "y -> _"};
    BOOST_TEST(texts_of(lines_of(quoted)) == quoted);
}

BOOST_AUTO_TEST_SUITE_END()
