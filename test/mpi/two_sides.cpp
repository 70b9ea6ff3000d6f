// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/mpi/redistribute.hpp>

#include "support/agreed_error.hpp"
#include "support/halves.hpp"
#include "support/rank_tensors.hpp"

#include <reshard/adapt/raw_tensor.hpp>
#include <reshard/aoa.hpp>
#include <reshard/mpi/joined_programs.hpp>

#include <boost/mpi/intercommunicator.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::agreed_error;
using reshard::test::rank_tensors;
using reshard::test::two_layouts;

namespace {

/// The first half of the ranks has tensors, and the others want them; a single rank does both.
struct halves_fixture : test::halves {
    /// The number of a rank of the world on the target side.
    int target_rank() const { return world.size() == 1 ? 0 : world.rank() - sources; }
};

/// The same shards on ranks after the sources.
layout moved_behind(layout const& targets, int sources, int total) {
    std::vector<std::vector<shard_descriptor>> shards(static_cast<std::size_t>(total));
    for (holder_t rank = 0; rank < targets.holders; ++rank)
        shards[rank + static_cast<holder_t>(total == 1 ? 0 : sources)] = shards_of(targets, rank);
    return layout_of(shards);
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(mpi_two_sides, halves_fixture)

BOOST_AUTO_TEST_CASE(each_side_gives_its_own_tensors_only_and_perhaps_its_layout) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        two_layouts const both(seed, sources, targets);
        rank_tensors have(both.source, is_source ? world.rank() : -1);
        rank_tensors want(both.target, is_target ? target_rank() : -1);
        have.fill();
        std::optional<layout> source, target;
        if (seed % 3 == 1 && is_source)
            source = both.source;
        if (seed % 3 != 0 && is_target)
            target = moved_behind(both.target, sources, world.size());
        job moved = prepare(world, {is_source ? have.views() : state_dict(), source},
                            {is_target ? want.views() : state_dict(), target});
        run(moved);
        BOOST_TEST(want.wrong_elements() == 0u, "seed " << seed);
        run(moved);
    }
}

BOOST_AUTO_TEST_CASE(through_an_intercommunicator_each_side_is_where_it_is_told) {
    if (world.size() == 1)
        return;
    two_layouts const both(7, sources, targets);
    boost::mpi::communicator const side = world.split(is_source);
    boost::mpi::intercommunicator const between(side, 0, world, is_source ? sources : 0);
    for (bool const sources_first : {true, false}) {
        mpi_group const group = joint_group(between, is_source == sources_first);
        BOOST_TEST(group.size() == world.size());
        BOOST_TEST(group.rank() == side.rank() + (is_source == sources_first ? 0
                                                  : sources_first            ? sources
                                                                             : targets));
        rank_tensors have(both.source, is_source ? side.rank() : -1);
        rank_tensors want(both.target, is_target ? side.rank() : -1);
        have.fill();
        if (is_source)
            redistribute(group, have.views(), {});
        else
            redistribute(group, {}, want.views());
        BOOST_TEST(want.wrong_elements() == 0u);
    }
}

BOOST_AUTO_TEST_CASE(a_program_stands_on_one_side) {
    std::vector<float> a(8), ab(16, -1.0f);
    for (std::size_t i = 0; i < 8; ++i)
        a[i] = static_cast<float>(i);
    for (bool const at_source : {true, false}) {
        std::ranges::fill(ab, -1.0f);
        state_dict have, want;
        if (world.rank() == 0) {
            have.add({"a", data_type::f32, {2, 4}, whole({2, 4})},
                     adapt::raw_tensor(a.data(), {2, 4}));
        }
        if (world.rank() == world.size() - 1)
            want.add({"aa", data_type::f32, {4, 4}, whole({4, 4})},
                     adapt::raw_tensor(ab.data(), {4, 4}));
        any_program const program = aoa::parse("a, a -> aa, axis=0\n");
        bool const gives = world.size() == 1 || is_source == at_source;
        redistribute(world, have, want,
                     {.program = gives ? program : any_program::of_other_ranks()});
        if (world.rank() == world.size() - 1)
            for (std::size_t i = 0; i < 16; ++i)
                BOOST_TEST(ab[i] == static_cast<float>(i % 8));
    }
}

BOOST_AUTO_TEST_CASE(a_program_that_no_rank_has_and_one_that_differs_are_errors_on_all) {
    auto const move = [&](any_program const& program) {
        return agreed_error(world, [&] { redistribute(world, {}, {}, {.program = program}); });
    };
    BOOST_TEST(move(any_program::of_other_ranks()) ==
               "usage: the program should come from other ranks, but no rank has one; pass it on "
               "one of them");
    if (world.size() < 3)
        return;
    any_program const first = [](catalog const&, catalog const*) { return mapping(); };
    any_program const second = [](catalog const&, catalog const*) {
        mapping mapping;
        mapping.define("b", zeros({2}, data_type::f32));
        return mapping;
    };
    BOOST_TEST(
        move(world.rank() == 0   ? any_program::of_other_ranks()
             : world.rank() == 1 ? first
                                 : second) ==
        "ranks_disagree: rank 1 and rank 2 have programs that make different mappings; every rank "
        "that has a program must have the same one");
    any_program const fails = [](catalog const&, catalog const*) -> mapping {
        fail(errc::unknown_key, "no such key");
    };
    BOOST_TEST(move(world.rank() == 1 ? fails : any_program::of_other_ranks()) ==
               "unknown_key: no such key");
}

BOOST_AUTO_TEST_SUITE_END()
