// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/reverse.hpp>

#include "aoa/language.hpp"

#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/finding.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

// Reversed programs, and the messages for programs that cannot be reversed, are in the goldens,
// test/aoa/reverse; their correctness is a law. Here are the cases that neither shows.

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::aoa;
using reshard::test::parsed;
using reshard::test::tensor;

BOOST_AUTO_TEST_SUITE(aoa_reverse)

namespace {

/// A program reversed and lowered, from `target` back to `source`.
mapping backwards(char const* text, catalog const& source, catalog const& target) {
    program const code = expand(parsed(text), source, &target).code;
    return lower(reverse(code, source, &target), target, &source);
}

/// The shards of `key` that make up a box of a target tensor, as `[1:2] = key[3:4]`.
std::string pieces_of(mapping const& map, char const* key) {
    std::string text;
    piece_list const& pieces = map.find(key)->value.pieces;
    for (std::size_t i = 0; i < pieces.size(); ++i)
        text += (i == 0 ? "" : ", ") + to_string(pieces[i].target_box()) + " = " +
                std::string(map.sources().key(pieces[i].source)) +
                to_string(pieces[i].source_box());
    return text;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_fused_tensor_is_taken_apart_by_the_parts_that_it_has) {
    catalog const halves({tensor("g", {4}), tensor("u", {4})});
    catalog const fused({tensor("d", {8}, data_type::f32, {2})});
    mapping const map = backwards("g, u -> d, fused_ffn, axis=0", halves, fused);
    BOOST_TEST(pieces_of(map, "g") == "[0:2] = d[0:2], [2:4] = d[4:6]");
    BOOST_TEST(pieces_of(map, "u") == "[0:2] = d[2:4], [2:4] = d[6:8]");
}

BOOST_AUTO_TEST_CASE(a_fused_tensor_that_was_taken_apart_is_put_together_by_its_own_parts) {
    catalog const fused({tensor("s", {8}, data_type::f32, {2})});
    catalog const halves({tensor("g", {4}), tensor("u", {4})});
    mapping const map = backwards("s -> g, u, fused_ffn, axis=0", fused, halves);
    BOOST_TEST(pieces_of(map, "s") ==
               "[0:2] = g[0:2], [2:4] = u[0:2], [4:6] = g[2:4], [6:8] = u[2:4]");
}

BOOST_AUTO_TEST_CASE(heads_are_counted_on_the_side_that_has_them) {
    catalog const apart({tensor("q", {4}), tensor("k", {2}), tensor("v", {2})});
    catalog const fused({tensor("d", {8}, data_type::f32, {2})});
    char const* const fuse =
        "q, k, v -> d, fused_qkv_old, num_heads=4, num_key_value_groups=2, axis=0";
    mapping const map = backwards(fuse, apart, fused);
    BOOST_TEST(pieces_of(map, "q") ==
               "[0:1] = d[0:1], [1:2] = d[1:2], [2:3] = d[4:5], [3:4] = d[5:6]");
    BOOST_TEST(pieces_of(map, "k") == "[0:1] = d[2:3], [1:2] = d[6:7]");
    char const* const part =
        "d -> q, k, v, fused_qkv_old, num_heads=4, num_key_value_groups=2, axis=0";
    BOOST_TEST(pieces_of(backwards(part, fused, apart), "d") ==
               "[0:1] = q[0:1], [1:2] = q[1:2], [2:3] = k[0:1], [3:4] = v[0:1], "
               "[4:5] = q[2:3], [5:6] = q[3:4], [6:7] = k[1:2], [7:8] = v[1:2]");
}

BOOST_AUTO_TEST_CASE(a_tensor_that_is_cut_anew_is_cut_back) {
    catalog const source({tensor("s", {12}, data_type::f32, {2})});
    catalog const target({tensor("d", {12}, data_type::f32, {3})});
    mapping const map = backwards("s -> d, fused_ffn, axis=0", source, target);
    // d: of each third two gates and two ups; s: of each half three gates and three ups.
    BOOST_TEST(pieces_of(map, "s") ==
               "[0:1] = d[0:1], [1:2] = d[1:2], [2:3] = d[4:5], [3:4] = d[2:3], [4:5] = d[3:4], "
               "[5:6] = d[6:7], [6:7] = d[5:6], [7:8] = d[8:9], [8:9] = d[9:10], [9:10] = d[7:8], "
               "[10:11] = d[10:11], [11:12] = d[11:12]");
}

BOOST_AUTO_TEST_CASE(what_reverse_gives_needs_no_reverse_option) {
    catalog const source({tensor("e.0", {2, 4}), tensor("e.1", {3, 4})});
    catalog const target({tensor("w", {5, 4})});
    mapping const map = backwards("e.* -> w, axis=0", source, target);
    BOOST_TEST(pieces_of(map, "e.1") == "[0:3, 0:4] = w[2:5, 0:4]");
}

BOOST_AUTO_TEST_CASE(a_statement_of_the_reversed_program_knows_where_it_came_from) {
    catalog const source({tensor("a.0", {2, 4})});
    program const code = expand(parsed("a.$LAYER_ID^T -> b.$LAYER_ID", "f.aoa"), source).code;
    program const back = reverse(code, source);
    BOOST_TEST_REQUIRE(back.statements().size() == 2u);
    BOOST_TEST((macro_chain(back, back.statements()[0].origin) ==
                std::vector<std::string>{"^T from f.aoa:1:1", "$LAYER_ID from f.aoa:1:1"}));
}

BOOST_AUTO_TEST_CASE(the_first_reason_is_thrown) {
    catalog const source({tensor("a", {2}), tensor("b", {2})});
    catalog const target({tensor("a", {2})});
    BOOST_CHECK_EXCEPTION(reverse(parsed("b -> _", "f.aoa"), source, &target), error,
                          [](error const& problem) {
                              return problem.code() == errc::not_invertible &&
                                     std::string(problem.what()) ==
                                         "f.aoa:1:1: not invertible: 'b' cannot be recovered: this "
                                         "statement removes it; it can come back as zeros "
                                         "(option allow_removed)\n"
                                         "    b -> _\n    ^";
                          });
}

BOOST_AUTO_TEST_SUITE_END()
