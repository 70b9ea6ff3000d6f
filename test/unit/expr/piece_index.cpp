// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/mapping_index.hpp>

#include <reshard/expr/algebra.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(expr_piece_index)

namespace {

using overlaps = std::vector<std::pair<std::size_t, box>>;

overlaps found_by_index(piece_index const& index, box const& region) {
    overlaps found_overlaps;
    index.for_each_overlap(
        region, [&](std::size_t i, box const& common) { found_overlaps.emplace_back(i, common); });
    std::ranges::sort(found_overlaps, {}, &std::pair<std::size_t, box>::first);
    return found_overlaps;
}

overlaps found_by_looking(piece_list const& pieces, box const& region) {
    overlaps found_overlaps;
    for (std::size_t i = 0; i < pieces.size(); ++i)
        if (auto const common = intersect(pieces.target_boxes()[i], region))
            found_overlaps.emplace_back(i, *common);
    return found_overlaps;
}

/// Asks for every box of a matrix.
void check_all_boxes(expression const& matrix) {
    piece_index const index(matrix.pieces);
    for (index_t row = 0; row < matrix.shape[0]; ++row)
        for (index_t column = 0; column < matrix.shape[1]; ++column)
            for (index_t height = 0; height <= matrix.shape[0] - row; ++height)
                for (index_t width = 0; width <= matrix.shape[1] - column; ++width) {
                    box const region{{row, column}, {height, width}};
                    BOOST_TEST(
                        (found_by_index(index, region) == found_by_looking(matrix.pieces, region)));
                }
}

expression matrix(index_t rows, index_t columns) {
    return source_tensor(0, {rows, columns}, data_type::f32);
}

/// A wall of bricks: `rows` rows, each of the given widths.
expression wall(std::size_t rows, std::vector<index_t> const& widths) {
    std::vector<expression> expressions;
    for (std::size_t row = 0; row < rows; ++row) {
        std::vector<expression> bricks;
        for (index_t const width : widths)
            bricks.push_back(matrix(1, width));
        expressions.push_back(concat(bricks, 1));
    }
    return concat(expressions, 0);
}

} // namespace

BOOST_AUTO_TEST_CASE(pieces_behind_each_other_are_found_as_by_looking_at_all) {
    check_all_boxes(concat({matrix(2, 3), matrix(1, 3), matrix(3, 3)}, 0));
    check_all_boxes(concat({matrix(2, 1), matrix(2, 3), matrix(2, 2)}, 1));
}

BOOST_AUTO_TEST_CASE(short_rows_and_long_rows_are_found_as_by_looking_at_all) {
    check_all_boxes(wall(5, {2, 1}));
    check_all_boxes(wall(4, {1, 1, 1, 1}));
    check_all_boxes(wall(3, {1, 1, 1, 1, 1}));
    check_all_boxes(transpose(wall(3, {1, 2, 1, 1, 1})));
}

BOOST_AUTO_TEST_CASE(pieces_out_of_order_are_found_as_by_looking_at_all) {
    expression mixed{{4, 3}, data_type::f32, piece_list(2)};
    for (index_t const row : {2, 0, 3, 1})
        mixed.pieces.push_back(
            {0, data_type::f32, permutation::identity(2), {}, {0, 0}, {row, 0}, {1, 3}});
    check_all_boxes(mixed);
}

BOOST_AUTO_TEST_CASE(rows_of_unequal_height_beside_each_other_are_no_rows) {
    expression const left = concat({matrix(1, 1), matrix(3, 1)}, 0);
    expression const right = concat({matrix(3, 2), matrix(1, 2)}, 0);
    check_all_boxes(concat({left, right}, 1));
    check_all_boxes(permute(concat({left, right}, 1), index_vector{1, 0}));
}

BOOST_AUTO_TEST_CASE(nothing_is_found_where_there_are_no_pieces) {
    expression const empty = source_tensor(0, {0, 3}, data_type::f32);
    BOOST_TEST(found_by_index(piece_index(empty.pieces), {{0, 0}, {0, 3}}).empty());
    BOOST_TEST(found_by_index(piece_index(), {{0, 0}, {1, 1}}).empty());
}

BOOST_AUTO_TEST_CASE(a_scalar_is_found) {
    expression const scalar = source_tensor(0, {}, data_type::f32);
    BOOST_TEST(found_by_index(piece_index(scalar.pieces), {}).size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
