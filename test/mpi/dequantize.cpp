// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/plan_cache.hpp>
#include <reshard/bind/rounds.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/mpi/shared_arena.hpp>

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

struct dequantize_fixture {
    boost::mpi::communicator world;

    held_shard shard(std::string key, full_matrix const& from, cut_type cut) const {
        return {std::move(key), from, cut, world.rank(), world.size()};
    }

    /// Compares the calls of many seeds, which `move(seed, have, want, program)` makes.
    void compare_products(std::uint32_t seeds, auto const& move) const {
        for (std::uint32_t seed = 0; seed < seeds; ++seed) {
            call_of_seed const call(seed);
            held_shard const weights = shard("w", call.weights, call.source),
                             scales = shard("s", call.scales, call.of_scales),
                             number = shard("n", call.number, call.of_scales);
            full_matrix none = call.wanted;
            none.elements.assign(none.elements.size(), 0);
            held_shard result = shard("w", none, call.target);
            state_dict want;
            result.add_to(want);
            move(seed, state_of({&weights, &scales, &number}), want, call.made());
            BOOST_TEST(wrong_in(result, call.wanted) == 0u, "seed " << seed);
        }
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(mpi_dequantize, dequantize_fixture)

BOOST_AUTO_TEST_CASE(every_element_is_the_product_with_its_scale_in_any_layout) {
    compare_products(
        test::trials(150, 20),
        [&](std::uint32_t, const_state_dict const& have, state_dict const& want,
            any_program const& program) { redistribute(world, have, want, {.program = program}); });
}

BOOST_AUTO_TEST_CASE(numbers_and_scales_may_be_on_devices) {
    compare_products(test::trials(40, 6), [&](std::uint32_t seed, const_state_dict const& have,
                                              state_dict const& want, any_program const& program) {
        redistribute_on_device(world, have, want, program, {seed % 2 == 1, false, seed % 3});
    });
}

BOOST_AUTO_TEST_CASE(each_run_of_a_job_uses_the_scales_of_that_time) {
    full_matrix const weights{data_type::f8_e4m3, {4, 4}, std::vector<std::uint64_t>(16, 0x38)};
    full_matrix const ones{data_type::f32, {2, 2}, std::vector<std::uint64_t>(4, 0x3f800000)};
    full_matrix const fours{data_type::f32, {2, 2}, std::vector<std::uint64_t>(4, 0x40800000)};
    held_shard const held = shard("w", weights, cut_type::rows);
    held_shard scales = shard("w_scale_inv", ones, cut_type::columns);
    full_matrix const none{data_type::f32, {4, 4}, std::vector<std::uint64_t>(16)};
    held_shard result = shard("w", none, cut_type::copies);
    state_dict want;
    result.add_to(want);
    plan_cache kept;
    for (bool const is_kept : {false, true}) {
        scales.bytes = shard("w_scale_inv", ones, cut_type::columns).bytes;
        job ready = prepare(
            world, state_of({&held, &scales}), want,
            {.program = aoa::parse("w -> w, dequantize, dtype='float32'\n"), .cache = &kept});
        BOOST_TEST(ready.was_kept() == is_kept);
        run(ready);
        BOOST_TEST(wrong_in(result,
                            {data_type::f32, {4, 4}, std::vector<std::uint64_t>(16, 0x3f800000)}) ==
                   0u);
        auto const changed = shard("w_scale_inv", fours, cut_type::columns).bytes;
        std::copy(changed.begin(), changed.end(), scales.bytes.begin());
        run(ready);
        BOOST_TEST(wrong_in(result,
                            {data_type::f32, {4, 4}, std::vector<std::uint64_t>(16, 0x40800000)}) ==
                   0u);
    }
}

BOOST_AUTO_TEST_CASE(calls_that_cannot_dequantize_refuse_it_on_every_rank) {
    call_of_seed const call(1);
    held_shard const weights = shard("w", call.weights, cut_type::rows),
                     scales = shard("s", call.scales, cut_type::rows);
    const_state_dict const have = state_of({&weights, &scales});
    layout const wanted = layout_of(std::vector<std::vector<shard_descriptor>>(
        static_cast<std::size_t>(world.size()),
        {{"w", call.wanted.dtype, call.wanted.shape, whole(call.wanted.shape), {}}}));
    auto const in_rounds = agreed_error(world, [&] {
        redistribute(world, have, {{}, wanted},
                     {.program = call.made(),
                      .memory = rounds(1, [](auto const&) { return state_dict(); })});
    });
    BOOST_TEST(in_rounds.find("dequantize") != std::string::npos, in_rounds);
}

BOOST_AUTO_TEST_SUITE_END()
