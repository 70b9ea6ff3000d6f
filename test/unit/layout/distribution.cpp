// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/distribution.hpp>

#include "support/says.hpp"

#include <array>
#include <limits>
#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(shard_distribution)

namespace {

/// First row and number of rows on each rank.
std::vector<std::array<index_t, 2>> rows(distribution const& distribution) {
    std::vector<std::array<index_t, 2>> result;
    for (holder_t rank = 0; rank < distribution.ranks().rank_count(); ++rank) {
        auto const region = distribution.region(rank);
        result.push_back({region->offset[0], region->shape[0]});
    }
    return result;
}

using row_list = std::vector<std::array<index_t, 2>>;

void refused(mesh const& ranks, std::vector<placement> const& placements, index_vector const& shape,
             std::string const& text) {
    BOOST_CHECK_EXCEPTION(distribution(ranks, placements, shape, "w"), error,
                          test::says(errc::bad_layout, text));
}

} // namespace

BOOST_AUTO_TEST_CASE(even_rows_are_cut_in_equal_parts) {
    row_list const expected{{0, 4}, {4, 4}, {8, 4}};
    BOOST_TEST((rows({{{"tp", 3}}, {shard{0}}, {12, 2}}) == expected));
    BOOST_TEST((rows({{{"tp", 3}}, {shard{0, even}}, {12, 2}}) == expected));
}

BOOST_AUTO_TEST_CASE(uneven_rows_fill_the_first_ranks) {
    BOOST_TEST((rows({{{"tp", 4}}, {shard{0}}, {10}}) == row_list{{0, 3}, {3, 3}, {6, 3}, {9, 1}}));
    BOOST_TEST((rows({{{"tp", 4}}, {shard{0}}, {5}}) == row_list{{0, 2}, {2, 2}, {4, 1}, {5, 0}}));
    BOOST_TEST((rows({{{"tp", 7}}, {shard{0}}, {8}}) ==
                row_list{{0, 2}, {2, 2}, {4, 2}, {6, 2}, {8, 0}, {8, 0}, {8, 0}}));
}

BOOST_AUTO_TEST_CASE(ranks_beyond_the_rows_hold_an_empty_box_at_the_end) {
    distribution const distribution({{"tp", 4}}, {shard{0}}, {1, 9});
    BOOST_TEST((distribution.region(0) == box{{0, 0}, {1, 9}}));
    for (holder_t rank = 1; rank < 4; ++rank)
        BOOST_TEST((distribution.region(rank) == box{{1, 0}, {0, 9}}));
}

BOOST_AUTO_TEST_CASE(an_extent_of_zero_leaves_every_rank_empty) {
    BOOST_TEST((rows({{{"tp", 3}}, {shard{0}}, {0, 4}}) == row_list{{0, 0}, {0, 0}, {0, 0}}));
    BOOST_TEST((rows({{{"tp", 2}}, {placement(0, {0, 0})}, {0}}) == row_list{{0, 0}, {0, 0}}));
}

BOOST_AUTO_TEST_CASE(two_mesh_axes_cut_the_remainder_again) {
    mesh const grid{{"a", 2}, {"b", 2}};
    BOOST_TEST(
        (rows({grid, {shard{0}, shard{0}}, {10}}) == row_list{{0, 3}, {3, 2}, {5, 3}, {8, 2}}));
    // The inner cut of a part of one row leaves nothing: an empty box at the end of the tensor.
    BOOST_TEST(
        (rows({grid, {shard{0}, shard{0}}, {2}}) == row_list{{0, 1}, {2, 0}, {1, 1}, {2, 0}}));
}

BOOST_AUTO_TEST_CASE(a_strided_shard_cuts_what_the_others_leave) {
    // FSDP over 2 ranks of what tensor parallelism over 2 ranks leaves: 5 and 5 rows, each cut into 3 and 2.
    mesh const grid{{"dp", 2}, {"tp", 2}};
    BOOST_TEST((rows({grid, {strided_shard{0}, shard{0}}, {10}}) ==
                row_list{{0, 3}, {5, 3}, {3, 2}, {8, 2}}));
    refused(grid, {strided_shard{0, even}, shard{0}}, {10},
            "'w': axis 0: mesh axis 'dp' cannot cut the extent 5 into 2 equal parts; use a ceil "
            "split or give sizes");
}

BOOST_AUTO_TEST_CASE(mesh_axes_on_two_tensor_axes_make_a_grid) {
    distribution const distribution({{"dp", 2}, {"tp", 3}}, {shard{1}, shard{0}}, {6, 5});
    BOOST_TEST((distribution.region(0) == box{{0, 0}, {2, 3}}));
    BOOST_TEST((distribution.region(2) == box{{4, 0}, {2, 3}}));
    BOOST_TEST((distribution.region(3) == box{{0, 3}, {2, 2}}));
    BOOST_TEST((distribution.region(5) == box{{4, 3}, {2, 2}}));
}

