// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/mpi/node_copies.hpp>

#include <reshard/expr/by_name.hpp>
#include <reshard/layout/layout_of.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

namespace {

constexpr index_t row_count = 4095, column_count = 96;

/// All rows on rank 1, `pitch` elements apart, become a third of the columns on each of three ranks, whose
/// memory is all here. Columns are dealt out in blocks.
struct panel_fixture {
    std::vector<double> source;
    std::vector<std::vector<double>> targets;
    layout from, to;
    mapping program;
    plan_problem problem;
    plan whole_plan;
    shard_views<const_tensor_view> sources;
    shard_views<tensor_view> target_views;
    bound_plan bound{whole_plan, problem, sources, target_views};
    copy_table copies;

    explicit panel_fixture(index_t rows = row_count, index_t pitch = column_count,
                           index_t block = column_count / 3)
        : source(static_cast<std::size_t>(rows * pitch)),
          targets(3, std::vector<double>(static_cast<std::size_t>(rows * column_count / 3))) {
        std::iota(source.begin(), source.end(), 0.0);
        index_vector const shape{rows, column_count};
        from = layout_of("w", data_type::f64, shape, {{"q", 3}}, {only{1}});
        to = layout_of("w", data_type::f64, shape, {{"q", 3}}, {block_cyclic{1, block}});
        program = by_name(catalog_of(from), to);
        problem = problem_of(program, from, to);
        whole_plan = make_plan(problem);
        sources.add(0, 0, {source.data(), data_type::f64, shape, {pitch, 1}});
        for (std::uint32_t i = 0; i < 3; ++i)
            target_views.add(0, i, {targets[i].data(), data_type::f64, {rows, 32}, {32, 1}});
    }

    std::vector<bound_copy> ordered() {
        std::vector<std::uint32_t> local;
        std::vector<node_transfer> on_node;
        for (std::uint32_t i = 0; i < whole_plan.transfers.size(); ++i) {
            transfer const& transfer = whole_plan.transfers[i];
            int const turn = static_cast<int>(transfer.target_holder + 2) % 3; // from rank 1 on
            if (turn == 0)
                local.push_back(i);
            else
                on_node.push_back(
                    {i, turn, false, {source_end(bound, transfer), target_end(bound, transfer)}});
        }
        detail::chunk_binder const binder(bound, stores::cached, copies);
        return detail::node_copies(binder, bound, on_node, local, copies);
    }

    /// How many ranks after rank 1 the one is into whose memory a copy goes.
    int turn_of(bound_copy const& copy) const {
        for (int rank = 0; rank < 3; ++rank) {
            auto const& memory = targets[static_cast<std::size_t>(rank)];
            auto const* const first = reinterpret_cast<std::byte const*>(memory.data());
            if (copy.target >= first && copy.target < first + memory.size() * sizeof(double))
                return (rank + 2) % 3;
        }
        return -1;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(mpi_node_copies, panel_fixture)

BOOST_AUTO_TEST_CASE(a_source_is_read_once_from_its_beginning_in_turns) {
    auto const order = ordered();
    BOOST_TEST(order.size() == 9u); // 3 MiB, of which a panel has 1 MiB
    auto const* const first = reinterpret_cast<std::byte const*>(source.data());
    std::ptrdiff_t last_row = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        BOOST_TEST(turn_of(order[i]) == static_cast<int>(i % 3));
        BOOST_TEST(order[i].joins_next == (i % 3 != 2));
        std::ptrdiff_t const row = (order[i].source - first) / (column_count * 8);
        BOOST_TEST((i % 3 == 0 ? row >= last_row : row == last_row));
        last_row = row;
    }
}

BOOST_AUTO_TEST_CASE(small_blocks_of_a_large_array_stay_whole_and_join_others_of_the_same_rows) {
    panel_fixture small(36, 40'000); // a panel of 1 MiB has 3 rows of such an array
    auto const order = small.ordered();
    BOOST_TEST_REQUIRE(order.size() == 3u);
    auto const* const first = reinterpret_cast<std::byte const*>(small.source.data());
    for (std::size_t i = 0; i < 3; ++i) {
        BOOST_TEST(order[i].bytes == 36 * 32 * 8);
        BOOST_TEST(order[i].source == first + i * 32 * 8);
        BOOST_TEST(order[i].joins_next == (i < 2));
    }
}

BOOST_AUTO_TEST_CASE(short_runs_and_short_rows_are_copied_many_at_a_time) {
    for (index_t const block : {2, 4}) { // runs of 16 and 32 bytes
        panel_fixture short_runs(row_count, column_count + 8, block);
        auto const order = short_runs.ordered();
        BOOST_TEST(order.size() == 12u); // a panel of 1 MiB has 1260 rows
        for (bound_copy const& copy : order)
            BOOST_TEST(!copy.joins_next);
    }
    // Lines of 64 bytes, of which a row has four.
    BOOST_TEST(panel_fixture(row_count, column_count + 8, 8).ordered().size() == 12u);
}

BOOST_AUTO_TEST_CASE(all_elements_arrive) {
    row_batch blocks;
    for (bound_copy const& copy : ordered())
        blocks.add(copies[copy.copy], copy.source, copy.target, copy.joins_next);
    std::size_t wrong = 0;
    for (index_t rank = 0; rank < 3; ++rank)
        for (index_t i = 0; i < row_count * 32; ++i)
            wrong += targets[static_cast<std::size_t>(rank)][static_cast<std::size_t>(i)] !=
                     static_cast<double>(i / 32 * column_count + rank * 32 + i % 32);
    BOOST_TEST(wrong == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
