// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/rounds.hpp>
#include <reshard/copy/quantiser.hpp>
#include <reshard/expr/quantize.hpp>
#include <reshard/expr/reshape.hpp>
#include <reshard/mpi/redistribute.hpp>

#include "support/agreed_error.hpp"
#include "support/quantised.hpp"
#include "support/trials.hpp"

#include <reshard/aoa.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

namespace {

struct quantize_fixture {
    boost::mpi::communicator world;

    held_shard shard(std::string key, full_matrix const& from, cut_type cut) const {
        return {std::move(key), from, cut, world.rank(), world.size()};
    }
};

/// A scheme, and the extents of which the columns and rows of its matrices are multiples.
struct scheme_case {
    std::string_view name;
    index_t row, column;
};

constexpr scheme_case schemes[] = {
    {"fp8_block", 1, 1},    {"fp8_channel", 1, 1}, {"fp8_tensor", 1, 1}, {"int8_channel", 1, 1},
    {"int4_group", 1, 128}, {"mxfp8", 1, 32},      {"mxfp4", 1, 32},     {"nvfp4", 1, 16},
    {"nf4", 1, 1},          {"q8_0", 1, 32},       {"q4_0", 1, 32},      {"q5_1", 1, 32},
};

/// Random numbers of many magnitudes, without infinities and NaN.
full_matrix random_values(random_call& from, data_type dtype, index_vector const& shape) {
    full_matrix made{dtype, shape, {}};
    for (index_t i = 0; i < element_count(shape); ++i) {
        auto const value =
            static_cast<float>(from.below(2001) - 1000) * (from.below(8) == 0 ? 0x1p-20F : 0x1p-3F);
        made.elements.push_back(
            reshard::convert(data_type::f32, dtype, std::bit_cast<std::uint32_t>(value)));
    }
    return made;
}

/// The parts of the whole tensor, quantised at once, as matrices. The tests of the quantiser
/// compare it with the libraries.
std::vector<full_matrix> quantised_whole(full_matrix const& values, quantiser const& by) {
    std::vector<float> elements;
    for (std::uint64_t const element : values.elements)
        elements.push_back(as_float(values.dtype, element));
    std::vector<std::vector<std::byte>> bytes;
    std::vector<std::span<std::byte>> spans;
    for (std::size_t part = 0; part < by.parts().size(); ++part)
        bytes.emplace_back(by.first_byte(part, by.units()));
    for (auto& part : bytes)
        spans.emplace_back(part);
    by.run(0, elements, largest_of(elements), spans);
    std::vector<full_matrix> parts;
    for (std::size_t part = 0; part < bytes.size(); ++part) {
        quantised_part const& of = by.parts()[part];
        std::size_t const size = static_cast<std::size_t>(bits(of.dtype)) / 8;
        index_t const count = element_count(of.shape);
        full_matrix& made = parts.emplace_back(
            full_matrix{of.dtype, of.shape.size() == 2 ? of.shape : index_vector{1, count}, {}});
        for (std::size_t i = 0; i < bytes[part].size() / size; ++i) {
            std::uint64_t element = 0;
            std::memcpy(&element, bytes[part].data() + i * size, size);
            made.elements.push_back(element);
        }
    }
    return parts;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(mpi_quantize, quantize_fixture)

BOOST_AUTO_TEST_CASE(every_cut_of_the_numbers_and_scales_is_that_of_the_whole_tensor) {
    for (std::uint32_t seed = 0; seed < test::trials(120, 12); ++seed) {
        random_call from{std::mt19937(seed)};
        scheme_case const& scheme = schemes[seed % std::size(schemes)];
        bool const is_transposed = from.below(2) == 1;
        index_vector const shape{(from.below(200) + 1) * scheme.row,
                                 (from.below(300) / scheme.column + 1) * scheme.column};
        full_matrix const values = random_values(
            from, from.one_of({data_type::f32, data_type::bf16, data_type::f16}), shape);
        full_matrix const held = is_transposed ? transposed(values) : values;
        mapping program;
        expression const source = program.source("x", held.shape, held.dtype);
        auto const made =
            program.quantized("w", is_transposed ? permute(source, {1, 0}) : source, scheme.name);
        auto const wanted = quantised_whole(values, quantiser(scheme.name, shape));
        BOOST_TEST_REQUIRE(made.size() == wanted.size());
        held_shard const have = shard("x", held, call_of_seed::a_cut(from));
        std::vector<held_shard> results;
        results.reserve(made.size());
        state_dict want;
        for (std::size_t part = 0; part < made.size(); ++part) {
            std::string const key = "w" + std::to_string(part);
            program.define(key, made[part].ndim() == 2 ? made[part]
                                                       : reshape(made[part], wanted[part].shape));
            full_matrix none = wanted[part];
            none.elements.assign(none.elements.size(), 0);
            results.push_back(shard(key, none, call_of_seed::a_cut(from)));
        }
        for (held_shard& result : results)
            result.add_to(want);
        redistribute(world, state_of({&have}), want, {.program = program});
        for (std::size_t part = 0; part < made.size(); ++part)
            BOOST_TEST(wrong_in(results[part], wanted[part]) == 0u,
                       scheme.name << " part " << part << " seed " << seed);
    }
}

BOOST_AUTO_TEST_CASE(each_run_of_a_job_quantizes_the_values_of_that_time) {
    auto const matrix = [](float value) {
        return full_matrix{data_type::f32,
                           {4, 4},
                           std::vector<std::uint64_t>(16, std::bit_cast<std::uint32_t>(value))};
    };
    held_shard held = shard("w", matrix(1), cut_type::rows);
    held_shard scale = shard("w_scale_inv", {data_type::f32, {1, 1}, {0}}, cut_type::copies);
    state_dict want;
    scale.add_to(want);
    job ready = prepare(world, state_of({&held}), want,
                        {.program = aoa::parse("w -> w, quantize='fp8_block'\n")});
    for (float const value : {2.0F, 448.0F}) {
        auto const changed = shard("w", matrix(value), cut_type::rows).bytes;
        std::copy(changed.begin(), changed.end(), held.bytes.begin());
        run(ready);
        BOOST_TEST(wrong_in(scale, {data_type::f32,
                                    {1, 1},
                                    {std::bit_cast<std::uint32_t>(1.0F / (448.0F / value))}}) ==
                   0u);
    }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_quantised_is_refused_on_every_rank) {
    full_matrix values{data_type::f32, {4, 4}, std::vector<std::uint64_t>(16, 0x3f800000)};
    values.elements[13] = 0x7fc00000;
    held_shard const held = shard("w", values, cut_type::rows);
    held_shard numbers =
        shard("w", {data_type::f8_e4m3, {4, 4}, std::vector<std::uint64_t>(16)}, cut_type::copies);
    state_dict want;
    numbers.add_to(want);
    any_program const program = aoa::parse("w -> w, quantize='fp8_block'\n");
    auto const not_finite = agreed_error(
        world, [&] { redistribute(world, state_of({&held}), want, {.program = program}); });
    BOOST_TEST(not_finite.find("'w'") != std::string::npos, not_finite);
    BOOST_TEST(not_finite.find("NaN") != std::string::npos, not_finite);
    layout const wanted = layout_of(std::vector<std::vector<shard_descriptor>>(
        static_cast<std::size_t>(world.size()), {numbers.descriptor}));
    auto const in_rounds = agreed_error(world, [&] {
        redistribute(
            world, state_of({&held}), {{}, wanted},
            {.program = program, .memory = rounds(1, [](auto const&) { return state_dict(); })});
    });
    BOOST_TEST(in_rounds.find("cannot quantize") != std::string::npos, in_rounds);
}

BOOST_AUTO_TEST_SUITE_END()
