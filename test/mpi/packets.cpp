// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/mpi/bound_chunks.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(mpi_packets)

namespace {

/// A plan whose transfers have those extents, all of one data type.
plan plan_of(std::vector<index_vector> const& extents, data_type dtype) {
    plan plan;
    plan.source_dtypes = {dtype};
    plan.chains = {{}};
    for (std::uint32_t i = 0; i < extents.size(); ++i) {
        index_vector const zeros = index_vector::filled(extents[i].size(), 0);
        pattern pattern(extents[i].size());
        pattern.push_back({permutation::identity(extents[i].size()), zeros, zeros, extents[i]});
        plan.patterns.push_back(pattern);
        plan.pattern_of.push_back(i);
        plan.target_dtypes.push_back(dtype);
        transfer part;
        part.source_holder = 0;
        part.source_key = 0;
        part.target_key = i;
        plan.transfers.push_back(part);
    }
    return plan;
}

std::vector<box> boxes(plan const& plan, chunk const& chunk) {
    std::vector<box> regions;
    for (packet const& packet : chunk.packets)
        regions.push_back(region_of(plan, chunk, packet));
    return regions;
}

} // namespace

BOOST_AUTO_TEST_CASE(small_transfers_share_a_chunk) {
    plan const plan = plan_of({{2, 3}, {4}, {}}, data_type::f32);
    auto const chunks = chunks_of(plan, {0, 1, 2}, 64);
    BOOST_TEST_REQUIRE(chunks.size() == 1u);
    BOOST_TEST(chunks[0].bytes == 4 * 6 + 4 * 4 + 4);
    BOOST_TEST((boxes(plan, chunks[0]) == std::vector<box>{{{0, 0}, {2, 3}}, {{0}, {4}}, {}}));
    BOOST_TEST(chunks[0].packets[1].transfer == 1u);
    BOOST_TEST(chunks[0].packets[2].bytes == 4);
}

BOOST_AUTO_TEST_CASE(a_chunk_is_never_larger_than_the_limit) {
    plan const plan = plan_of({{2, 3}, {4}, {1}}, data_type::f32);
    auto const chunks = chunks_of(plan, {0, 1, 2}, 24);
    BOOST_TEST_REQUIRE(chunks.size() == 2u);
    BOOST_TEST(chunks[0].bytes == 24);
    BOOST_TEST(chunks[1].bytes == 20);
}

BOOST_AUTO_TEST_CASE(a_large_transfer_is_cut_along_its_outer_axes) {
    // 5 x 3 x 2 halves: rows of 12 bytes, two of them in 24 bytes.
    plan const plan = plan_of({{5, 3, 2}}, data_type::f16);
    auto const chunks = chunks_of(plan, {0}, 24);
    BOOST_TEST_REQUIRE(chunks.size() == 3u);
    BOOST_TEST((boxes(plan, chunks[0]) == std::vector<box>{{{0, 0, 0}, {2, 3, 2}}}));
    BOOST_TEST((boxes(plan, chunks[1]) == std::vector<box>{{{2, 0, 0}, {2, 3, 2}}}));
    BOOST_TEST((boxes(plan, chunks[2]) == std::vector<box>{{{4, 0, 0}, {1, 3, 2}}}));
}

BOOST_AUTO_TEST_CASE(a_row_that_is_too_large_is_cut_too) {
    plan const plan = plan_of({{2, 5}}, data_type::f64);
    auto const chunks = chunks_of(plan, {0}, 24);
    std::vector<box> all_boxes;
    for (chunk const& chunk : chunks) {
        BOOST_TEST(chunk.bytes <= 24);
        for (box const& region : boxes(plan, chunk))
            all_boxes.push_back(region);
    }
    BOOST_TEST((all_boxes == std::vector<box>{{{0, 0}, {1, 3}},
                                              {{0, 3}, {1, 2}}, //
                                              {{1, 0}, {1, 3}},
                                              {{1, 3}, {1, 2}}}));
}

BOOST_AUTO_TEST_CASE(one_element_is_a_chunk_whatever_the_limit) {
    plan const plan = plan_of({{3}}, data_type::f64);
    auto const chunks = chunks_of(plan, {0}, 4);
    BOOST_TEST_REQUIRE(chunks.size() == 3u);
    BOOST_TEST(chunks[2].bytes == 8);
    BOOST_TEST((boxes(plan, chunks[2]) == std::vector<box>{{{2}, {1}}}));
}

BOOST_AUTO_TEST_CASE(packed_elements_fill_their_last_byte) {
    plan const plan = plan_of({{3}, {4}}, data_type::f4);
    auto const chunks = chunks_of(plan, {0, 1}, 100);
    BOOST_TEST_REQUIRE(chunks.size() == 1u);
    BOOST_TEST(chunks[0].packets[0].bytes == 2);
    BOOST_TEST(chunks[0].packets[1].bytes == 2);
}

BOOST_AUTO_TEST_CASE(only_the_listed_transfers_travel) {
    plan const plan = plan_of({{1}, {2}, {3}}, data_type::u8);
    auto const chunks = chunks_of(plan, {2, 0}, 100);
    BOOST_TEST_REQUIRE(chunks.size() == 1u);
    BOOST_TEST(chunks[0].packets[0].transfer == 2u);
    BOOST_TEST(chunks[0].packets[1].transfer == 0u);
    BOOST_TEST(chunks_of(plan_of({{1}}, data_type::u8), {}, 100).empty());
}

BOOST_AUTO_TEST_SUITE_END()
