// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/mpi/redistribute.hpp>

#include "support/agreed_error.hpp"
#include "support/rank_tensors.hpp"

#include <reshard/bind/program.hpp>
#include <reshard/expr/algebra.hpp>
#include <reshard/layout/layout_of.hpp>
#include <reshard/plan/between_nodes.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::agreed_error;
using reshard::test::rank_tensors;
using reshard::test::two_layouts;

BOOST_AUTO_TEST_SUITE(mpi_known_layouts)

namespace {

struct layouts_fixture {
    boost::mpi::communicator world;
    int rank = world.rank();
    int size = world.size();
    int last = size - 1;

    /// Six rows over all ranks, and six columns.
    mesh everybody{{"x", size}};
    layout rows =
        layout_of({sharding_of("a", data_type::f32, distribution(everybody, {shard{0}}, {6, 6}))});
    layout columns =
        layout_of({sharding_of("a", data_type::f32, distribution(everybody, {shard{1}}, {6, 6}))});
    rank_tensors have{rows, rank};
    rank_tensors want{columns, rank};

    layouts_fixture() { have.fill(); }

    std::string error_of(std::optional<layout> source, std::optional<layout> target,
                         state_dict const& tensors, state_dict const& wanted) {
        std::string const text = agreed_error(world, [&] {
            redistribute(world, source_tensors{tensors, source}, target_tensors{wanted, target});
        });
        BOOST_TEST(want.is_untouched());
        // The next call finds every rank in the same place.
        redistribute(world, have.views(), want.views());
        BOOST_TEST(want.wrong_elements() == 0u);
        return text;
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(whatever_layouts_are_known_every_element_arrives, layouts_fixture) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        two_layouts const both(seed, size);
        rank_tensors source(both.source, rank), target(both.target, rank);
        source.fill();
        bool const tells_source = seed % 4 != 1, tells_target = seed % 4 != 2;
        bool const speaks = seed % 3 != 0 || rank == static_cast<int>(seed) % size;
        auto const known = [&](bool tells, layout const& layout) {
            return tells && speaks ? std::optional(layout) : std::nullopt;
        };
        job moving =
            prepare(world, source_tensors{source.views(), known(tells_source, both.source)},
                    target_tensors{target.views(), known(tells_target, both.target)});
        run(moving);
        BOOST_TEST(target.wrong_elements() == 0u, "seed " << seed << ", rank " << rank);
    }
}

BOOST_FIXTURE_TEST_CASE(known_layouts_move_what_gathered_ones_move, layouts_fixture) {
    for (std::uint64_t seed = 100; seed < 120; ++seed) {
        two_layouts const both(seed, size);
        rank_tensors source(both.source, rank), target(both.target, rank);
        source.fill();
        options const balanced{.between_nodes = balanced_senders()};
        job const known_job = prepare(world, source_tensors{source.views(), both.source},
                                      target_tensors{target.views(), both.target}, balanced);
        job const received_job = prepare(world, source.views(), target.views(), balanced);
        BOOST_TEST((known_job.cost() == received_job.cost()), "seed " << seed << ", rank " << rank);
    }
}

BOOST_FIXTURE_TEST_CASE(programs_run_between_known_layouts, layouts_fixture) {
    mapping program;
    expression const a = program.source("a", {6, 6}, data_type::f32);
    program.define("b", transpose(a));
    layout const turned =
        layout_of({sharding_of("b", data_type::f32, distribution(everybody, {shard{0}}, {6, 6}))});
    rank_tensors result(turned, rank);
    state_dict const views = result.views();
    redistribute(world, source_tensors{have.views(), rows}, target_tensors{views, turned},
                 {.program = program});
    for (auto const& [descriptor, view] : views)
        for (index_t n = 0; n < element_count(view.shape); ++n) {
            index_t const row = descriptor.region.offset[0] + n / 6;
            BOOST_TEST(static_cast<float const*>(view.data)[n] ==
                       static_cast<float>(n % 6 * 6 + row));
        }
}

BOOST_FIXTURE_TEST_CASE(ranks_with_different_layouts_are_told_so, layouts_fixture) {
    if (size == 1)
        return;
    BOOST_TEST(error_of(rank == last ? columns : rows, columns, have.views(), want.views()) ==
               "ranks_disagree: ranks 0 and " + std::to_string(last) +
                   " give different layouts of the source; pass the same layout, in the same form, "
                   "on all ranks, or pass no layout");
}

BOOST_FIXTURE_TEST_CASE(a_layout_for_more_ranks_than_there_are_is_refused, layouts_fixture) {
    layout const wide = layout_of({sharding_of(
        "a", data_type::f32, distribution(mesh{{"x", size + 1}}, {shard{0}}, {6, 6}))});
    BOOST_TEST(error_of(rows, wide, have.views(), want.views()) ==
               "bad_layout: the layout of the target is for " + std::to_string(size + 1) +
                   " ranks, and the group has " + std::to_string(size));
}

BOOST_FIXTURE_TEST_CASE(a_tensor_that_a_rank_lacks_is_refused, layouts_fixture) {
    index_t const own = (6 + size - 1) / size; // rows of rank 0
    BOOST_TEST(
        error_of(rows, columns, have.views(rank == 0 ? 1 : 0), want.views()) ==
        "bad_layout: rank 0 holds no tensor for a: float32 [6, 6] [0:" + std::to_string(own) +
            ", 0:6], which the layout assigns to it; add it to the state dict");
}

BOOST_FIXTURE_TEST_CASE(a_tensor_that_the_layout_does_not_know_is_refused, layouts_fixture) {
    if (size == 1)
        return;
    index_t const own = (6 + size - 1) / size;
    BOOST_TEST(error_of(columns, columns, have.views(), want.views()) ==
               "bad_layout: rank 0 holds a: float32 [6, 6] [0:" + std::to_string(own) +
                   ", 0:6], which the layout does not assign to it");
}

BOOST_AUTO_TEST_SUITE_END()
