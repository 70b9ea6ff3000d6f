// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/rounds.hpp>
#include <reshard/mpi/redistribute.hpp>

#include "support/agreed_error.hpp"
#include "support/device_memory.hpp"
#include "support/quantised.hpp"
#include "support/trials.hpp"

#include <reshard/aoa.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>
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

    /// Compares the calls of many seeds, which `move(seed, have, want, program)` makes.
    void compare_cuts(std::uint32_t seeds, auto const& move) const {
        for (std::uint32_t seed = 0; seed < seeds; ++seed) {
            quantize_of_seed const call(seed);
            auto const held = shards_of(call, world.rank(), world.size());
            std::vector<held_shard> results;
            results.reserve(call.wanted.size());
            state_dict want;
            for (std::size_t which = 0; which < call.wanted.size(); ++which) {
                results.push_back(
                    shard(call.key(which), zeros_like(call.wanted[which]), call.targets[which]));
                results.back().add_to(want);
            }
            move(seed, state_of(held), want, call.made());
            for (std::size_t which = 0; which < results.size(); ++which)
                BOOST_TEST(wrong_in(results[which], call.wanted[which]) == 0u,
                           call.scheme << " which " << which << " seed " << seed);
        }
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(mpi_quantize, quantize_fixture)

BOOST_AUTO_TEST_CASE(every_cut_of_the_numbers_and_scales_is_that_of_the_whole_tensor) {
    compare_cuts(test::trials(120, 12), [&](std::uint32_t, const_state_dict const& have,
                                            state_dict const& want, any_program const& program) {
        redistribute(world, have, want, {.program = program});
    });
}

BOOST_AUTO_TEST_CASE(values_numbers_and_scales_may_be_on_devices) {
    compare_cuts(test::trials(30, 4), [&](std::uint32_t seed, const_state_dict const& have,
                                          state_dict const& want, any_program const& program) {
        redistribute_on_device(world, have, want, program, {seed % 2 == 1, seed % 3 == 1, 0});
    });
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
    held_shard scale = shard("w_scale_inv", {data_type::f32, {1, 1}, {0}}, cut_type::copies);
    state_dict want;
    numbers.add_to(want);
    scale.add_to(want);
    any_program const program = aoa::parse("w -> w, quantize='fp8_block'\n");
    auto const not_finite = agreed_error(
        world, [&] { redistribute(world, state_of({&held}), want, {.program = program}); });
    BOOST_TEST(not_finite.find("'w'") != std::string::npos, not_finite);
    BOOST_TEST(not_finite.find("NaN") != std::string::npos, not_finite);
    layout const wanted = layout_of(std::vector<std::vector<shard_descriptor>>(
        static_cast<std::size_t>(world.size()), {numbers.descriptor, scale.descriptor}));
    auto const in_rounds = agreed_error(world, [&] {
        redistribute(
            world, state_of({&held}), {{}, wanted},
            {.program = program, .memory = rounds(1, [](auto const&) { return state_dict(); })});
    });
    BOOST_TEST(in_rounds.find("cannot quantize") != std::string::npos, in_rounds);
}

BOOST_AUTO_TEST_SUITE_END()
