// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/flat_range.hpp>
#include <reshard/layout/distribution.hpp>
#include <reshard/layout/holders_of.hpp>
#include <reshard/layout/typed.hpp>
#include <reshard/layout/typed_facts.hpp>

#include <boost/mp11.hpp>

#include <concepts>

// Meshes, placements and typed shards at compile time; compiling is the test.

namespace static_layout {

using namespace reshard;
using namespace reshard::detail;

// A mesh counts its ranks row by row.
constexpr mesh grid{{"pp", 2}, {"tp", 3}};
static_assert(grid.rank_count() == 6 && grid.ndim() == 2);
static_assert(grid.coordinates_of(0) == index_vector{0, 0});
static_assert(grid.coordinates_of(1) == index_vector{0, 1});
static_assert(grid.coordinates_of(5) == index_vector{1, 2});
static_assert(grid.rank_at({1, 0}) == 3);
static_assert(grid.axis("tp") == 1);
static_assert(mesh{}.rank_count() == 1 && mesh{}.coordinates_of(0) == index_vector{});

// One region, or an empty box if there is none.
template <auto... Placements>
constexpr box region(mesh const& ranks, index_vector const& shape, holder_t rank) {
    return distribution(ranks, {placement(Placements)...}, shape).region(rank).value_or(box{});
}

// The ranks that hold some of a box, as digits.
template <auto... Placements>
constexpr index_t holders(mesh const& ranks, index_vector const& shape, box const& wanted) {
    index_t digits = 0;
    for (holder_t const rank :
         holders_of(distribution(ranks, {placement(Placements)...}, shape), wanted))
        digits = 10 * digits + rank;
    return digits;
}

static_assert(holders<shard{0}>({{"tp", 4}}, {10}, {{3}, {4}}) == 12);
static_assert(holders<strided_shard{0}, shard{0}>({{"dp", 2}, {"tp", 2}}, {10}, {{2}, {4}}) == 12);
static_assert(range_of(padded_slices(10, 4), 10, 3) == flat_range{9, 10});
static_assert(next_position({{1, 1}, {2, 2}}, 7, {3, 4}) == index_t{9});

// Blocks of two rows of nine, dealt out to two ranks: from 0 to 8, and from 2 to 7.
static_assert(region<block_cyclic{0, 2}>({{"p", 2}}, {9}, 0) == box{{0}, {9}});
static_assert(region<block_cyclic{0, 2}>({{"p", 2}}, {9}, 1) == box{{2}, {6}});
static_assert(region<block_cyclic{0, 2, 1}>({{"p", 2}}, {9}, 1) == box{{0}, {9}});
static_assert(holders<block_cyclic{0, 2}>({{"p", 4}}, {20}, {{5}, {2}}) == 23);
static_assert(holders<block_cyclic{0, 2}>({{"p", 4}}, {20}, {{6}, {3}}) == 3);

// Local extents are numroc's.
constexpr index_t local_rows(index_t extent, index_t block, index_t ranks, holder_t rank) {
    distribution const distribution(mesh{{"p", ranks}}, {placement(block_cyclic{0, block})},
                                    index_vector{extent});
    return held_shape(*distribution.region(rank),
                      distribution.cycles_in(*distribution.region(rank)))[0];
}
static_assert(local_rows(13, 5, 2, 0) == 8 && local_rows(13, 5, 2, 1) == 5);
static_assert(local_rows(3, 5, 2, 0) == 3 && local_rows(3, 5, 2, 1) == 0);

// Blocks of ceil(10 / 4) = 3 rows: 3, 3, 3, 1.
static_assert(region<shard{0}>({{"tp", 4}}, {10, 2}, 2) == box{{6, 0}, {3, 2}});
static_assert(region<shard{0}>({{"tp", 4}}, {10, 2}, 3) == box{{9, 0}, {1, 2}});
// Three rows on four ranks: the last has none, at offset 3.
static_assert(region<shard{0}>({{"tp", 4}}, {3, 5}, 3) == box{{3, 0}, {0, 5}});
// Two mesh axes on one tensor axis: 10 rows are 3, 2, 3, 2.
static_assert(region<shard{0}, shard{0}>({{"a", 2}, {"b", 2}}, {10}, 0) == box{{0}, {3}});
static_assert(region<shard{0}, shard{0}>({{"a", 2}, {"b", 2}}, {10}, 1) == box{{3}, {2}});
static_assert(region<shard{0}, shard{0}>({{"a", 2}, {"b", 2}}, {10}, 2) == box{{5}, {3}});
static_assert(region<shard{0}, shard{0}>({{"a", 2}, {"b", 2}}, {10}, 3) == box{{8}, {2}});

// A shard as a type has the data of a descriptor.
using upper = typed::shard<"w", float, index_vector{4, 6}, box{{0, 0}, {2, 6}}>;
using lower = typed::shard<"w", float, index_vector{4, 6}, box{{2, 0}, {2, 6}}>;
static_assert(upper::key == "w" && upper::dtype == data_type::f32);
static_assert(upper::region == box{{0, 0}, {2, 6}} && lower::region == box{{2, 0}, {2, 6}});
static_assert(shard_type<upper> && !shard_type<int>);
static_assert(!std::same_as<upper, lower>);
static_assert(std::convertible_to<upper, shard_descriptor>);

using quantised = typed::shard<"q", data_type_constant<data_type::f8_e4m3>, index_vector{}, box{}>;
static_assert(quantised::dtype == data_type::f8_e4m3 && quantised::global_shape.empty());

using range = typed::flat_shard<upper, flat_range{4, 7}>;
static_assert(range::flat == flat_range{4, 7} && range::region == upper::region);

// A state dict is a list for mp11, and reports nothing if all is well.
using dict = typed::state_dict<upper, lower, quantised, range>;
static_assert(dict::size == 4 && boost::mp11::mp_size<dict>::value == 4);
static_assert(std::same_as<boost::mp11::mp_at_c<dict, 1>, lower>);
static_assert(typed::state_dict<>::size == 0);

// A whole job: embedding on the first stage only, columns and rows over tp, a norm everywhere.
using whole_job = typed::layout<
    mesh{{"pp", 2}, {"tp", 2}}, //
    typed::tensor<"embedding", bfloat16, index_vector{10, 4}, only{0}, shard{0}>,
    typed::tensor<"up", bfloat16, index_vector{6, 4}, only{1}, shard{0, even}>,
    typed::tensor<"down", bfloat16, index_vector{4, 7}, replicate{}, shard{1, {3, 4}}>,
    typed::tensor<"norm", float, index_vector{4}, replicate{}, replicate{}>>;

using rank_0 =
    typed::state_dict<typed::shard<"embedding", bfloat16, index_vector{10, 4}, box{{0, 0}, {5, 4}}>,
                      typed::shard<"down", bfloat16, index_vector{4, 7}, box{{0, 0}, {4, 3}}>,
                      typed::shard<"norm", float, index_vector{4}, box{{0}, {4}}>>;
static_assert(std::same_as<typed::state_dict_of<whole_job, 0>, rank_0>);

using rank_3 =
    typed::state_dict<typed::shard<"up", bfloat16, index_vector{6, 4}, box{{3, 0}, {3, 4}}>,
                      typed::shard<"down", bfloat16, index_vector{4, 7}, box{{0, 3}, {4, 4}}>,
                      typed::shard<"norm", float, index_vector{4}, box{{0}, {4}}>>;
static_assert(std::same_as<typed::state_dict_of<whole_job, 3>, rank_3>);

} // namespace static_layout
