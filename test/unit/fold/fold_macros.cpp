// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "fold/fold_macros.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using namespace tool;

BOOST_AUTO_TEST_SUITE(fold_macros)

namespace {

/// Temporaries are called t and something.
name_list folded(name_list const& lines) {
    return texts_of(
        with_macros(lines_of(lines), [](std::string const& name) { return name[0] != 't'; }));
}

using texts = name_list;

} // namespace

BOOST_AUTO_TEST_CASE(a_fused_tensor_is_taken_apart_and_put_together) {
    BOOST_TEST(folded({"w -> tg0, tu0, tg1, tu1, axis=0", "tg0, tg1 -> g, axis=0",
                       "tu0, tu1 -> u, axis=0"}) == texts{"w -> g, u, fused_ffn, axis=0"});
    BOOST_TEST(folded({"g -> tg0, tg1, axis=1", "u -> tu0, tu1, axis=1",
                       "tg0, tu0, tg1, tu1 -> w, axis=1"}) == texts{"g, u -> w, fused_ffn"});
    BOOST_TEST(folded({"w -> tg, tu, axis=0", "tg -> g", "tu -> u"}) ==
               texts{"w -> g, u, fused_ffn, axis=0"});
}

BOOST_AUTO_TEST_CASE(pieces_that_are_not_interleaved_are_no_macro) {
    texts const apart{"w -> tg0, tg1, tu0, tu1, axis=0", "tg0, tg1 -> g, axis=0",
                      "tu0, tu1 -> u, axis=0"};
    BOOST_TEST(folded(apart) == apart);
}

BOOST_AUTO_TEST_CASE(other_axes_are_no_macro) {
    texts const apart{"w -> tg0, tu0, tg1, tu1, axis=0", "tg0, tg1 -> g, axis=1",
                      "tu0, tu1 -> u, axis=1"};
    BOOST_TEST(folded(apart) == apart);
}

// 4 heads of the queries, 2 of keys and values: one group of a head of the keys, or both in one.
BOOST_AUTO_TEST_CASE(heads_are_found_by_their_order) {
    texts const others{"tq0, tq1, tq2, tq3 -> q, axis=0", "tk0, tk1 -> k, axis=0",
                       "tv0, tv1 -> v, axis=0"};
    texts by_head = others, by_part = others;
    by_head.insert(by_head.begin(), "w -> tq0, tq1, tk0, tv0, tq2, tq3, tk1, tv1, axis=0");
    by_part.insert(by_part.begin(), "w -> tq0, tq1, tq2, tq3, tk0, tk1, tv0, tv1, axis=0");
    BOOST_TEST(folded(by_head) ==
               texts{"w -> q, k, v, fused_qkv, num_heads=4, num_key_value_groups=2, axis=0"});
    BOOST_TEST(folded(by_part) ==
               texts{"w -> q, k, v, fused_qkv_old, num_heads=4, num_key_value_groups=2, axis=0"});
}

BOOST_AUTO_TEST_CASE(pieces_may_be_one_tensor_that_is_split) {
    BOOST_TEST(folded({"w -> tg0, tu0, tg1, tu1, axis=0", "tg0, tg1, tu0, tu1 -> t, axis=0",
                       "t -> g, u, axis=0"}) == texts{"w -> g, u, fused_ffn, axis=0"});
    texts qkv{"w -> tq0, tq1, tk0, tv0, tq2, tq3, tk1, tv1, axis=0",
              "tq0, tq1, tq2, tq3, tk0, tk1, tv0, tv1 -> t, axis=0",
              "t -> q, k, v, axis=0, sizes=\"[8, 4, 4]\""};
    BOOST_TEST(folded(qkv) ==
               texts{"w -> q, k, v, fused_qkv, num_heads=4, num_key_value_groups=2, axis=0"});
    qkv.back() = "t -> q, k, v, axis=0, sizes=\"[7, 5, 4]\""; // between the pieces
    BOOST_TEST(folded(qkv) == qkv);
}

BOOST_AUTO_TEST_CASE(a_transpose_is_written_at_its_operand) {
    BOOST_TEST(folded({"a -> b, permute=\"[]\""}) == texts{"a^T -> b"});
    BOOST_TEST(folded({"a -> t, permute=\"[]\"", "t, b -> c, axis=0"}) ==
               texts{"a^T, b -> c, axis=0"});
    BOOST_TEST(folded({"a -> t", "t -> b, permute=\"[1, 0]\""}) ==
               texts{"a -> b, permute=\"[1, 0]\""});
}

BOOST_AUTO_TEST_CASE(what_is_read_twice_is_kept) {
    texts const twice{"a -> t", "t -> b", "t -> c"};
    BOOST_TEST(folded(twice) == twice);
}

BOOST_AUTO_TEST_CASE(a_name_that_is_made_again_is_another_one) {
    BOOST_TEST(folded({"w -> tg, tu, axis=0", "tg -> g", "tu -> u", "v -> tg, tu, axis=0",
                       "tg -> h", "tu -> x"}) ==
               (texts{"w -> g, u, fused_ffn, axis=0", "v -> h, x, fused_ffn, axis=0"}));
    BOOST_TEST(folded({"a -> t", "t, b -> c, axis=0", "d -> t, e, axis=0", "t -> f, axis=0"})[1] ==
               "d -> t, e, axis=0");
}

BOOST_AUTO_TEST_CASE(what_is_removed_is_no_part) {
    texts const removed{"w -> tg, tu, axis=0", "tg -> g", "tu -> _"};
    BOOST_TEST(folded(removed) == removed);
}

BOOST_AUTO_TEST_SUITE_END()
