// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/tensor/shard_list.hpp>

#include <reshard/tensor/self_overlap.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <thread>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(tensor_shard_list)

namespace {

/// The index of an element in its tensor, and its address.
using placed_element = std::pair<std::vector<index_t>, std::uintptr_t>;

/// Adds the elements of a shard, one by one.
void list_elements(local_shard const& shard, std::vector<placed_element>& elements) {
    auto const& [descriptor, tensor] = shard;
    std::size_t const ndim = descriptor.region.offset.size();
    std::size_t const over_blocks = tensor.shape.size() - ndim; // so many axes come first
    index_t const count = element_count(tensor.shape);
    for (index_t number = 0; number < count; ++number) {
        std::vector<index_t> index(descriptor.region.offset.begin(),
                                   descriptor.region.offset.end());
        std::uintptr_t address = reinterpret_cast<std::uintptr_t>(tensor.data);
        index_t rest = number, inner = count;
        for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
            inner /= tensor.shape[i];
            index_t at = rest / inner;
            rest %= inner;
            address += static_cast<std::uintptr_t>(at * tensor.strides[i]) * sizeof(double);
            for (axis_cycle const& cycle : descriptor.cycles)
                if (i < over_blocks && cycle.axis == i)
                    at *= cycle.period;
                else if (i >= over_blocks && cycle.axis == i - over_blocks)
                    at = at / cycle.block * cycle.period + at % cycle.block;
            index[i < over_blocks ? i : i - over_blocks] += at;
        }
        elements.emplace_back(index, address);
    }
}

/// A state dict, and a plain list of the same shards, which is the oracle.
struct runs_fixture {
    std::vector<double> elements = std::vector<double>(4000);
    state_dict shards;
    std::vector<local_shard> added;

    void add(local_shard shard) {
        shards.add(shard.descriptor, shard.tensor);
        added.push_back(std::move(shard));
    }
    void add(box const& region, std::size_t first, index_vector const& strides,
             index_vector const& shape = {40, 40}) {
        add({{"w", data_type::f64, shape, region},
             {elements.data() + first, data_type::f64, region.shape, strides}});
    }

    /// True if the list has these shards in order, and if the joined shards have their elements at
    /// the same addresses.
    bool lists_what_was_added() const {
        std::vector<placed_element> joined, with_tiles, separate;
        shards.shards().for_each_joined(
            [](local_shard const&) { return true; },
            [&](local_shard const& shard, local_shard const&) { list_elements(shard, joined); });
        shards.shards().joined_with_tiles().for_each(
            [&](local_shard const& shard) { list_elements(shard, with_tiles); });
        for (local_shard const& shard : added)
            list_elements(shard, separate);
        std::ranges::sort(joined);
        std::ranges::sort(with_tiles);
        std::ranges::sort(separate);
        return shards.size() == added.size() && !shards.first_error() && joined == separate &&
               with_tiles == separate &&
               std::equal(shards.begin(), shards.end(), added.begin(), added.end());
    }
    std::size_t runs() const { return shards.shards().firsts().size(); }
};

/// How the blocks of a rank lie in memory.
enum class storage { rows, columns, one_after_the_other };

/// The blocks of the first process of a grid of 2 x 3, with blocks of `block`, of a matrix of
/// `shape`.
void add_blocks(runs_fixture& fixture, index_vector const& shape, index_vector const& block,
                storage stored, bool down_columns) {
    index_t rows = 0, columns = 0;
    for (index_t i = 0; i < shape[0]; i += 2 * block[0])
        rows += std::min(block[0], shape[0] - i);
    for (index_t j = 0; j < shape[1]; j += 3 * block[1])
        columns += std::min(block[1], shape[1] - j);
    std::size_t next = 0;
    auto const add = [&](index_t i, index_t j) {
        index_vector const held{std::min(block[0], shape[0] - i), std::min(block[1], shape[1] - j)};
        index_t const row = i / 2, column = j / 3; // whole blocks come before
        box const region{{i, j}, held};
        if (stored == storage::rows)
            fixture.add(region, static_cast<std::size_t>(row * columns + column), {columns, 1},
                        shape);
        else if (stored == storage::columns)
            fixture.add(region, static_cast<std::size_t>(row + column * rows), {1, rows}, shape);
        else
            fixture.add(region, next, {held[1], 1}, shape);
        next += static_cast<std::size_t>(held[0] * held[1]);
    };
    if (down_columns)
        for (index_t j = 0; j < shape[1]; j += 3 * block[1])
            for (index_t i = 0; i < shape[0]; i += 2 * block[0])
                add(i, j);
    else
        for (index_t i = 0; i < shape[0]; i += 2 * block[0])
            for (index_t j = 0; j < shape[1]; j += 3 * block[1])
                add(i, j);
}

} // namespace

