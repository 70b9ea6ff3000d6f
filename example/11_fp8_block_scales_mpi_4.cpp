// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard.hpp>
#include <reshard/aoa.hpp>
#include <reshard/mpi.hpp>

#include <boost/mpi/environment.hpp>

#include <cmath>
#include <cstdint>
#include <iostream>
#include <vector>

// A weight of 8-bit numbers (e4m3) has one float scale for each block of 128 x 128, as DeepSeek-V3
// stores it. It moves from four tensor-parallel ranks by rows to ranks by columns. The scales
// follow their blocks. The library refuses a layout that would separate scales from their blocks.
// Run it on four ranks.

namespace {

using namespace reshard;

constexpr index_t rows = 512, columns = 256, block = 128;

// [program]
/// Declares which tensors are scales. The rule also holds for other weights with `_scale_inv`.
constexpr char const* program = R"(
down_proj.weight -> down_proj.weight, scales="_scale_inv", blocks="[128, 128]"
)";
// [/program]

// [spread]
/// The layout of the weight, which `tp` ranks cut along an axis, and of its scales.
layout spread(index_t tp, std::size_t axis, placement const& of_scales) {
    mesh const ranks{{"tp", tp}};
    return layout_of({sharding_of("down_proj.weight", data_type::f8_e4m3,
                                  {ranks, {shard{axis}}, {rows, columns}}),
                      sharding_of("down_proj.weight_scale_inv", data_type::f32,
                                  {ranks, {of_scales}, {rows / block, columns / block}})});
}
// [/spread]

/// The value of element (i, j) and of scale (i, j): e4m3 numbers from 1 to 3.75, and scales from 1
/// on.
std::uint8_t element(index_t i, index_t j) {
    return static_cast<std::uint8_t>(0x38 + (5 * i + 3 * j) % 16);
}
float scale(index_t i, index_t j) { return static_cast<float>(2 * i + j + 1); }

/// The value of an e4m3 number with 4 bits of exponent and 3 of mantissa, from 2^-6 up.
float number_of(std::uint8_t e4m3) { return std::ldexp(8.0f + (e4m3 & 7), (e4m3 >> 3) - 10); }

/// A rank's tensors: its shard of the weight and its shard of the scales, row-major.
struct quantised {
    box position{{0, 0}, {0, 0}}, scales_place = position;
    std::vector<std::uint8_t> elements;
    std::vector<float> scales;
    state_dict tensors;

    quantised(layout const& layout, int rank) {
        for (shard_descriptor const& shard : shards_of(layout, rank)) {
            bool const is_weight = shard.dtype == data_type::f8_e4m3;
            (is_weight ? position : scales_place) = shard.region;
            auto const count = static_cast<std::size_t>(element_count(shard.region));
            (is_weight ? elements.resize(count) : scales.resize(count));
            void* const memory = is_weight ? static_cast<void*>(elements.data()) : scales.data();
            tensors.add(shard, tensor_view{memory, shard.dtype, shard.region.shape,
                                           row_major_strides(shard.region.shape)});
        }
    }

    /// Calls `visit(i, j, element)` with the indices in the global tensor.
    static void for_each(box const& region, auto& memory, auto const& visit) {
        std::size_t n = 0;
        for (index_t i = region.offset[0]; i < region.end(0); ++i)
            for (index_t j = region.offset[1]; j < region.end(1); ++j)
                visit(i, j, memory[n++]);
    }

    /// Whether each local element, multiplied by its local scale, has its old value.
    bool is_right() {
        bool all_are = true;
        for_each(position, elements, [&](index_t i, index_t j, std::uint8_t e4m3) {
            index_t const row = i / block - scales_place.offset[0];
            index_t const column = j / block - scales_place.offset[1];
            auto const at = static_cast<std::size_t>(row * scales_place.shape[1] + column);
            all_are = all_are && number_of(e4m3) * scales.at(at) ==
                                     number_of(element(i, j)) * scale(i / block, j / block);
        });
        return all_are;
    }
};

} // namespace

int main(int argc, char** argv) {
    boost::mpi::environment const environment(argc, argv);
    boost::mpi::communicator const world;
    if (world.size() != 4) {
        std::cerr << "Run this on four ranks: mpiexec -n 4 11_fp8_block_scales_mpi_4\n";
        return 1;
    }
    int const rank = world.rank();
    auto const say = [&](auto const&... words) {
        if (rank == 0)
            (std::cout << ... << words) << '\n';
    };

    layout const trained = spread(4, 0, shard{0});
    quantised own_quantised(trained, rank);
    quantised::for_each(own_quantised.position, own_quantised.elements,
                        [](index_t i, index_t j, std::uint8_t& e4m3) { e4m3 = element(i, j); });
    quantised::for_each(own_quantised.scales_place, own_quantised.scales,
                        [](index_t i, index_t j, float& each) { each = scale(i, j); });

    // [move]
    auto const move_to = [&](layout const& served) {
        quantised result(served, rank);
        redistribute(world, {own_quantised.tensors, trained}, {result.tensors, served},
                     {.program = aoa::parse(program, "fp8.aoa")});
        return result.is_right();
    };

    // Two ranks with 128 columns each: the weight and its scales are cut between blocks.
    bool is_right = move_to(spread(2, 1, shard{1}));

    // Four ranks with 64 columns each, but only two columns of scales: rank 1 would have columns 64
    // to 127 with the scale of columns 128 to 255. Every rank gets the error.
    try {
        move_to(spread(4, 1, shard{1}));
        is_right = false;
    } catch (error const& problem) {
        is_right = is_right && problem.code() == errc::bad_layout;
        say("Refused: ", problem.what());
    }

    // As the error advises: every rank gets all scales.
    is_right = is_right && move_to(spread(4, 1, replicate{}));
    // [/move]

    say(is_right ? "The scales are beside their blocks on 2 ranks, and on 4." : "This is wrong.");
    return is_right ? 0 : 1;
}
