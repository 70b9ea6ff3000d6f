// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_PLANNED_SCENARIO_HPP
#define RESHARD_TEST_SUPPORT_PLANNED_SCENARIO_HPP

#include <reshard/plan/problem.hpp>

#include "oracle/generate.hpp"
#include "support/experiment.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>

/// \file
/// Random programs as problems to plan.

namespace reshard::test {

/// A scenario as a problem, with what the problem refers to.
struct planned {
    explicit planned(oracle::scenario const& all)
        : source(source_layout(all)),
          target(target_layout(all)),
          program(mapping_of(all)),
          problem(problem_of(program, source, target)) {}

    layout source;
    layout target;
    mapping program;
    detail::plan_problem problem;
};

template <class Law>
void for_each_program(std::uint64_t count, Law&& law) {
    for (std::uint64_t seed = 0; seed < count; ++seed) {
        oracle::scenario const all = oracle::generator(seed).make();
        BOOST_TEST_CONTEXT("seed " << seed << ":\n" << all.text) {
            planned const one(all);
            law(one);
        }
    }
}

} // namespace reshard::test

#endif