// The blocks of an array are one run, whatever its order and theirs, also if the last are shorter.
BOOST_AUTO_TEST_CASE(the_blocks_of_an_array_take_the_memory_of_one) {
    for (index_vector const& shape : {index_vector{40, 36}, {41, 38}, {12, 60}})
        for (index_vector const& block : {index_vector{1, 1}, {1, 2}, {2, 1}, {3, 2}, {2, 2}})
            for (auto const stored : {storage::rows, storage::columns})
                for (bool const down_columns : {false, true}) {
                    runs_fixture fixture;
                    add_blocks(fixture, shape, block, stored, down_columns);
                    BOOST_TEST(fixture.runs() == 1u, to_string(shape) << to_string(block));
                    BOOST_TEST(fixture.lists_what_was_added());
                }
}

BOOST_AUTO_TEST_CASE(blocks_that_are_stored_one_after_the_other_are_listed_as_added) {
    for (index_vector const& block : {index_vector{1, 1}, {1, 2}, {2, 1}, {3, 2}, {5, 4}})
        for (bool const down_columns : {false, true}) {
            runs_fixture fixture;
            add_blocks(fixture, {41, 38}, block, storage::one_after_the_other, down_columns);
            BOOST_TEST(fixture.lists_what_was_added());
            if (block == index_vector{1, 1}) // these are an array without gaps
                BOOST_TEST(fixture.runs() == 1u);
        }
}

// Tiles of equal extents are one run, and one shard; of others, those of a row or column are.
BOOST_AUTO_TEST_CASE(tiles_of_equal_extents_take_the_memory_of_one) {
    for (index_vector const& shape : {index_vector{40, 36}, {41, 37}})
        for (index_vector const& block : {index_vector{1, 1}, {1, 2}, {2, 1}, {5, 2}, {2, 4}})
            for (bool const down_columns : {false, true}) {
                runs_fixture fixture;
                add_blocks(fixture, shape, block, storage::one_after_the_other, down_columns);
                bool const are_equal =
                    std::ranges::all_of(fixture.added, [&](local_shard const& tile) {
                        return tile.tensor.shape == block;
                    });
                std::size_t const rows = static_cast<std::size_t>(shape[0] / (2 * block[0]) + 1),
                                  columns = static_cast<std::size_t>(shape[1] / (3 * block[1]) + 1);
                BOOST_TEST(fixture.runs() <= (are_equal      ? 1
                                              : down_columns ? 2 * columns
                                                             : 2 * rows),
                           to_string(shape) << to_string(block));
                std::size_t const joined = fixture.shards.shards().joined_with_tiles().size();
                if (are_equal && fixture.added.size() >= 32)
                    BOOST_TEST(joined == 1u);
                BOOST_TEST(fixture.lists_what_was_added());
            }
}

BOOST_FIXTURE_TEST_CASE(few_tiles_stay_apart, runs_fixture) {
    auto const joined = [&] { return shards.shards().joined_with_tiles().size(); };
    for (index_t i = 0; i < 32; ++i) {
        BOOST_TEST(joined() == static_cast<std::size_t>(i));
        add({{0, 8 * i}, {2, 2}}, static_cast<std::size_t>(3900 - 100 * i), {2, 1}, {2, 300});
    }
    BOOST_TEST(joined() == 1u);
    BOOST_TEST(shards.joined().size() == 32u);
    add({{0, 8 * 32}, {2, 1}}, 700, {2, 1}, {2, 300}); // a shorter tile
    BOOST_TEST(runs() == 2u);
    BOOST_TEST(joined() == 2u);
    BOOST_TEST(lists_what_was_added());
}

