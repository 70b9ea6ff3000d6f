// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/adapt/raw_tensor.hpp>

#include <reshard/tensor/state_dict.hpp>

#include <reshard/layout/layout_of.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(tensor_joined_shards)

namespace {

/// An 8 x 6 tensor of f32, all of it in one array, and shards that show parts of that.
struct array_fixture {
    std::vector<float> elements = std::vector<float>(48);
    state_dict shards;

    tensor_view at(index_t row, index_t column, index_vector shape) {
        return {elements.data() + row * 6 + column, data_type::f32, shape, {6, 1}};
    }
    static shard_descriptor shard(box region) {
        return {"w", data_type::f32, {8, 6}, std::move(region), {}};
    }
    /// The part of the array that is that box of the tensor.
    void add(box const& region) {
        shards.add(shard(region), at(region.offset[0], region.offset[1], region.shape));
    }
    /// The shards are joined to rows 0-1 and 4-5 of the tensor, in the array's first four rows.
    void check_rows_in_blocks() {
        auto const joined = shards.joined();
        BOOST_REQUIRE(joined.size() == 1u);
        shard_descriptor expected = shard({{0, 0}, {6, 6}});
        expected.cycles = {{0, 2, 4}};
        BOOST_TEST((joined[0].descriptor == expected));
        BOOST_TEST((joined[0].tensor == at(0, 0, {4, 6})));
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(blocks_of_an_array_become_one_shard, array_fixture) {
    for (index_t const row : {4, 0, 2, 6})
        for (index_t const column : {3, 0})
            add({{row, column}, {2, 3}});
    auto const joined = shards.joined();
    BOOST_REQUIRE(joined.size() == 1u);
    BOOST_TEST((joined[0].descriptor == shard({{0, 0}, {8, 6}})));
    BOOST_TEST((joined[0].tensor == at(0, 0, {8, 6})));
}

BOOST_FIXTURE_TEST_CASE(blocks_at_equal_distances_that_are_neighbours_in_the_array_become_one,
                        array_fixture) {
    // Rows 0-1 and 4-5 of the tensor lie one after the other, as a block-cyclic array has them.
    shards.add(shard({{0, 0}, {2, 3}}), at(0, 0, {2, 3}));
    shards.add(shard({{0, 3}, {2, 3}}), at(0, 3, {2, 3}));
    shards.add(shard({{4, 0}, {2, 3}}), at(2, 0, {2, 3}));
    shards.add(shard({{4, 3}, {2, 3}}), at(2, 3, {2, 3}));
    check_rows_in_blocks();
}

BOOST_FIXTURE_TEST_CASE(blocks_at_other_distances_stay, array_fixture) {
    std::vector<float> elsewhere(18);
    add({{0, 0}, {1, 6}});
    shards.add(shard({{2, 0}, {1, 6}}), at(1, 0, {1, 6})); // with row 0: each second row
    shards.add(shard({{5, 0}, {1, 6}}), at(2, 0, {1, 6})); // two rows on
    shards.add(shard({{7, 0}, {1, 6}}), {elsewhere.data(), data_type::f32, {1, 6}, {6, 1}});
    auto const joined = shards.joined();
    BOOST_REQUIRE(joined.size() == 3u);
    BOOST_TEST((joined[0].descriptor.cycles == axis_cycles{{0, 1, 2}}));
    BOOST_TEST((joined[1].descriptor == shards[2].descriptor));
    BOOST_TEST((joined[2].descriptor == shards[3].descriptor));
}

// Both of the local array's orders, and both orders in which blocks are added.
BOOST_AUTO_TEST_CASE(blocks_that_are_added_one_by_one_become_what_their_layout_has) {
    for (index_vector const& shape : {index_vector{12, 9}, {13, 10}, {24, 5}})
        for (index_vector const& block : {index_vector{1, 1}, {1, 2}, {3, 2}, {2, 1}})
            for (int const order : {0, 1, 2, 3}) {
                layout const dealt =
                    layout_of("w", data_type::f32, shape, {{"a", 2}, {"b", 2}},
                              {block_cyclic{0, block[0]}, block_cyclic{1, block[1]}});
                shard_descriptor const whole_shard = shards_of(dealt, 1).at(0);
                index_vector const local = held_shape(whole_shard.region, whole_shard.cycles);
                index_vector const strides =
                    order % 2 ? index_vector{1, local[0]} : index_vector{local[1], 1};
                std::vector<float> elements(static_cast<std::size_t>(element_count(local)));
                std::vector<box> blocks = boxes_of(whole_shard.region, {}, whole_shard.cycles);
                if (order / 2)
                    std::ranges::stable_sort(blocks, std::less<>(),
                                             [](box const& b) { return b.offset[1]; });
                state_dict one_by_one, at_once;
                for (box const& each : blocks) {
                    shard_descriptor shard = whole_shard;
                    shard.region = each;
                    shard.cycles = {};
                    index_vector within = each.offset;
                    for (std::size_t axis = 0; axis < 2; ++axis)
                        within[axis] -= whole_shard.region.offset[axis];
                    index_vector const at = held_index(whole_shard.cycles, within);
                    one_by_one.add(shard, tensor_view{elements.data() + at[0] * strides[0] +
                                                          at[1] * strides[1],
                                                      data_type::f32, each.shape, strides});
                }
                at_once.add("w", dealt, 1,
                            tensor_view{elements.data(), data_type::f32, local, strides});
                BOOST_TEST((one_by_one.joined() == at_once), "blocks " << to_string(block) << " of "
                                                                       << to_string(shape)
                                                                       << ", order " << order);
            }
}

BOOST_FIXTURE_TEST_CASE(blocks_that_are_neighbours_in_the_tensor_alone_stay, array_fixture) {
    std::vector<float> elsewhere(6);
    add({{0, 0}, {2, 3}});
    shards.add(shard({{0, 3}, {2, 3}}), {elsewhere.data(), data_type::f32, {2, 3}, {3, 1}});
    shards.add(shard({{2, 0}, {2, 3}}), at(2, 1, {2, 3})); // a column aside
    auto const joined = shards.joined();
    BOOST_TEST((joined == shards));
}

BOOST_FIXTURE_TEST_CASE(the_last_axis_comes_first_and_shards_keep_their_order, array_fixture) {
    add({{4, 0}, {4, 6}});
    shards.add({"b", data_type::f32, {}, {}, {}}, {elements.data(), data_type::f32, {}, {}});
    add({{0, 3}, {4, 3}}); // joins the next one, not the first
    add({{0, 0}, {4, 2}});
    auto const joined = shards.joined();
    BOOST_TEST((joined == shards));
    add({{0, 2}, {4, 1}});
    auto const items = shards.joined();
    BOOST_REQUIRE(items.size() == 2u);
    BOOST_TEST((items[0].descriptor == shard({{0, 0}, {8, 6}})));
    BOOST_TEST(items[1].descriptor.key == "b");
}

BOOST_FIXTURE_TEST_CASE(eight_axes_are_no_more_than_two, array_fixture) {
    index_vector const extents{2, 1, 2, 1, 2, 1, 2, 1}, strides{8, 8, 4, 4, 2, 2, 1, 1};
    state_dict halves;
    for (index_t const first : {1, 0}) {
        box half = whole(extents);
        half.offset[2] = first;
        half.shape[2] = 1;
        halves.add({"e", data_type::f32, extents, half, {}},
                   tensor_view{elements.data() + 4 * first, data_type::f32, half.shape, strides});
    }
    auto const joined = halves.joined();
    BOOST_REQUIRE(joined.size() == 1u);
    BOOST_TEST((joined[0].descriptor.region == whole(extents)));
    BOOST_TEST(joined[0].tensor.data == elements.data());
}

BOOST_FIXTURE_TEST_CASE(other_keys_flat_shards_and_empty_ones_stay, array_fixture) {
    add({{0, 0}, {2, 6}});
    add({{2, 0}, {0, 6}});
    shards.add({"v", data_type::f32, {8, 6}, {{2, 0}, {2, 6}}, {}}, at(2, 0, {2, 6}));
    shards.add({"f", data_type::f32, {6}, {{0}, {6}}, flat_range{0, 3}},
               {elements.data(), data_type::f32, {3}, {1}});
    shards.add({"f", data_type::f32, {6}, {{0}, {6}}, flat_range{3, 6}},
               {elements.data() + 3, data_type::f32, {3}, {1}});
    BOOST_TEST((shards.joined() == shards));
    BOOST_TEST(state_dict().joined().empty());
}

BOOST_FIXTURE_TEST_CASE(copies_in_other_memory_join_among_themselves, array_fixture) {
    std::vector<float> copy(48);
    for (index_t const row : {0, 4}) {
        add({{row, 0}, {4, 6}});
        shards.add(shard({{row, 0}, {4, 6}}),
                   {copy.data() + row * 6, data_type::f32, {4, 6}, {6, 1}});
    }
    auto const joined = shards.joined();
    BOOST_REQUIRE(joined.size() == 2u);
    BOOST_TEST((joined[0].tensor == at(0, 0, {8, 6})));
    BOOST_TEST((joined[1].descriptor == shard({{0, 0}, {8, 6}})));
    BOOST_TEST(joined[1].tensor.data == copy.data());
}

BOOST_FIXTURE_TEST_CASE(rows_too_far_apart_to_count_stay, array_fixture) {
    // One row each; a second one after it would be 2^63 bytes on, which is not a distance modulo
    // 2^64.
    const_state_dict rows;
    for (index_t const row : {0, 1})
        rows.add({"w", data_type::f64, {2, 1}, {{row, 0}, {1, 1}}, {}},
                 const_tensor_view{elements.data(), data_type::f64, {1, 1}, {index_t{1} << 61, 1}});
    BOOST_TEST((rows.joined() == rows));
}

BOOST_FIXTURE_TEST_CASE(turned_memory_joins_along_its_own_strides, array_fixture) {
    // Column by column: axis 0 has stride 1.
    shards.add(shard({{0, 0}, {4, 6}}), {elements.data(), data_type::f32, {4, 6}, {1, 8}});
    shards.add(shard({{4, 0}, {4, 6}}), {elements.data() + 4, data_type::f32, {4, 6}, {1, 8}});
    auto const joined = shards.joined();
    BOOST_REQUIRE(joined.size() == 1u);
    BOOST_TEST((joined[0].tensor.strides == index_vector{1, 8}));
    BOOST_TEST((joined[0].tensor.shape == index_vector{8, 6}));
}

// The two rows interleave, so as one shard two of its elements would share an address in the check
// of strides.
BOOST_FIXTURE_TEST_CASE(targets_that_could_share_addresses_stay, array_fixture) {
    state_dict targets;
    const_state_dict sources;
    for (index_t const row : {0, 1}) {
        shard_descriptor const shard{"t", data_type::f32, {2, 2}, {{row, 0}, {1, 2}}, {}};
        tensor_view const elements_of_row{
            elements.data() + 2 * row, data_type::f32, {1, 2}, {2, 2}};
        targets.add(shard, elements_of_row);
        sources.add(shard, elements_of_row);
    }
    BOOST_TEST(!targets.first_error().has_value());
    BOOST_TEST((targets.joined() == targets));
    BOOST_TEST(targets.joined().size() == 2u);
    BOOST_TEST(sources.joined().size() == 1u); // reading an element twice is harmless
}

// As one shard, elements of the first and third pair would share addresses for the check; the
// blocks along axis 1 would not.
BOOST_AUTO_TEST_CASE(what_can_be_joined_of_a_run_is_and_stays_in_order) {
    std::vector<float> elements(400);
    state_dict shards;
    for (index_t const row : {0, 2})
        for (index_t const column : {0, 2})
            shards.add(
                {"w", data_type::f32, {4, 4, 2}, {{row, column, 0}, {1, 1, 2}}, {}},
                tensor_view{
                    elements.data() + row + 50 * column, data_type::f32, {1, 1, 2}, {2, 100, 2}});
    BOOST_TEST(shards.shards().firsts().size() == 1u);
    state_dict const joined = shards.joined();
    BOOST_REQUIRE(joined.size() == 2u);
    for (std::size_t i = 0; i < 2; ++i) {
        BOOST_TEST((joined[i].descriptor.cycles == axis_cycles{{1, 1, 2}}));
        BOOST_TEST(joined[i].descriptor.region.offset[0] == static_cast<index_t>(2 * i));
        BOOST_TEST(joined[i].tensor.data == elements.data() + 2 * i);
    }
}

// Addresses that nobody may read, below and above zero: a list of them has the addresses given.
BOOST_AUTO_TEST_CASE(any_address_is_kept) {
    const_state_dict shards;
    std::vector<void const*> added;
    for (index_t const row : {0, 2, 4}) {
        added.push_back(reinterpret_cast<void const*>(std::uintptr_t{9} -
                                                      static_cast<std::uintptr_t>(4 * row)));
        shards.add({"w", data_type::f32, {8, 1}, {{row, 0}, {1, 1}}, {}},
                   const_tensor_view{added.back(), data_type::f32, {1, 1}, {-2, 1}});
    }
    BOOST_TEST(shards.shards().firsts().size() == 1u);
    for (std::size_t i = 0; i < added.size(); ++i)
        BOOST_TEST(shards[i].tensor.data == added[i]);
}

// Blocks of two rows, four rows apart, added row by row: rows become blocks, and blocks an array.
BOOST_FIXTURE_TEST_CASE(rows_of_blocks_become_one_shard, array_fixture) {
    for (index_t const row : {0, 1, 4, 5})
        shards.add(shard({{row, 0}, {1, 6}}), at(row / 4 * 2 + row % 4, 0, {1, 6}));
    check_rows_in_blocks();
}

// The second row is 2^62 bytes on: the strides agree, but the sum of distances would overflow.
BOOST_FIXTURE_TEST_CASE(rows_that_cannot_be_counted_together_stay, array_fixture) {
    auto const far = reinterpret_cast<double const*>(
        reinterpret_cast<std::uintptr_t>(elements.data()) + (std::uintptr_t{1} << 62));
    const_state_dict rows;
    for (index_t const row : {0, 1})
        rows.add({"w", data_type::f64, {2, 1}, {{row, 0}, {1, 1}}, {}},
                 const_tensor_view{row == 0 ? static_cast<void const*>(elements.data()) : far,
                                   data_type::f64,
                                   {1, 1},
                                   {index_t{1} << 59, 1}});
    BOOST_TEST(rows.shards().firsts().size() == 2u);
    BOOST_TEST((rows.joined() == rows));
}

BOOST_AUTO_TEST_SUITE_END()
