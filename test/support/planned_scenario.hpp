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

/// A scenario as a problem, with the data that the problem refers to.
struct planned {
    explicit planned(oracle::scenario const& scenario)
        : source(source_layout(scenario)),
          target(target_layout(scenario)),
          program(mapping_of(scenario)),
          problem(problem_of(program, source, target)) {}

    layout source;
    layout target;
    mapping program;
    detail::plan_problem problem;
};

template <class Law>
void for_each_program(std::uint64_t count, Law&& law) {
    for (std::uint64_t seed = 0; seed < count; ++seed) {
        oracle::scenario const scenario = oracle::generator(seed).make();
        BOOST_TEST_CONTEXT("seed " << seed << ":\n" << scenario.text) {
            planned const planned(scenario);
            law(planned);
        }
    }
}

} // namespace reshard::test

#endif