BOOST_AUTO_TEST_CASE(tiles_of_two_columns_or_of_many_axes_stay_apart) {
    runs_fixture columns; // two tiles a row: each column is a shard
    for (index_t i = 0; i < 60; ++i)
        columns.add({{i / 2 * 4, i % 2 * 10}, {2, 3}}, static_cast<std::size_t>(50 * i), {3, 1},
                    {120, 20});
    BOOST_TEST(columns.runs() == 1u);
    BOOST_TEST(columns.shards.shards().joined_with_tiles().size() == 2u);
    BOOST_TEST(columns.lists_what_was_added());
    for (std::size_t const axes : {4u, 5u}) { // an array of 10 axes is not one of this library
        runs_fixture fixture;
        for (index_t i = 0; i < 40; ++i) {
            box region{index_vector::filled(axes, 0), index_vector::filled(axes, 1)};
            region.offset[0] = 4 * i;
            region.shape[0] = 2;
            index_vector shape = region.shape, strides = region.shape;
            shape[0] = 160;
            fixture.add(region, static_cast<std::size_t>(70 * i), strides, shape);
        }
        BOOST_TEST(fixture.shards.shards().joined_with_tiles().size() == (axes == 4 ? 1u : 40u));
        BOOST_TEST(fixture.lists_what_was_added());
    }
}

// A block elsewhere, and then arrays of blocks of which each begins elsewhere.
BOOST_AUTO_TEST_CASE(a_lone_block_takes_no_block_of_an_array) {
    for (index_t const blocks : {2, 3, 5}) {
        runs_fixture fixture;
        fixture.add({{0, 0}, {2, 2}}, 3900, {2 * blocks, 1}, {2, 400});
        for (index_t array = 0; array < 10; ++array)
            for (index_t i = 0; i < blocks; ++i)
                fixture.add({{0, 4 * (blocks * array + i + 1)}, {2, 2}},
                            static_cast<std::size_t>(100 * array + 3 * array * array + 2 * i),
                            {2 * blocks, 1}, {2, 400});
        BOOST_TEST(fixture.runs() == 11u);
        BOOST_TEST(fixture.shards.joined().size() == 11u);
        BOOST_TEST(fixture.lists_what_was_added());
    }
}

// Tiles that touch along axis 0, so that each row of tiles is a shard, three of the rows apart.
BOOST_AUTO_TEST_CASE(rows_of_tiles_that_touch_are_listed_as_added) {
    for (index_t const distance : {10, 6, 4}) {
        runs_fixture fixture;
        for (index_t i = 0; i < 40; ++i)
            for (index_t j = 0; j < 3; ++j)
                fixture.add({{2 * i, 4 * j}, {2, 2}},
                            static_cast<std::size_t>((3 * i + j) * distance), {2, 1}, {90, 40});
        BOOST_TEST(fixture.runs() == 1u);
        BOOST_TEST(fixture.shards.shards().joined_with_tiles().size() == 40u);
        BOOST_TEST(fixture.lists_what_was_added());
    }
}

BOOST_AUTO_TEST_CASE(tiles_at_a_distance_of_half_an_element_stay_apart) {
    std::vector<char> bytes(8 * 4000);
    state_dict shards;
    for (index_t i = 0; i < 40; ++i)
        shards.add({"w", data_type::f64, {2, 160}, {{0, 4 * i}, {2, 2}}},
                   tensor_view{bytes.data() + 44 * i, data_type::f64, {2, 2}, {2, 1}});
    BOOST_TEST(!shards.first_error().has_value());
    BOOST_TEST(shards.shards().joined_with_tiles().size() == 40u);
}

// Rows of blocks in arrays, at one distance from each other; the last blocks of a row are shorter.
BOOST_FIXTURE_TEST_CASE(arrays_of_blocks_are_tiles_along_other_axes, runs_fixture) {
    for (index_t row = 0; row < 72; row += 8)
        for (index_t column = 0; column < 38; column += 9)
            add({{row, column}, {3, std::min<index_t>(3, 38 - column)}},
                static_cast<std::size_t>(row * 50 + column / 3), {14, 1}, {75, 38});
    BOOST_TEST(runs() == 1u);
    BOOST_TEST(lists_what_was_added());
    state_dict const joined(shards.shards().joined_with_tiles());
    BOOST_REQUIRE(joined.size() == 1u);
    BOOST_TEST((joined[0].descriptor.region == box{{0, 0}, {67, 38}}));
    BOOST_TEST((joined[0].descriptor.cycles == axis_cycles{{0, 3, 8}, {1, 3, 9}}));
    BOOST_TEST((joined[0].tensor.shape == index_vector{9, 1, 3, 14}));
    BOOST_TEST((joined[0].tensor.strides == index_vector{400, 3, 14, 1}));
}

