// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "oracle/random.hpp"
#include "support/dealt_array.hpp"
#include "support/trials.hpp"

#include <reshard/bind/bind.hpp>
#include <reshard/copy/conversions.hpp>
#include <reshard/expr/slice.hpp>
#include <reshard/layout/layout_of.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/plan/verify.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstdint>
#include <vector>

// Any block-cyclic array goes to any other one, as the formulas of ScaLAPACK say.

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

BOOST_AUTO_TEST_SUITE(laws_cyclic)

namespace {

/// The same shards in lists.
layout listed(layout const& computed, index_t ranks) {
    std::vector<std::vector<shard_descriptor>> shards;
    for (index_t rank = 0; rank < ranks; ++rank)
        shards.push_back(shards_of(computed, rank));
    return layout_of(shards);
}

/// The local arrays of all processes, found by shard of `spread`, the layout of the part.
template <class View>
shard_views<View> views_of(dealt_array& array, layout const& spread) {
    shard_views<View> views;
    for (index_t process = 0; process < array.process_count(); ++process)
        views.add(tensors_of<View>(array, spread, process), spread, static_cast<holder_t>(process));
    return views;
}

/// What one trial moves: `shape` elements of one array into the other one.
struct trial {
    index_vector shape;
    dealt_array source;
    dealt_array target;
    bool slices = false; ///< the source is the whole array, of which the program takes a part
    bool lists_source = false;
    bool lists_target = false;
};

trial drawn_trial(oracle::random_numbers& random) {
    constexpr std::array<std::int64_t, 5> most{0, 60, 21, 9, 6};
    index_vector shape;
    std::int64_t const ndim = random.between(1, 4);
    for (std::int64_t i = 0; i < ndim; ++i)
        shape.push_back(random.between(1, most[static_cast<std::size_t>(ndim)]));
    dealt_array source(drawn_axes(random, shape, 12), random.chance(50));
    dealt_array target(drawn_axes(random, shape, 12), random.chance(50));
    return {shape,
            std::move(source),
            std::move(target),
            random.chance(50),
            random.chance(30),
            random.chance(30)};
}

/// Moves the part by the library.
void run(trial& trial) {
    dealt_array given = trial.slices ? trial.source.whole() : trial.source;
    layout have = layout_of_part(given, trial.slices ? given.shape() : trial.shape, "A");
    layout want = layout_of_part(trial.target, trial.shape, "B");
    if (trial.lists_source)
        have = listed(have, trial.source.process_count());
    if (trial.lists_target)
        want = listed(want, trial.target.process_count());
    mapping const program = program_of(trial.source, trial.shape, trial.slices);
    plan_problem const problem = problem_of(program, have, want);
    plan const plan = make_plan(problem);
    auto const fault = verify(plan, problem);
    BOOST_TEST(!fault, (fault ? "the plan is wrong" : ""));
    auto const sources = views_of<const_tensor_view>(given, have);
    auto const targets = views_of<tensor_view>(trial.target, want);
    for (transfer const& t : plan.transfers)
        run_locally({plan, problem, sources, targets, &all_conversions()}, t);
}

} // namespace

BOOST_AUTO_TEST_CASE(elements_arrive_where_the_formulas_of_scalapack_say) {
    for (std::uint64_t seed = 0; seed < trials(1000); ++seed) {
        oracle::random_numbers random(seed);
        trial drawn = drawn_trial(random);
        drawn.source.fill();
        dealt_array expected = drawn.target;
        for (index_t i = 0; i < element_count(drawn.shape); ++i) {
            index_vector const index = unravel_index(i, drawn.shape);
            expected.at(drawn.target.index_of(index)) =
                drawn.source.at(drawn.source.index_of(index));
        }
        BOOST_TEST_CONTEXT("seed " << seed) {
            run(drawn);
            BOOST_TEST((drawn.target.local() == expected.local()));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
