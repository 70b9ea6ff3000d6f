// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/words.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard::aoa;
using namespace reshard::aoa::detail;

BOOST_AUTO_TEST_SUITE(aoa_words)

BOOST_AUTO_TEST_CASE(the_words_of_the_original_are_reserved) {
    for (char const* word :
         {"axis", "fused_ffn", "fused_qkv_old", "num_heads", "num_key_value_groups", "permute",
          "dtype", "fused_qkv", "src_dtype", "dst_dtype", "reshape"})
        BOOST_TEST(is_reserved(word), word);
}

BOOST_AUTO_TEST_CASE(the_words_of_this_library_take_no_name_away) {
    for (char const* word : {"sizes", "slice", "resize", "num_q_heads", "num_kv_heads", "fused"}) {
        BOOST_TEST(!is_reserved(word), word);
        BOOST_TEST(find_attribute_word(word) != nullptr, word);
    }
    BOOST_TEST(find_attribute_word("axes") == nullptr);
}

BOOST_AUTO_TEST_CASE(a_word_says_what_stands_behind_it) {
    BOOST_TEST((find_attribute_word("fused_ffn")->value == value_kind::none));
    BOOST_TEST((find_attribute_word("axis")->value == value_kind::number));
    BOOST_TEST((find_attribute_word("sizes")->value == value_kind::text));
}

BOOST_AUTO_TEST_CASE(letters_digits_underscore_and_dot_need_no_quotes) {
    for (char const c : {'a', 'Z', '0', '_', '.'})
        BOOST_TEST(is_plain_char(c));
    for (char const c : {'-', '/', '*', '$', '^', ' ', '\xc3'})
        BOOST_TEST(!is_plain_char(c));
}

BOOST_AUTO_TEST_SUITE_END()
