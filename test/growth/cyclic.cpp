// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "growth/steps.hpp"

#include <reshard/layout/layout_of.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/plan/verify.hpp>

#include <cstdint>
#include <utility>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(growth_cyclic)

namespace {

/// A square matrix in square blocks, over 2 x 2 ranks.
layout dealt(index_t n, index_t block) {
    return layout_of("A", data_type::f64, {n, n}, {{"p", 2}, {"q", 2}},
                     {block_cyclic{0, block, 1}, block_cyclic{1, block}});
}

layout rows(index_t n) { return layout_of("A", data_type::f64, {n, n}, {{"rows", 4}}, {shard{0}}); }

/// What is done with both layouts before a rank can bind its plan; with `proves`, the proof of the
/// whole plan, too.
void make_plan_between(layout const& source, layout const& target, bool proves) {
    catalog const wanted = catalog_of(target);
    mapping const program = identity_mapping(catalog_of(source), &wanted);
    detail::plan_problem const problem = problem_of(program, source, target);
    holder_set const me({1});
    BOOST_TEST(!make_plan(problem, {me, me}).transfers.empty());
    if (proves)
        BOOST_TEST(!verify(make_plan(problem), problem));
}

std::uint64_t steps_between(layout const& source, layout const& target) {
    return test::steps_of(
        [&](std::size_t) { return [&] { make_plan_between(source, target, true); }; }, 0);
}

} // namespace

// From a thousand blocks to four hundred million.
BOOST_AUTO_TEST_CASE(a_plan_costs_the_same_whatever_the_number_of_blocks) {
    auto const grows = [](auto const& source, auto const& target) {
        auto const few = static_cast<double>(steps_between(source(64), target(64)));
        for (index_t const n : {640, 6400, 40960})
            BOOST_TEST(static_cast<double>(steps_between(source(n), target(n))) < 1.1 * few,
                       n << " rows and columns");
    };
    for (index_t const block : {1, 2}) {
        auto const blocks = [=](index_t n) { return dealt(n, block); };
        grows(blocks, rows);
        grows(rows, blocks);
        for (index_t const other : {4, 16})
            grows(blocks, [=](index_t n) { return dealt(n, other); });
    }
}

// Blocks whose extents differ by one begin at all distances from each other.
BOOST_AUTO_TEST_CASE(a_plan_costs_as_much_as_it_has_patterns) {
    auto const line = [](index_t block) {
        return layout_of("A", data_type::f64, {1 << 30}, {{"p", 2}}, {block_cyclic{0, block}});
    };
    for (bool const proves : {false, true})
        test::check_linear("blocks and blocks that are longer by one", [&](std::size_t size) {
            auto const block = static_cast<index_t>(size);
            return [source = line(block), target = line(block + 1), proves] {
                make_plan_between(source, target, proves);
            };
        });
}

// Each rank's blocks reach from the beginning to the end, so that all boxes around them overlap.
BOOST_AUTO_TEST_CASE(blocks_that_ranks_list_are_checked_without_comparing_each_with_each) {
    test::check_linear("ranks that list their blocks", [](std::size_t size) {
        auto const ranks = static_cast<index_t>(size);
        index_vector const shape{16 * ranks, 6};
        layout const source = detail::listed(
            layout_of("A", data_type::f64, shape, {{"p", ranks}}, {block_cyclic{0, 2}}));
        layout const target = layout_of("A", data_type::f64, shape, {{"p", ranks}}, {shard{0}});
        return [=] { make_plan_between(source, target, false); };
    });
}

BOOST_AUTO_TEST_SUITE_END()
