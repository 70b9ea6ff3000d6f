// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/plan_cache.hpp>
#include <reshard/group/gather_layout.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <reshard/mpi/redistribute.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>
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

/// The tiles of a block-cyclic matrix that a rank holds. Each is an array of its own, and they lie
/// one after the other, `gap` elements apart.
struct tiles {
    index_vector shape;
    index_vector block;
    index_vector grid;
    index_t gap;
    bool come_down_columns;
    bool have_columns_first;

    std::vector<box> boxes(index_t rank) const {
        index_vector const at{rank / grid[1], rank % grid[1]};
        std::vector<box> held;
        std::size_t const outer = come_down_columns, inner = 1 - outer;
        for (index_t i = at[outer] * block[outer]; i < shape[outer];
             i += grid[outer] * block[outer])
            for (index_t j = at[inner] * block[inner]; j < shape[inner];
                 j += grid[inner] * block[inner]) {
                box tile{{0, 0}, {0, 0}};
                tile.offset[outer] = i;
                tile.offset[inner] = j;
                for (std::size_t const axis : {0u, 1u})
                    tile.shape[axis] = std::min(block[axis], shape[axis] - tile.offset[axis]);
                held.push_back(tile);
            }
        return held;
    }

    index_t memory(index_t rank) const {
        index_t elements = 0;
        for (box const& tile : boxes(rank))
            elements += element_count(tile) + gap;
        return elements;
    }

    /// Adds the tiles in `memory`, and calls `visit(element, index)` for each element, with its
    /// index in the matrix.
    template <class Element>
    void add_to(auto& tensors, index_t rank, std::vector<Element>& memory, auto&& visit) const {
        Element* first = memory.data();
        for (box const& tile : boxes(rank)) {
            index_vector const strides = have_columns_first ? index_vector{1, tile.shape[0]}
                                                            : index_vector{tile.shape[1], 1};
            tensors.add({"m", data_type::f64, shape, tile},
                        tensor_view{first, data_type::f64, tile.shape, strides});
            for (index_t i = 0; i < tile.shape[0]; ++i)
                for (index_t j = 0; j < tile.shape[1]; ++j)
                    visit(first[i * strides[0] + j * strides[1]],
                          (tile.offset[0] + i) * shape[1] + tile.offset[1] + j);
            first += element_count(tile) + gap;
        }
    }
};

} // namespace

// Tiles become tiles of other extents on another grid, and no byte between them is written.
BOOST_AUTO_TEST_CASE(tiles_move_element_by_element) {
    boost::mpi::communicator const world;
    index_t const rank = world.rank(), size = world.size();
    std::mt19937 random(11);
    auto const any = [&](index_t below) {
        return static_cast<index_t>(random() % static_cast<unsigned>(below));
    };
    int sources_joined = 0, targets_joined = 0;
    for (int round = 0; round < 60; ++round) {
        index_vector const shape{any(90) + 1, any(90) + 1};
        auto const any_tiles = [&] {
            index_t rows = any(size) + 1;
            while (size % rows != 0)
                --rows;
            return tiles{
                shape,      {any(4) + 1, any(4) + 1}, {rows, size / rows}, any(3), any(2) == 1,
                any(2) == 1};
        };
        tiles const given = any_tiles(), wanted = any_tiles();
        std::vector<double> source(static_cast<std::size_t>(given.memory(rank))),
            target(static_cast<std::size_t>(wanted.memory(rank)), -1);
        const_state_dict have;
        state_dict want;
        given.add_to(have, rank, source,
                     [](double& element, index_t index) { element = static_cast<double>(index); });
        wanted.add_to(want, rank, target, [](double&, index_t) {});
        sources_joined += have.shards().joined_with_tiles().size() < have.size();
        targets_joined += want.shards().joined_with_tiles().size() < want.size();
        redistribute(world, have, want);
        std::size_t wrong = 0, found = 0;
        state_dict ignored;
        wanted.add_to(ignored, rank, target, [&](double& element, index_t index) {
            wrong += std::exchange(element, -1) != static_cast<double>(index);
            ++found;
        });
        BOOST_TEST(wrong == 0u, "round " << round << ", of " << found);
        BOOST_TEST(std::ranges::count(target, -1.0) == static_cast<std::ptrdiff_t>(target.size()));
    }
    BOOST_TEST(sources_joined > 10);
    BOOST_TEST(targets_joined > 10);
}

BOOST_AUTO_TEST_CASE(tiles_along_an_axis_count_as_one_shard) {
    boost::mpi::communicator const world;
    for (bool const is_down : {false, true}) {
        tiles const given{{24, 10 * world.size()}, {2, 2}, {1, world.size()}, 3, is_down, false};
        std::vector<double> memory(static_cast<std::size_t>(given.memory(world.rank())));
        const_state_dict have;
        given.add_to(have, world.rank(), memory, [](double&, index_t) {});
        job const moving = prepare(world, have, {});
        // Tiles that touch are no blocks of one shard: those of a column are twelve shards.
        auto const blocks =
            static_cast<std::size_t>(world.size() == 1 ? 12 * 5 : 12 * world.size());
        BOOST_TEST(blocks_fixture::shards_of(moving.source_layout()) == blocks);
    }
}

// Tiles of different tensors that take turns in memory are legal; tiles that share bytes are not.
BOOST_AUTO_TEST_CASE(target_tiles_that_share_memory_are_refused) {
    boost::mpi::communicator const world;
    for (index_t const shift : {4, 3, 0}) {
        std::vector<double> memory(400), source(160, 1.0);
        state_dict want;
        const_state_dict have;
        for (char const* const key : {"a", "b"}) {
            index_t const first = *key == 'a' ? 0 : shift;
            for (index_t i = 0; i < 40; ++i)
                want.add(
                    {key, data_type::f64, {2, 160}, {{0, 4 * i}, {2, 2}}},
                    tensor_view{memory.data() + 8 * i + first, data_type::f64, {2, 2}, {2, 1}});
            have.add({key, data_type::f64, {2, 160}, {{0, 0}, {2, 160}}},
                     const_tensor_view{source.data(), data_type::f64, {2, 160}, {0, 1}});
        }
        BOOST_TEST(want.shards().joined_with_tiles().size() == 2u);
        if (shift == 4)
            redistribute(world, have, want);
        else
            BOOST_CHECK_EXCEPTION(redistribute(world, have, want), error, [](error const& problem) {
                return problem.code() == errc::memory_overlap;
            });
        BOOST_TEST(std::ranges::count(memory, 1.0) == (shift == 4 ? 320 : 0));
    }
}

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
