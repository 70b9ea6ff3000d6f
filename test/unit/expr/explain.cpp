// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/explain.hpp>

#include "support/says.hpp"

#include <reshard/expr/algebra.hpp>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(expr_explain)

namespace {

/// c = the transpose of a, then b, along axis 1; a is 4 x 2 and b is 2 x 3.
mapping program() {
    mapping result;
    expression const a = result.source("a", {4, 2}, data_type::f32);
    expression const b = result.source("b", {2, 3}, data_type::f32);
    result.define("c", concat({transpose(a), b}, 1));
    return result;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_whole_target_is_its_pieces_in_order) {
    mapping const mapping = program();
    auto const pieces = explain(mapping, "c");
    BOOST_TEST_REQUIRE(pieces.size() == 2u);
    BOOST_TEST((pieces[0].target_box() == box{{0, 0}, {2, 4}}));
    BOOST_TEST((pieces[0].source_box() == box{{0, 0}, {4, 2}}));
    BOOST_TEST(mapping.sources()[pieces[0].source].key == "a");
    BOOST_TEST((pieces[1].target_box() == box{{0, 4}, {2, 3}}));
    BOOST_TEST((pieces[1].source_box() == box{{0, 0}, {2, 3}}));
    BOOST_TEST(mapping.sources()[pieces[1].source].key == "b");
}

BOOST_AUTO_TEST_CASE(a_box_cuts_the_pieces) {
    auto const pieces = explain(program(), "c", box{{1, 3}, {1, 2}});
    BOOST_TEST_REQUIRE(pieces.size() == 2u);
    BOOST_TEST((pieces[0].target_box() == box{{1, 3}, {1, 1}}));
    BOOST_TEST((pieces[0].source_box() == box{{3, 1}, {1, 1}})); // c[1, 3] is a[3, 1]
    BOOST_TEST((pieces[1].target_box() == box{{1, 4}, {1, 1}}));
    BOOST_TEST((pieces[1].source_box() == box{{1, 0}, {1, 1}})); // c[1, 4] is b[1, 0]
}

BOOST_AUTO_TEST_CASE(an_empty_box_has_no_pieces) {
    BOOST_TEST(explain(program(), "c", box{{0, 7}, {2, 0}}).empty());
}

BOOST_AUTO_TEST_CASE(a_scalar_is_one_piece) {
    mapping mapping;
    mapping.define("t", mapping.source("s", {}, data_type::f64));
    auto const pieces = explain(mapping, "t", box{});
    BOOST_TEST_REQUIRE(pieces.size() == 1u);
    BOOST_TEST((pieces[0].source_box() == box{}));
}

BOOST_AUTO_TEST_CASE(pieces_out_of_order_are_sorted_by_their_place_in_the_target) {
    mapping mapping;
    auto const parts = split(mapping.source("w", {6}, data_type::f32), 0, 3);
    expression swapped = concat({parts[2], parts[0], parts[1]}, 0);
    mapping.define("v", swapped);
    auto const pieces = explain(mapping, "v");
    BOOST_TEST_REQUIRE(pieces.size() == 3u);
    BOOST_TEST((pieces[0].source_offset == index_vector{4}));
    BOOST_TEST((pieces[1].source_offset == index_vector{0}));
    BOOST_TEST((pieces[2].source_offset == index_vector{2}));
}

BOOST_AUTO_TEST_CASE(a_source_tensor_goes_where_its_pieces_are) {
    mapping mapping = program();
    mapping.define("d", cast(split(source_tensor(0, {4, 2}, data_type::f32), 0, std::size_t{2})[1],
                             data_type::bf16));
    auto const match = explain_source(mapping, "a");
    BOOST_TEST_REQUIRE(match.size() == 2u); // by source offset: all of a, then its lower half
    BOOST_TEST(match[0].key == "c");
    BOOST_TEST((match[0].part.source_box() == box{{0, 0}, {4, 2}}));
    BOOST_TEST((match[0].part.target_box() == box{{0, 0}, {2, 4}}));
    BOOST_TEST(match[1].key == "d");
    BOOST_TEST((match[1].part.source_box() == box{{2, 0}, {2, 2}}));
    BOOST_TEST((match[1].part.target_box() == box{{0, 0}, {2, 2}}));
}

BOOST_AUTO_TEST_CASE(a_box_of_a_source_tensor_cuts_the_pieces) {
    auto const match = explain_source(program(), "a", box{{3, 1}, {1, 1}});
    BOOST_TEST_REQUIRE(match.size() == 1u);
    BOOST_TEST((match[0].part.source_box() == box{{3, 1}, {1, 1}}));
    BOOST_TEST((match[0].part.target_box() == box{{1, 3}, {1, 1}})); // a[3, 1] is c[1, 3]
    BOOST_TEST(explain_source(program(), "a", box{{4, 0}, {0, 2}}).empty());
}

BOOST_AUTO_TEST_CASE(a_source_tensor_that_nothing_uses_goes_nowhere) {
    mapping mapping = program();
    mapping.source("unused", {2}, data_type::f32);
    BOOST_TEST(explain_source(mapping, "unused").empty());
    BOOST_CHECK_EXCEPTION(
        explain_source(mapping, "unusde"), error,
        says(errc::unknown_key, "'unusde' is not a tensor of the source (did you mean 'unused'?)"));
    BOOST_CHECK_EXCEPTION(
        explain_source(mapping, "b", box{{0, 2}, {2, 2}}), error,
        says(errc::shape_mismatch,
             "'b': axis 1: a box of 2 elements at offset 2 exceeds the extent 3"));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_explained_says_why) {
    mapping const mapping = program();
    BOOST_CHECK_EXCEPTION(explain(mapping, "x"), error,
                          says(errc::unknown_key, "'x' is not a tensor of the target"));
    BOOST_CHECK_EXCEPTION(explain(mapping, "c", box{{0}, {1}}), error,
                          says(errc::shape_mismatch,
                               "'c' has 2 axes, shape [2, 7], and the box of [1] from [0] has 1"));
    BOOST_CHECK_EXCEPTION(
        explain(mapping, "c", box{{0, 5}, {2, 3}}), error,
        says(errc::shape_mismatch,
             "'c': axis 1: a box of 3 elements at offset 5 exceeds the extent 7"));
    constexpr index_t large = index_t{1} << 62; // the sum of two is beyond 64 bits
    BOOST_CHECK_EXCEPTION(explain(mapping, "c", box{{0, large}, {2, large}}), error,
                          says(errc::shape_mismatch,
                               "'c': axis 1: a box of 4611686018427387904 elements at offset "
                               "4611686018427387904 exceeds the extent 7"));
    BOOST_CHECK_EXCEPTION(explain(mapping, "c", box{{large}, {large}}), error,
                          says(errc::shape_mismatch,
                               "'c' has 2 axes, shape [2, 7], and the box of "
                               "[4611686018427387904] from [4611686018427387904] has 1"));
}

BOOST_AUTO_TEST_CASE(a_piece_is_cut_where_the_shards_of_its_source_are) {
    // a is stored as rows 0 to 2 and row 3; row 3 has a copy, which does not count.
    shard_table stored(2);
    stored.push_back(0, {{0, 0}, {3, 2}});
    stored.push_back(2, {{3, 0}, {1, 2}});
    stored.push_back(1, {{3, 0}, {1, 2}});
    mapping const mapping = program();
    auto const match = locate(explain(mapping, "c")[0], stored);
    BOOST_TEST_REQUIRE(match.size() == 2u);
    BOOST_TEST(match[0].shard == 0u);
    BOOST_TEST((match[0].part.target_box() == box{{0, 0}, {2, 3}}));
    BOOST_TEST((match[0].part.source_box() == box{{0, 0}, {3, 2}}));
    BOOST_TEST(match[1].shard == 2u);
    BOOST_TEST((match[1].part.target_box() == box{{0, 3}, {2, 1}}));
}

BOOST_AUTO_TEST_CASE(a_flat_shard_holds_a_piece_as_the_boxes_that_it_is) {
    // Elements 1 to 4 of a 4 x 2 tensor are a[0, 1], a[1, 0:2] and a[2, 0].
    shard_table stored(2);
    stored.push_back(0, {{0, 0}, {4, 2}}, flat_range{1, 5});
    mapping mapping;
    mapping.define("t", mapping.source("a", {4, 2}, data_type::f32));
    auto const match = locate(explain(mapping, "t")[0], stored);
    BOOST_TEST_REQUIRE(match.size() == 3u);
    BOOST_TEST((match[0].part.source_box() == box{{0, 1}, {1, 1}}));
    BOOST_TEST((match[1].part.source_box() == box{{1, 0}, {1, 2}}));
    BOOST_TEST((match[2].part.source_box() == box{{2, 0}, {1, 1}}));
}

BOOST_AUTO_TEST_SUITE_END()