BOOST_AUTO_TEST_CASE(three_axes_are_one_run) {
    runs_fixture fixture;
    for (index_t i = 0; i < 6; i += 2)
        for (index_t j = 0; j < 9; j += 3)
            for (index_t k = 0; k < 8; k += 4)
                fixture.add({{i, j, k}, {1, 2, 3}},
                            static_cast<std::size_t>(i / 2 * 36 + j / 3 * 12 + k / 4 * 3),
                            {36, 6, 1}, {6, 9, 8});
    BOOST_TEST(fixture.runs() == 1u);
    BOOST_TEST(fixture.lists_what_was_added());
}

// Each case adds two blocks that are a run, and then one that differs in one thing.
BOOST_FIXTURE_TEST_CASE(shards_that_are_no_part_of_the_array_start_a_run, runs_fixture) {
    local_shard const first{{"w", data_type::f64, {40, 40}, {{4, 0}, {2, 3}}},
                            {elements.data(), data_type::f64, {2, 3}, {40, 1}}};
    local_shard second = first, third = first;
    second.descriptor.region.offset[1] = 6;
    second.tensor.data = elements.data() + 3;
    third.descriptor.region.offset[1] = 12;
    third.tensor.data = elements.data() + 6;
    std::vector<local_shard> others(11, third);
    others[0].descriptor.key = "v";
    others[1].descriptor.global_shape = {40, 50};
    others[2].descriptor.dtype = others[2].tensor.dtype = data_type::i64;
    others[3].descriptor.region.offset[1] = 13;
    others[4].descriptor.region.offset[0] = 5;
    others[5].tensor.data = elements.data() + 7;
    others[6].tensor.strides[0] = 41;
    others[7].descriptor.region.shape[1] = others[7].tensor.shape[1] = 4;
    others[8].descriptor.region.shape[0] = others[8].tensor.shape[0] = 1;
    others[9].descriptor.region.shape[0] = others[9].tensor.shape[0] = 0;
    others[10].descriptor.region.shape[1] = others[10].tensor.shape[1] = 0;
    for (local_shard const& other : others) {
        runs_fixture fixture;
        for (local_shard const& shard : {first, second, other, third})
            fixture.add(shard);
        BOOST_TEST(fixture.lists_what_was_added());
        BOOST_TEST(fixture.runs() == 3u, to_string(other.descriptor));
    }
    runs_fixture fixture;
    for (local_shard const& shard : {first, second, third})
        fixture.add(shard);
    BOOST_TEST(fixture.runs() == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_finished_row_does_not_grow, runs_fixture) {
    for (index_t row : {0, 4})
        for (index_t column : {0, 4})
            add({{row, column}, {2, 2}}, static_cast<std::size_t>(row * 6 + column / 2), {12, 1});
    BOOST_TEST(runs() == 1u);
    add({{0, 8}, {2, 2}}, 4, {12, 1});
    BOOST_TEST(lists_what_was_added());
    BOOST_TEST(runs() == 2u);
}

BOOST_FIXTURE_TEST_CASE(blocks_that_touch_in_memory_alone_are_no_run, runs_fixture) {
    add({{0, 0}, {2, 4}}, 0, {40, 1}); // they overlap in the tensor
    add({{0, 2}, {2, 4}}, 4, {40, 1});
    BOOST_TEST(runs() == 2u);
    add({{4, 0}, {2, 4}}, 8, {40, 1}); // along both axes
    BOOST_TEST(runs() == 3u);
    add({{4, 6}, {2, 4}}, 20, {40, 1}); // elsewhere in memory: a tile at some distance
    BOOST_TEST(runs() == 3u);
    BOOST_TEST(shards.shards().joined_with_tiles().size() == 4u);
    BOOST_TEST(lists_what_was_added());
}

// Rows of a matrix of which a rank has every second pair of columns.
BOOST_FIXTURE_TEST_CASE(shards_that_are_blocks_themselves_are_runs_along_other_axes, runs_fixture) {
    for (index_t row = 0; row < 12; row += 3)
        add({{"w", data_type::f64, {40, 40}, {{row, 0}, {1, 6}}, {}, {{1, 2, 4}}},
             {elements.data() + row / 3 * 4, data_type::f64, {1, 4}, {4, 1}}});
    BOOST_TEST(runs() == 1u);
    add({{"w", data_type::f64, {40, 40}, {{12, 0}, {1, 6}}, {}, {{1, 1, 5}}},
         {elements.data() + 16, data_type::f64, {1, 2}, {4, 1}}});
    add({{"w", data_type::f64, {40, 40}, {{12, 8}, {1, 6}}, {}, {{1, 1, 5}}},
         {elements.data() + 18, data_type::f64, {1, 2}, {4, 1}}});
    BOOST_TEST(runs() == 3u);
    BOOST_TEST(lists_what_was_added());
}

BOOST_AUTO_TEST_CASE(flat_shards_and_elements_of_half_a_byte_are_no_run) {
    std::vector<unsigned char> bytes(64);
    state_dict flat, halves;
    for (index_t i = 0; i < 3; ++i) {
        flat.add(
            shard_descriptor{"f", data_type::i8, {30, 2}, {{4 * i, 0}, {2, 2}}, flat_range{0, 2}},
            tensor_view{bytes.data() + 2 * i, data_type::i8, {2}, {1}});
        halves.add(shard_descriptor{"h", data_type::f4, {30}, {{4 * i}, {2}}},
                   tensor_view{bytes.data() + i, data_type::f4, {2}, {1}});
    }
    for (state_dict const& shards : {flat, halves}) {
        BOOST_TEST(!shards.first_error().has_value());
        BOOST_TEST(shards.shards().firsts().size() == 3u);
    }
}

// Shards on a device may be separate allocations, which no copy of bytes may cross.
BOOST_AUTO_TEST_CASE(shards_on_a_device_are_no_run_and_are_not_joined) {
    std::vector<float> elements(64);
    for (memory_space const memory : {memory_space(), memory_space(memory_space::cuda)}) {
        state_dict shards;
        for (index_t i = 0; i < 4; ++i)
            shards.add(
                shard_descriptor{"w", data_type::f32, {16, 2}, {{4 * i, 0}, {4, 2}}},
                tensor_view{elements.data() + 8 * i, data_type::f32, {4, 2}, {2, 1}, memory});
        bool const is_host = memory.is_host();
        BOOST_TEST(shards.shards().firsts().size() == (is_host ? 1u : 4u));
        BOOST_TEST(shards.joined().size() == (is_host ? 1u : 4u));
    }
}

// A step adds a shard without `check`, so what it would refuse must not continue a run.
BOOST_FIXTURE_TEST_CASE(a_bad_shard_after_a_run_is_refused, runs_fixture) {
    auto const block = [&](index_t column, index_t width) {
        return std::pair(
            shard_descriptor{"w", data_type::f64, {40, 40}, {{0, column}, {1, width}}},
            tensor_view{elements.data() + column / 2, data_type::f64, {1, width}, {20, 1}});
    };
    auto bad_null = block(4, 1);
    bad_null.second.data = nullptr;
    auto bad_shape = block(4, 1);
    bad_shape.second.shape[0] = 2;
    auto bad_width = block(4, 1);
    bad_width.second.shape[1] = 2;
    auto bad_type = block(4, 1);
    bad_type.second.dtype = data_type::i64;
    auto bad_axes = block(4, 1);
    bad_axes.first.region.offset = {0};
    auto bad_extent = block(4, 1);
    bad_extent.first.region.shape[1] = bad_extent.second.shape[1] = -1;
    for (auto const& [descriptor, tensor] :
         {bad_null, bad_shape, bad_width, bad_type, bad_axes, bad_extent}) {
        for (std::size_t const before : {1u, 2u}) {
            state_dict dict;
            for (std::size_t i = 0; i < before; ++i) {
                auto const [good, memory] = block(4 - 2 * static_cast<index_t>(before - i), 1);
                dict.add(good, memory);
            }
            BOOST_TEST(!dict.first_error().has_value());
            dict.add(descriptor, tensor);
            BOOST_TEST(dict.first_error().has_value());
            BOOST_TEST(dict.size() == before);
        }
    }
    auto const address = reinterpret_cast<std::uintptr_t>(elements.data());
    index_vector const to_null{-static_cast<index_t>(address / sizeof(double)), 1};
    state_dict down_to_null; // the stride leads from the first row to the null address
    for (index_t const row : {0, 2})
        down_to_null.add(
            shard_descriptor{"w", data_type::f64, {40, 40}, {{row, 0}, {1, 2}}},
            tensor_view{row == 0 ? elements.data() : nullptr, data_type::f64, {1, 2}, to_null});
    BOOST_TEST(down_to_null.first_error().has_value());
    state_dict at_the_end; // the last block would exceed the tensor by one
    for (index_t column = 0; column < 40; column += 4)
        at_the_end.add(
            shard_descriptor{"w", data_type::f64, {1, 38}, {{0, column}, {1, 3}}},
            tensor_view{elements.data() + column / 4 * 3, data_type::f64, {1, 3}, {30, 1}});
    BOOST_TEST(at_the_end.size() == 9u);
    BOOST_TEST(at_the_end.first_error().has_value());
}

// Grids of blocks, most of them with some block that does not fit: left out, moved, or of another
// shape.
BOOST_AUTO_TEST_CASE(random_blocks_are_listed_as_added) {
    std::mt19937 random(7);
    auto const any = [&](index_t below) {
        return static_cast<index_t>(random() % static_cast<unsigned>(below));
    };
    std::size_t longer_runs = 0, runs_of_two_steps = 0;
    for (int round = 0; round < 2000; ++round) {
        runs_fixture fixture;
        index_vector const counts{any(4) + 1, any(4) + 1, any(4) + 1};
        index_vector const block{any(2) + 1, any(2) + 1, any(2) + 1};
        index_vector const strides{counts[1] * block[1] * counts[2] * block[2],
                                   counts[2] * block[2], 1};
        index_vector const defect{any(5), any(5), any(5)};
        index_t const change = any(5);
        for (index_t i = 0; i < element_count(counts); ++i) {
            index_vector const index = unravel_index(i, counts);
            box region{{}, block};
            index_t first = 0;
            for (std::size_t axis = 0; axis < 3; ++axis) {
                region.offset.push_back(index[axis] * 2 * block[axis]);
                first += index[axis] * block[axis] * strides[axis];
            }
            if (index == defect && change == 0)
                continue;
            if (index == defect && change == 1)
                first += 1;
            if (index == defect && change == 2)
                region.shape[static_cast<std::size_t>(any(3))] = 1;
            if (index == defect && change == 3)
                region.offset[static_cast<std::size_t>(any(3))] += 1;
            fixture.add(region, static_cast<std::size_t>(first), strides, {40, 40, 40});
        }
        BOOST_TEST(fixture.lists_what_was_added());
        for (std::size_t run = 0; run < fixture.runs(); ++run) {
            longer_runs += !fixture.shards.shards().runs().steps(run).empty();
            runs_of_two_steps += fixture.shards.shards().runs().steps(run).size() >= 2;
        }
    }
    BOOST_TEST(longer_runs > 2000u);
    BOOST_TEST(runs_of_two_steps > 1000u);
}

BOOST_FIXTURE_TEST_CASE(copies_and_assignments_have_the_same_shards, runs_fixture) {
    for (index_t column = 0; column < 40; column += 4)
        add({{0, column}, {2, 2}}, static_cast<std::size_t>(column / 2), {20, 1});
    BOOST_TEST(lists_what_was_added());
    state_dict copy = shards;
    BOOST_TEST((copy == shards));
    add({{10, 0}, {2, 2}}, 100, {20, 1});
    BOOST_TEST(lists_what_was_added());
    BOOST_TEST(copy.size() == 10u);
    add({{10, 4}, {2, 2}}, 102, {20, 1}); // continues a run after the list was made
    BOOST_TEST(lists_what_was_added());
    copy = shards;
    BOOST_TEST((copy == shards));
    state_dict moved = std::move(copy);
    BOOST_TEST((moved == shards));
    const_state_dict const seen = shards;
    BOOST_TEST(seen.size() == 12u);
    BOOST_TEST((seen[9].descriptor == added[9].descriptor));
    BOOST_TEST(seen.shards().firsts().size() == 2u);
    state_dict& same = moved;
    moved = same;
    BOOST_TEST(moved.size() == 12u);
    copy = std::move(moved);
    copy.add(added[0].descriptor, added[0].tensor); // does not change the list of the original
    BOOST_TEST(copy.size() == 13u);
    BOOST_TEST(lists_what_was_added());
}

BOOST_FIXTURE_TEST_CASE(threads_see_one_list, runs_fixture) {
    for (index_t column = 0; column < 40; column += 2)
        add({{0, column}, {2, 1}}, static_cast<std::size_t>(column / 2), {20, 1});
    std::vector<local_shard const*> begins(8);
    std::vector<std::thread> threads;
    for (local_shard const*& begin : begins)
        threads.emplace_back([&] { begin = &shards[0]; });
    for (std::thread& thread : threads)
        thread.join();
    for (local_shard const* const begin : begins)
        BOOST_TEST(begin == &shards[0]);
    BOOST_TEST(lists_what_was_added());
}

BOOST_AUTO_TEST_SUITE_END()