BOOST_AUTO_TEST_CASE(replicas_hold_equal_boxes) {
    distribution const distribution({{"dp", 2}, {"tp", 2}}, {replicate{}, shard{0}}, {4});
    BOOST_TEST((rows(distribution) == row_list{{0, 2}, {2, 2}, {0, 2}, {2, 2}}));
}

BOOST_AUTO_TEST_CASE(a_scalar_is_everywhere) {
    distribution const distribution({{"dp", 3}}, {replicate{}}, {});
    BOOST_TEST((distribution.region(2) == box{}));
}

BOOST_AUTO_TEST_CASE(a_tensor_of_eight_axes_is_cut_along_the_last) {
    distribution const distribution({{"tp", 2}}, {shard{7}}, {1, 1, 1, 1, 1, 1, 1, 3});
    BOOST_TEST((distribution.region(1) == box{{0, 0, 0, 0, 0, 0, 0, 2}, {1, 1, 1, 1, 1, 1, 1, 1}}));
}

BOOST_AUTO_TEST_CASE(sizes_are_taken_as_they_are) {
    BOOST_TEST((rows({{{"tp", 4}}, {placement(0, {1, 0, 5, 2})}, {8}}) ==
                row_list{{0, 1}, {8, 0}, {1, 5}, {6, 2}}));
}

BOOST_AUTO_TEST_CASE(sizes_may_be_cut_again) {
    mesh const grid{{"a", 2}, {"b", 2}};
    BOOST_TEST((rows({grid, {placement(0, {3, 7}), shard{0}}, {10}}) ==
                row_list{{0, 2}, {2, 1}, {3, 4}, {7, 3}}));
}

BOOST_AUTO_TEST_CASE(only_one_stage_holds_it) {
    distribution const distribution({{"pp", 2}, {"tp", 2}}, {only{1}, shard{0}}, {4});
    BOOST_TEST(!distribution.region(0));
    BOOST_TEST(!distribution.region(1));
    BOOST_TEST((distribution.region(2) == box{{0}, {2}}));
    BOOST_TEST((distribution.region(3) == box{{2}, {2}}));
}

BOOST_AUTO_TEST_CASE(the_largest_extent_is_cut_without_overflow) {
    index_t const most = std::numeric_limits<index_t>::max();
    distribution const how({{"tp", 4}}, {shard{0}}, {most});
    index_t const rows_each = 2305843009213693952; // 2^61
    BOOST_TEST((how.region(3) == box{{3 * rows_each}, {rows_each - 1}}));
    // The extent is (2^31 - 1) * (2^32 + 2) + 1: parts of 2^32 + 3, and 2^31 + 5 are left for the last.
    distribution const many({{"tp", 2147483647}}, {shard{0}}, {most});
    BOOST_TEST(many.region(0)->shape[0] == 4294967299);
    BOOST_TEST((many.region(2147483646) == box{{most - 2147483653}, {2147483653}}));
}

BOOST_AUTO_TEST_CASE(distributions_print) {
    distribution const distribution({{"pp", 2}, {"tp", 3}}, {replicate{}, shard{1}}, {8, 6});
    BOOST_TEST(to_string(distribution) == "[8, 6] on pp=2 tp=3: replicate; shard 1");
}

BOOST_AUTO_TEST_CASE(a_split_that_must_be_even_names_both_numbers) {
    refused({{"tp", 4}}, {shard{1, even}}, {8, 10},
            "'w': axis 1: mesh axis 'tp' cannot cut the extent 10 into 4 equal parts; use a ceil "
            "split or give sizes");
    // The first cut leaves 5 and 5, which the second cannot halve.
    refused({{"a", 2}, {"b", 2}}, {shard{0}, shard{0, even}}, {10},
            "'w': axis 0: mesh axis 'b' cannot cut the extent 5 into 2 equal parts; use a ceil "
            "split or give sizes");
    // Blocks of 4, 4 and 3: only the last cannot be halved.
    refused({{"a", 3}, {"b", 2}}, {shard{0}, shard{0, even}}, {11},
            "'w': axis 0: mesh axis 'b' cannot cut the extent 3 into 2 equal parts; use a ceil "
            "split or give sizes");
    // Blocks of 2, 2, 1, 0: the one in between cannot be halved.
    refused({{"a", 4}, {"b", 2}}, {shard{0}, shard{0, even}}, {5},
            "'w': axis 0: mesh axis 'b' cannot cut the extent 1 into 2 equal parts; use a ceil "
            "split or give sizes");
}

BOOST_AUTO_TEST_CASE(sizes_must_fit_mesh_and_extent) {
    refused({{"tp", 4}}, {placement(0, {4, 4})}, {8},
            "'w': axis 0: mesh axis 'tp' has 4 ranks, but 2 sizes");
    refused({{"tp", 2}}, {placement(0, {4, 5})}, {8},
            "'w': axis 0: mesh axis 'tp' has sizes that sum to 9, not to the extent 8");
    refused({{"tp", 2}}, {placement(0, {10, -2})}, {8},
            "'w': axis 0: mesh axis 'tp' has a size of -2");
    index_t const most = std::numeric_limits<index_t>::max();
    BOOST_CHECK_THROW(distribution({{"tp", 3}}, {placement(0, {most, most, 10})}, {8}), error);
    // Blocks of 3 and 2 cannot both be cut into 2 and 1.
    refused({{"a", 2}, {"b", 2}}, {shard{0}, placement(0, {2, 1})}, {5},
            "'w': axis 0: mesh axis 'b' has sizes that sum to 3, not to the extent 2");
}

