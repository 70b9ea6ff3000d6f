// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/mapping_index.hpp>

#include <reshard/expr/algebra.hpp>
#include <reshard/expr/explain.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(expr_mapping_index)

namespace {

/// c is the transpose of a (4 x 2), then b (2 x 3), then a again; d is b; e has no elements.
mapping some_tensors() {
    mapping result;
    expression const a = result.source("a", {4, 2}, data_type::f32);
    expression const b = result.source("b", {2, 3}, data_type::f32);
    result.define("c", concat({transpose(a), b, transpose(a)}, 1));
    result.define("d", b);
    result.define("e", result.source("nothing", {0, 2}, data_type::f32));
    return result;
}

std::vector<piece> asked(mapping const& mapping, std::string_view key, box const& region) {
    mapping_index const index(mapping);
    std::vector<piece> pieces;
    index.for_each_piece(*mapping.find(key), region,
                         [&](piece const& part) { pieces.push_back(part); });
    std::ranges::sort(pieces, {}, &piece::target_offset);
    return pieces;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_pieces_of_a_box_are_cut_to_it) {
    mapping const mapping = some_tensors();
    auto const match = asked(mapping, "c", {{1, 3}, {1, 5}});
    BOOST_TEST_REQUIRE(match.size() == 3u);
    BOOST_TEST((match[0].target_box() == box{{1, 3}, {1, 1}}));
    BOOST_TEST((match[0].source_box() == box{{3, 1}, {1, 1}})); // c[1, 3] is a[3, 1]
    BOOST_TEST((match[1].target_box() == box{{1, 4}, {1, 3}}));
    BOOST_TEST((match[1].source_box() == box{{1, 0}, {1, 3}})); // c[1, 4:7] is b[1]
    BOOST_TEST((match[2].target_box() == box{{1, 7}, {1, 1}}));
    BOOST_TEST((match[2].source_box() == box{{0, 1}, {1, 1}})); // c[1, 7] is a[0, 1]
}

BOOST_AUTO_TEST_CASE(one_of_many_pieces_is_found) {
    mapping mapping;
    expression const a = mapping.source("a", {2, 4}, data_type::f32);
    mapping.define("x", concat({a, a, a, a, a, a, a, a, a, a}, 1));
    auto const match = asked(mapping, "x", {{1, 26}, {1, 4}});
    BOOST_TEST_REQUIRE(match.size() == 2u);
    BOOST_TEST((match[0].target_box() == box{{1, 26}, {1, 2}}));
    BOOST_TEST((match[0].source_box() == box{{1, 2}, {1, 2}})); // x[1, 26:28] is a[1, 2:4]
    BOOST_TEST((match[1].target_box() == box{{1, 28}, {1, 2}}));
    BOOST_TEST((match[1].source_box() == box{{1, 0}, {1, 2}}));
}

BOOST_AUTO_TEST_CASE(a_tensor_of_one_piece_needs_no_index) {
    auto const match = asked(some_tensors(), "d", {{0, 1}, {2, 1}});
    BOOST_TEST_REQUIRE(match.size() == 1u);
    BOOST_TEST((match[0].source_box() == box{{0, 1}, {2, 1}}));
}

BOOST_AUTO_TEST_CASE(an_empty_box_and_an_empty_tensor_have_no_pieces) {
    BOOST_TEST(asked(some_tensors(), "c", {{0, 2}, {0, 4}}).empty());
    BOOST_TEST(asked(some_tensors(), "d", {{0, 2}, {2, 0}}).empty());
    BOOST_TEST(asked(some_tensors(), "e", {{0, 0}, {0, 2}}).empty());
}

BOOST_AUTO_TEST_CASE(the_answers_are_those_of_explain) {
    mapping const mapping = some_tensors();
    for (index_t first = 0; first < 11; ++first)
        for (index_t extent = 1; extent <= 11 - first; ++extent) {
            box const region{{0, first}, {2, extent}};
            BOOST_TEST((asked(mapping, "c", region) == explain(mapping, "c", region)));
        }
}

BOOST_AUTO_TEST_SUITE_END()
