// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/equal_shares.hpp>
#include <reshard/layout/layout.hpp>

#include "support/says.hpp"

#include <limits>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(shard_flat_share)

namespace {

/// The values that a shard holds of [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]], in its order.
std::vector<index_t> values_of(shard_descriptor const& shard) {
    std::vector<index_t> values;
    for (box const& part : boxes_of(shard.region, shard.flat))
        for (index_t row = part.offset[0]; row < part.end(0); ++row)
            for (index_t column = part.offset[1]; column < part.end(1); ++column)
                values.push_back(6 * row + column);
    return values;
}

/// The elements of the 2 x 6 tensor on each rank of the mesh: columns by tensor parallelism, then
/// flat shares of these by data parallelism.
std::vector<std::vector<index_t>> values_by_rank(mesh const& ranks) {
    std::vector<std::vector<index_t>> all;
    index_t const columns = 6 / ranks.all_axes[ranks.axis("tp")].extent;
    for (holder_t rank = 0; rank < ranks.rank_count(); ++rank) {
        auto const part =
            equal_shares("w", data_type::f32, {2, columns}, {axis_share(ranks, rank, "tp", 1)});
        auto const data = axis_share(ranks, rank, "dp", 0);
        all.push_back(values_of(flat_share(part, data.index, data.count)));
    }
    return all;
}

using lists = std::vector<std::vector<index_t>>;

} // namespace

// The example of NeMo's guide: global [[0..5], [6..11]].
BOOST_AUTO_TEST_CASE(two_tensor_parallel_ranks_times_three_data_parallel_ones) {
    lists const expected{{0, 1}, {3, 4}, {2, 6}, {5, 9}, {7, 8}, {10, 11}};
    BOOST_TEST((values_by_rank({{"dp", 3}, {"tp", 2}}) == expected));
}

BOOST_AUTO_TEST_CASE(six_tensor_parallel_ranks_alone) {
    lists const expected{{0, 6}, {1, 7}, {2, 8}, {3, 9}, {4, 10}, {5, 11}};
    BOOST_TEST((values_by_rank({{"dp", 1}, {"tp", 6}}) == expected));
}

BOOST_AUTO_TEST_CASE(six_data_parallel_ranks_alone) {
    lists const expected{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}};
    BOOST_TEST((values_by_rank({{"dp", 6}, {"tp", 1}}) == expected));
}

BOOST_AUTO_TEST_CASE(shares_tile_whatever_does_not_divide) {
    // ceil(10 / 4) = 3; 5 elements over 4: 2, 2, 1 and none, at the end.
    for (index_t i = 0; i < 4; ++i) {
        BOOST_TEST((flat_share(10, i, 4) == flat_range{3 * i, i == 3 ? 10 : 3 * i + 3}));
        BOOST_TEST((flat_share(5, i, 4) == flat_range{i == 3 ? 5 : 2 * i, i < 2 ? 2 * i + 2 : 5}));
        BOOST_TEST((flat_share(0, i, 4) == flat_range{0, 0}));
    }
    BOOST_TEST((flat_share(2, 6, 7) == flat_range{2, 2}));
}

BOOST_AUTO_TEST_CASE(the_largest_numbers_do_not_overflow) {
    constexpr index_t most = std::numeric_limits<index_t>::max();
    BOOST_TEST((flat_share(most, 1, 2) == flat_range{most / 2 + 1, most}));
    BOOST_TEST((flat_share(most, most - 1, most) == flat_range{most - 1, most}));
    BOOST_TEST((flat_share(3, most - 1, most) == flat_range{3, 3}));
}

BOOST_AUTO_TEST_CASE(a_flat_shard_is_cut_again) {
    shard_descriptor const part{"w", data_type::f32, {4, 6}, {{2, 0}, {2, 6}}, flat_range{3, 10}};
    shard_descriptor expected = part;
    expected.flat = flat_range{7, 10};
    BOOST_TEST((flat_share(part, 1, 2) == expected));
}

BOOST_AUTO_TEST_CASE(a_share_that_is_not_one_of_them_is_refused) {
    BOOST_CHECK_EXCEPTION(
        flat_share(4, 2, 2), error,
        says(errc::bad_layout, "flat share 2 of 2 does not exist; shares are numbered from 0"));
    auto const part = replicated("w", data_type::f32, {4});
    BOOST_CHECK_EXCEPTION(flat_share(part, -1, 2), error,
                          says(errc::bad_layout,
                               "'w': flat share -1 of 2 does not exist; shares are numbered from "
                               "0"));
    BOOST_CHECK_EXCEPTION(flat_share(part, 0, 0), error,
                          says(errc::bad_layout,
                               "'w': flat share 0 of 0 does not exist; shares are numbered from "
                               "0"));
}

BOOST_AUTO_TEST_CASE(a_shard_that_leaves_its_tensor_is_refused_before_it_is_cut) {
    shard_descriptor const part{"w", data_type::f32, {4}, {{2}, {-1}}, {}};
    BOOST_CHECK_EXCEPTION(
        flat_share(part, 0, 2), error,
        says(errc::bad_layout,
             "'w': axis 0: a shard of -1 elements at offset 2 exceeds the global extent 4"));
}

BOOST_AUTO_TEST_SUITE_END()
