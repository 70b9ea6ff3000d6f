// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "growth/steps.hpp"

#include "support/typed_tensors.hpp"

#include <reshard/bind/typed_redistribute.hpp>
#include <reshard/expr/typed_expression.hpp>

using namespace reshard;
using reshard::test::allocations_so_far;

BOOST_AUTO_TEST_SUITE(growth_typed_plan)

namespace {

struct held : typed::layout<mesh{}, typed::tensor<"a", float, index_vector{7, 4}>,
                            typed::tensor<"b", float, index_vector{4, 5}>> {};
struct wanted : typed::layout<mesh{}, typed::tensor<"a", float, index_vector{7, 4}>,
                              typed::tensor<"turned", float, index_vector{5, 4}>,
                              typed::tensor<"round", float, index_vector{7, 4}>> {};
template <class T>
using rounded = typed::cast<typed::cast<T, bfloat16>, float>;
using move_all = typed::plan<
    held, wanted,
    typed::definition<"turned", typed::permute<typed::source_of<held, "b">, index_vector{1, 0}>>,
    typed::definition<"round", rounded<typed::source_of<held, "a">>>>;

} // namespace

BOOST_AUTO_TEST_CASE(running_a_typed_plan_allocates_nothing) {
    test::typed_tensors<held, float> source;
    test::typed_tensors<wanted, float> target;
    source.fill([](std::string_view, index_vector const& at) { return 8 * at[0] + at[1]; });
    auto const from = source.state_dicts<const_state_dict>();
    auto const to = target.state_dicts<state_dict>();
    std::uint64_t const before = allocations_so_far();
    job ready = prepare<move_all>(solo(), from[0], to[0]);
    std::uint64_t const bound = allocations_so_far();
    run(ready);
    BOOST_TEST(allocations_so_far() - bound == 0u);
    BOOST_TEST(bound > before); // the count counts: a plan is lists
    BOOST_TEST(target.differences([](std::string_view key, index_vector const& at) {
        return key == "turned" ? 8 * at[1] + at[0] : 8 * at[0] + at[1];
    }) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