BOOST_AUTO_TEST_CASE(placements_must_fit_mesh_and_tensor) {
    refused({{"pp", 2}, {"tp", 3}}, {shard{0}}, {8},
            "'w': 1 placement on a mesh of 2 axes (pp=2 tp=3); give one for each mesh axis");
    refused({{"tp", 3}}, {shard{2}}, {8, 4},
            "'w': mesh axis 'tp' cuts axis 2 of a tensor of 2 axes");
    refused({{"tp", 3}}, {shard{0}}, {}, "'w': mesh axis 'tp' cuts axis 0 of a tensor of 0 axes");
    refused({{"pp", 2}}, {only{2}}, {8}, "'w': mesh axis 'pp' has the coordinates 0 to 1, not 2");
    refused({{"pp", 2}}, {only{-1}}, {8}, "'w': mesh axis 'pp' has the coordinates 0 to 1, not -1");
    refused({{"pp", 2}}, {replicate{}}, {8, -1}, "'w': axis 1 has the extent -1");
}

BOOST_AUTO_TEST_CASE(more_elements_than_64_bits_count_are_refused) {
    // 2^32 x 2^31 elements are 2^63, one more than 64 bits count; with an extent of zero there are none.
    auto const of_shape = [](index_vector const& shape) {
        return distribution({{"tp", 2}}, {shard{0}}, shape, "w");
    };
    BOOST_CHECK_EXCEPTION(
        of_shape({4294967296, 2147483648}), error,
        test::says(errc::overflow, "'w': a tensor of shape [4294967296, 2147483648] has more than "
                                   "9223372036854775807 elements; its shape must be smaller"));
    BOOST_TEST((of_shape({4294967296, 2147483648, 0}).region(1) ==
                box{{2147483648, 0, 0}, {2147483648, 2147483648, 0}}));
}

BOOST_AUTO_TEST_CASE(a_table_lists_every_rank_that_holds_it) {
    distribution const distribution({{"pp", 2}, {"tp", 2}}, {only{1}, shard{0}}, {4, 3}, "w");
    shard_table const shards = table_of(distribution);
    BOOST_REQUIRE(shards.size() == 2u);
    BOOST_TEST(shards.holder(0) == 2u);
    BOOST_TEST(shards.holder(1) == 3u);
    BOOST_TEST((shards.region(0) == box{{0, 0}, {2, 3}}));
    BOOST_TEST((shards.region(1) == box{{2, 0}, {2, 3}}));
}

BOOST_AUTO_TEST_CASE(a_descriptor_is_one_ranks_shard) {
    distribution const distribution({{"pp", 2}}, {only{1}}, {4}, "w");
    BOOST_TEST(!descriptor_of("w", data_type::f32, distribution, 0));
    shard_descriptor const expected{"w", data_type::f32, {4}, {{0}, {4}}, {}};
    BOOST_TEST((descriptor_of("w", data_type::f32, distribution, 1) == expected));
}

// Megatron's example of flattened shards: [[0..5], [6..11]] over TP 2 along axis 1, then DP 3 over the
// flat TP-local tensor; rank = 2 * dp + tp.
BOOST_AUTO_TEST_CASE(
    flat_shards_of_a_tensor_parallel_tensor_hold_the_elements_of_megatrons_example) {
    distribution const tp({{"dp", 3}, {"tp", 2}}, {replicate{}, shard{1}}, {2, 6});
    std::vector<std::vector<index_t>> held;
    for (holder_t rank = 0; rank < 6; ++rank) {
        index_t const part = rank / 2;
        flat_range const flat{2 * part, 2 * part + 2};
        std::vector<index_t> elements;
        for (box const& region : boxes_of(*tp.region(rank), flat))
            for (index_t row = region.offset[0]; row < region.end(0); ++row)
                for (index_t column = region.offset[1]; column < region.end(1); ++column)
                    elements.push_back(6 * row + column);
        held.push_back(elements);
    }
    std::vector<std::vector<index_t>> const expected{{0, 1}, {3, 4}, {2, 6},
                                                     {5, 9}, {7, 8}, {10, 11}};
    BOOST_TEST((held == expected));
}

BOOST_AUTO_TEST_CASE(six_tensor_parallel_ranks_hold_a_column_each) {
    distribution const tp({{"tp", 6}}, {shard{1}}, {2, 6});
    for (holder_t rank = 0; rank < 6; ++rank)
        BOOST_TEST((tp.region(rank) == box{{0, rank}, {2, 1}}));
}

BOOST_AUTO_TEST_SUITE_END()
