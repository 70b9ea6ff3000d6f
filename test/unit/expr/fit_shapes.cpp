// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/by_name.hpp>

#include "support/layouts.hpp"
#include "support/says.hpp"

using namespace reshard;
using namespace reshard::detail;
using reshard::test::part;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(expr_fit_shapes)

namespace {

/// A vocabulary of 5 words, and a bias.
catalog vocabulary() {
    return catalog(
        {{"word.weight", data_type::f32, {5, 2}, {1, 1}}, {"bias", data_type::f32, {5}, {1}}});
}

/// The result for `vocabulary` with a target of 8 words, with these patterns.
mapping fitted(std::vector<std::string> const& allowed) {
    layout const target =
        layout_of({{part("word.weight", {8, 2}, {{0, 0}, {8, 2}}), part("bias", {8}, {{0}, {8}})}});
    return fit_shapes(by_name(vocabulary(), target), target, allowed);
}

} // namespace

BOOST_AUTO_TEST_CASE(without_patterns_nothing_changes) {
    BOOST_TEST((fitted({}).find("word.weight")->value.shape == index_vector{5, 2}));
}

BOOST_AUTO_TEST_CASE(what_a_pattern_allows_has_the_shape_of_the_target) {
    mapping const program = fitted({"*.weight"});
    expression const& value = program.find("word.weight")->value;
    BOOST_TEST((value == resize(program.source(1), {8, 2})));
    BOOST_TEST((program.find("bias")->value.shape == index_vector{5}));
}

BOOST_AUTO_TEST_CASE(a_tensor_of_other_axes_stays_as_it_is) {
    layout const target = layout_of({{part("bias", {5, 1}, {{0, 0}, {5, 1}})}});
    mapping const program = fit_shapes(by_name(vocabulary(), target), target, {"bias"});
    BOOST_TEST((program.find("bias")->value.shape == index_vector{5}));
}

BOOST_AUTO_TEST_CASE(what_is_only_added_stays_as_it_is) {
    layout const target = layout_of({{part("bias", {8}, {{0}, {8}})}});
    mapping program(vocabulary());
    program.add("bias", {5}, data_type::f32);
    BOOST_TEST((fit_shapes(program, target, {"**"}).find("bias")->value.shape == index_vector{5}));
}

BOOST_AUTO_TEST_CASE(a_pattern_that_matches_no_key_is_an_error) {
    BOOST_CHECK_EXCEPTION(fitted({"*.weight", "bais"}), error,
                          says(errc::unknown_key,
                               "options.shape_mismatch: 'bais' matches none of the 2 keys of the "
                               "target (did you mean 'bias'?)"));
}

BOOST_AUTO_TEST_SUITE_END()
