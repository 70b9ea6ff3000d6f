// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/file_pieces.hpp>

#include "support/listed_layout.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

/// \file
/// Which process writes which bytes.

namespace {

using namespace reshard;
using namespace reshard::detail;

constexpr index_t mib = index_t{1} << 20;

/// Each piece as tensor, bytes and process; `*` if it is gathered.
std::vector<std::string> texts(checkpoint_plan const& plan, file_pieces const& pieces) {
    std::vector<std::string> all;
    for (file_piece const& piece : pieces)
        all.push_back(plan.metadata.tensors[piece.position.tensor].key + " " +
                      std::to_string(piece.bytes.begin) + "-" + std::to_string(piece.bytes.end) +
                      " " + std::to_string(piece.process) + (piece.is_gathered ? "*" : ""));
    return all;
}

using strings = std::vector<std::string>;

/// Shards of ranks 0, 1, ... in turn.
shard_table shards_of(std::vector<box> const& regions) {
    shard_table table(regions.front().ndim());
    for (box const& region : regions)
        table.push_back(static_cast<holder_t>(table.size()), region);
    return table;
}

strings pieces_held(layout const& layout, int size) {
    auto const plan = plan_huggingface(catalog_of(layout));
    mapping const program = identity_mapping(catalog_of(layout));
    return texts(plan, pieces_by_holder(plan, program, layout, size));
}

} // namespace

BOOST_AUTO_TEST_SUITE(storage_file_pieces)

BOOST_AUTO_TEST_CASE(files_of_ranks_are_written_by_the_processes_that_play_them) {
    shard_table shards(1);
    for (holder_t const rank : {0u, 1u, 1u, 4u})
        shards.push_back(rank, {{static_cast<index_t>(shards.size())}, {1}});
    auto const plan =
        plan_sharded(test::listed_layout(5, {{"w", data_type::u8, {4}, std::move(shards)}}));
    BOOST_TEST(texts(plan, pieces_by_rank(plan, 1)) == (strings{4, "w 0-1 0"}),
               boost::test_tools::per_element());
    BOOST_TEST(texts(plan, pieces_by_rank(plan, 3)) ==
                   (strings{"w 0-1 0", "w 0-1 1", "w 0-1 1", "w 0-1 1"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(processes_write_equal_numbers_of_chunks_one_behind_the_other) {
    auto const plan = plan_huggingface(catalog({{"a", data_type::u8, {3 * mib + 5}, {1}},
                                                {"b", data_type::u8, {0}, {1}},
                                                {"c", data_type::u8, {mib}, {1}}}));
    BOOST_TEST(texts(plan, pieces_by_bytes(plan, 2)) ==
                   (strings{"a 0-3145728 0", "a 3145728-3145733 1", "b 0-0 1", "c 0-1048576 1"}),
               boost::test_tools::per_element());
    BOOST_TEST(texts(plan, pieces_by_bytes(plan, 1)) ==
                   (strings{"a 0-3145733 0", "b 0-0 0", "c 0-1048576 0"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(elements_of_six_bits_are_cut_where_bytes_and_chunks_end) {
    auto const plan =
        plan_huggingface(catalog({{"a", data_type::f6_e2m3, {8 * mib}, {1}}})); // 6 MiB
    BOOST_TEST(texts(plan, pieces_by_bytes(plan, 4)) ==
                   (strings{"a 0-3145728 0", "a 3145728-6291456 2"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_process_writes_the_chunks_that_it_holds) {
    // Rows of 1 MiB: the first two and a half chunks at rank 0, the rest at rank 1.
    auto const rows = shards_of({{{0, 0}, {5, mib / 2}}, {{5, 0}, {3, mib / 2}}});
    BOOST_TEST(pieces_held(test::listed_layout(2, {{"w", data_type::u8, {8, mib / 2}, rows}}), 2) ==
                   (strings{"w 0-2097152 0", "w 2097152-3145728 0*", "w 3145728-4194304 1"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(of_replicas_the_one_with_the_least_to_write_does_it) {
    auto const copies = shards_of({{{0}, {mib}}, {{0}, {mib}}, {{0}, {mib}}});
    std::vector<test::listed_tensor> tensors;
    for (char const* const key : {"a", "b", "c", "d"})
        tensors.push_back({key, data_type::u8, {mib}, copies});
    BOOST_TEST(pieces_held(test::listed_layout(3, std::move(tensors)), 3) ==
                   (strings{"a 0-1048576 0", "b 0-1048576 1", "c 0-1048576 2", "d 0-1048576 0"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(columns_are_gathered) {
    auto const columns = shards_of({{{0, 0}, {4, 2}}, {{0, 2}, {4, 2}}});
    BOOST_TEST(pieces_held(test::listed_layout(2, {{"w", data_type::f32, {4, 4}, columns}}), 2) ==
                   (strings{"w 0-64 0*"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(flat_ranges_of_whole_rows_are_held_in_one_run) {
    shard_table flat(2);
    flat.push_back(0, whole({4, 4}), flat_range{0, 7});
    flat.push_back(1, whole({4, 4}), flat_range{7, 16});
    flat.push_back(2, whole({4, 4}), flat_range{0, 16});
    BOOST_TEST(pieces_held(test::listed_layout(3, {{"w", data_type::f32, {4, 4}, flat}}), 3) ==
                   (strings{"w 0-64 2"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_piece_is_a_flat_range_of_its_shard) {
    auto const plan = plan_huggingface(catalog({{"a", data_type::bf16, {2, mib}, {1, 1}}}));
    auto const pieces = pieces_by_bytes(plan, 4);
    BOOST_TEST_REQUIRE(pieces.size() == 4u);
    BOOST_TEST((descriptor_of(plan.metadata, pieces[1]) ==
                shard_descriptor{
                    "a", data_type::bf16, {2, mib}, whole({2, mib}), flat_range{mib / 2, mib}}));
    layout const layout = layout_of(plan.metadata, pieces, 4);
    BOOST_TEST(layout.shards_of(layout.tensors[0]).holder(3) == 3u);
}

BOOST_AUTO_TEST_SUITE_END()
