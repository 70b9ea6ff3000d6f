// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/plan_cache.hpp>
#include <reshard/group/gather_layout.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <reshard/mpi/redistribute.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(mpi_joined_shards)

namespace {

constexpr index_t block = 3, blocks_each = 2, columns = 10;

/// Rows in blocks of three dealt round, columns in blocks of four, each rank's in one local array;
/// and the same rows in one piece a rank. The value of an element is its index in the tensor.
struct blocks_fixture {
    boost::mpi::communicator world;
    index_t rank = world.rank();
    index_t size = world.size();
    index_t rows = block * blocks_each * size;
    std::vector<float> local = std::vector<float>(block * blocks_each * columns);
    std::vector<float> piece = std::vector<float>(block * blocks_each * columns, -1);

    blocks_fixture() {
        for (index_t row = 0; row < block * blocks_each; ++row)
            for (index_t column = 0; column < columns; ++column)
                local[static_cast<std::size_t>(row * columns + column)] =
                    value(block * (row / block * size + rank) + row % block, column);
    }

    float value(index_t row, index_t column) const {
        return static_cast<float>(row * columns + column);
    }

    shard_descriptor shard(box region) const {
        return {"a", data_type::f32, {rows, columns}, std::move(region), {}};
    }

    /// The local array's blocks; `gap` lets the columns' last block lie in separate memory.
    const_state_dict dealt(std::vector<float> const* apart = nullptr) const {
        const_state_dict tensors;
        for (index_t i = 0; i < blocks_each; ++i)
            for (index_t column = 0; column < columns; column += 4) {
                index_t const width = std::min<index_t>(4, columns - column);
                auto const& memory = apart && column == 8 ? *apart : local;
                tensors.add(shard({{block * (i * size + rank), column}, {block, width}}),
                            const_tensor_view{memory.data() + i * block * columns + column,
                                              data_type::f32,
                                              {block, width},
                                              {columns, 1}});
            }
        return tensors;
    }

    state_dict in_one_piece() {
        state_dict wanted;
        index_t const first = block * blocks_each * rank;
        for (index_t i = 0; i < block * blocks_each; ++i)
            wanted.add(shard({{first + i, 0}, {1, columns}}),
                       tensor_view{
                           piece.data() + i * columns, data_type::f32, {1, columns}, {columns, 1}});
        return wanted;
    }

    std::size_t wrong_elements() const {
        std::size_t wrong = 0;
        index_t const first = block * blocks_each * rank;
        for (index_t i = 0; i < block * blocks_each * columns; ++i)
            wrong += piece[static_cast<std::size_t>(i)] != value(first + i / columns, i % columns);
        return wrong;
    }

    static std::size_t shards_of(layout const& layout) {
        return layout.shards_of(layout.tensors.at(0)).size();
    }
};

/// Rank 0 holds the first rows in one array, block by block; so does the last rank, its last
/// columns apart.
struct replicas {
    std::vector<float> values;
    std::vector<float> apart;
    const_state_dict tensors;

    replicas(blocks_fixture const& of, index_t rows_held)
        : values(static_cast<std::size_t>(of.rows * columns)) {
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<float>(i);
        apart = values;
        for (index_t row = 0; row < rows_held && (of.rank == 0 || of.rank + 1 == of.size);
             row += block)
            for (index_t column = 0; column < columns; column += 5) {
                auto const& memory = of.rank > 0 && column > 0 ? apart : values;
                tensors.add(of.shard({{row, column}, {block, 5}}),
                            const_tensor_view{memory.data() + row * columns + column,
                                              data_type::f32,
                                              {block, 5},
                                              {columns, 1}});
            }
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_local_array_counts_as_few_shards, blocks_fixture) {
    job moving = prepare(world, dealt(), in_one_piece());
    run(moving);
    BOOST_TEST(wrong_elements() == 0u);
    auto const ranks = static_cast<std::size_t>(size);
    BOOST_TEST(shards_of(moving.source_layout()) == ranks);
    BOOST_TEST(shards_of(moving.target_layout()) == ranks);
}

BOOST_FIXTURE_TEST_CASE(a_layout_that_is_known_is_kept, blocks_fixture) {
    layout const layout = gather_layout(mpi_group(world), dealt().descriptors());
    job moving = prepare(world, source_tensors{dealt(), layout}, target_tensors{in_one_piece()});
    run(moving);
    BOOST_TEST(wrong_elements() == 0u);
    BOOST_TEST(shards_of(moving.source_layout()) ==
               3 * blocks_each * static_cast<std::size_t>(size));
}

BOOST_FIXTURE_TEST_CASE(replicas_that_lie_otherwise_are_replicas_still, blocks_fixture) {
    replicas const held(*this, rows);
    job moving = prepare(world, held.tensors, in_one_piece());
    run(moving);
    BOOST_TEST(wrong_elements() == 0u);
    auto const blocks = static_cast<std::size_t>(2 * rows / block);
    BOOST_TEST(shards_of(moving.source_layout()) == (size == 1 ? 1u : 2 * blocks));
}

// The first and the last rank hold the first half of the rows: together they have as many elements
// as the tensor.
BOOST_FIXTURE_TEST_CASE(replicas_of_a_half_are_replicas_still, blocks_fixture) {
    replicas const held(*this, rows / 2);
    state_dict wanted;
    index_t const mine = std::min(rows / 2, (rank + 1) * block * blocks_each);
    for (index_t row = rank * block * blocks_each; row < mine; ++row)
        wanted.add(shard({{row, 0}, {1, columns}}),
                   tensor_view{piece.data() + (row - rank * block * blocks_each) * columns,
                               data_type::f32,
                               {1, columns},
                               {columns, 1}});
    job moving = prepare(world, held.tensors, wanted);
    run(moving);
    for (index_t row = rank * block * blocks_each; row < mine; ++row)
        for (index_t column = 0; column < columns; ++column)
            BOOST_TEST(piece[static_cast<std::size_t>((row - rank * block * blocks_each) * columns +
                                                      column)] == value(row, column));
}

BOOST_FIXTURE_TEST_CASE(kept_plans_see_that_memory_was_parted, blocks_fixture) {
    plan_cache kept(2);
    std::vector<float> const apart = local;
    for (bool const is_apart : {false, false, true, true, false}) {
        std::ranges::fill(piece, -1.F);
        job moving =
            prepare(world, dealt(is_apart ? &apart : nullptr), in_one_piece(), {.cache = &kept});
        run(moving);
        BOOST_TEST(wrong_elements() == 0u);
    }
}

BOOST_AUTO_TEST_SUITE_END()
