// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/typed_problem.hpp>

#include "support/says.hpp"

#include <reshard/expr/algebra.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>

using namespace reshard;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(plan_typed_problem)

namespace {

template <fixed_string Key, index_t Row, index_t Rows>
using rows = typed_shard<Key, float, index_vector{6, 2}, box{{Row, 0}, {Rows, 2}}>;

using before = typed_ranks<typed_state_dict<rows<"b", 0, 6>, rows<"a", 0, 2>>,
                           typed_state_dict<rows<"a", 2, 4>>>;
using after = typed_ranks<typed_state_dict<rows<"a", 0, 3>>, typed_state_dict<>,
                          typed_state_dict<rows<"a", 3, 3>, rows<"b", 1, 2>>>;

template <class... Ranks>
layout layout_of_types(typed_ranks<Ranks...>) {
    return layout_of({Ranks::descriptors()...});
}

} // namespace

BOOST_AUTO_TEST_CASE(types_and_values_give_one_plan) {
    layout const source = layout_of_types(before{}), target = layout_of_types(after{});
    catalog const wanted = catalog_of(target);
    mapping const program = identity_mapping(catalog_of(source), &wanted);
    plan const by_values = make_plan(problem_of(program, source, target));
    typed_problem<before, after> job;
    BOOST_TEST((make_plan(job.problem()) == by_values));
    BOOST_TEST(by_values.transfers.size() == 4u);
}

BOOST_AUTO_TEST_CASE(definitions_give_one_plan_too) {
    layout const source = layout_of_types(before{}), target = layout_of_types(after{});
    mapping program(catalog_of(source));
    auto const parts = split(program.source(0), 0, 2);
    expression const swapped = concat({parts[1], parts[0]}, 0);
    program.define("a", swapped);
    program.define("b", program.source(1));
    typed_problem<before, after> job;
    job.define("a", swapped);
    BOOST_TEST((make_plan(job.problem()) == make_plan(problem_of(program, source, target))));
}

BOOST_AUTO_TEST_CASE(the_ranks_of_a_layout_are_its_mesh) {
    using job = typed_layout<mesh{{"tp", 3}}, typed_tensor<"w", float, index_vector{4}, shard{0}>>;
    layout const by_type = layout_of_types(typed_ranks_of<job>{});
    BOOST_TEST((by_type == layout(job{})));
}

BOOST_AUTO_TEST_CASE(names_that_are_not_there_are_refused) {
    typed_problem<before, after> job;
    BOOST_CHECK_EXCEPTION(job.source("c"), error,
                          says(errc::unknown_key, "'c' is held by no rank of that side"));
    BOOST_CHECK_EXCEPTION(job.define("c", job.source("a")), error,
                          says(errc::unknown_key, "'c' is held by no rank of that side"));
    typed_problem<typed_ranks<>, after> empty;
    BOOST_CHECK_EXCEPTION(empty.problem(), error,
                          says(errc::unknown_key, "'a' is held by no rank of that side"));
}

BOOST_AUTO_TEST_CASE(definitions_that_do_not_fit_are_refused) {
    typed_problem<before, after> job;
    job.define("a", transpose(job.source("a")));
    BOOST_CHECK_EXCEPTION(
        job.problem(), error,
        says(errc::shape_mismatch, "'a' is wanted in the shape [6, 2] and defined in [2, 6]"));
    job.define("a", cast(job.source("a"), data_type::f16));
    BOOST_CHECK_EXCEPTION(
        job.problem(), error,
        says(errc::dtype_mismatch, "'a' is wanted as float32 and defined as float16"));
}

BOOST_AUTO_TEST_CASE(ranks_that_disagree_about_a_tensor_are_refused) {
    using other = typed_shard<"a", float, index_vector{5, 2}, box{{0, 0}, {5, 2}}>;
    using wrong = typed_ranks<typed_state_dict<rows<"a", 0, 2>>, typed_state_dict<other>>;
    BOOST_CHECK_EXCEPTION((typed_problem<wrong, after>()), error,
                          says(errc::shape_mismatch, "'a' has two global shapes on two ranks"));
    using wide = typed_shard<"a", double, index_vector{6, 2}, box{{0, 0}, {6, 2}}>;
    using mixed = typed_ranks<typed_state_dict<rows<"a", 0, 2>>, typed_state_dict<wide>>;
    BOOST_CHECK_EXCEPTION((typed_problem<mixed, after>()), error,
                          says(errc::dtype_mismatch, "'a' has two data types on two ranks"));
}

BOOST_AUTO_TEST_SUITE_END()
