// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/define_outputs.hpp>

#include "aoa/language.hpp"
#include "support/says.hpp"

#include <reshard/expr/algebra.hpp>

#include <utility>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::aoa;
using namespace reshard::aoa::detail;
using reshard::test::says;
using reshard::test::tensor;

BOOST_AUTO_TEST_SUITE(aoa_state_rule)

namespace {

state_suffix const moment{".moment1_0", false}, power{".beta1_pow_acc_0", true};

/// Keys by number: a 0, its power 1, its moment 2, b 3, its moment 4, c 5, its moment 6, d 7
catalog const tensors({tensor("a", {2, 4}, data_type::bf16), tensor("a.beta1_pow_acc_0", {1}),
                       tensor("a.moment1_0", {2, 4}), tensor("b", {2, 4}, data_type::bf16),
                       tensor("b.moment1_0", {2, 4}), tensor("c", {2, 4}, data_type::bf16),
                       tensor("c.moment1_0", {8}, data_type::f64),
                       tensor("d", {2, 4}, data_type::bf16)});
reshard::vector<state_suffix> const suffixes = default_state_suffixes();
source_names const source(tensors, suffixes);

/// A tensor with elements.
bound_value made(expression tensor) { return {std::move(tensor)}; }

expression parameter(key_id id) { return source_tensor(id, {2, 4}, data_type::bf16); }
expression state(key_id id) { return source_tensor(id, {2, 4}, data_type::f32); }

} // namespace

BOOST_AUTO_TEST_CASE(state_is_split_joined_and_permuted_like_its_parameter) {
    expression const joined = transpose(concat({parameter(0), parameter(3)}, 1));
    BOOST_TEST((state_of(source, made(joined), moment, "x.moment1_0") ==
                transpose(concat({state(2), state(4)}, 1))));
    expression const part = split(parameter(3), 1, std::size_t{2})[1];
    BOOST_TEST((state_of(source, made(part), moment, "x.moment1_0") ==
                split(state(4), 1, std::size_t{2})[1]));
}

BOOST_AUTO_TEST_CASE(state_keeps_its_own_type) {
    expression const narrow = cast(parameter(0), data_type::f16);
    BOOST_TEST((state_of(source, made(narrow), moment, "x.moment1_0") == state(2)));
}

BOOST_AUTO_TEST_CASE(zeros_of_a_parameter_are_zeros_of_its_state_in_the_type_of_the_state) {
    expression const padded = resize(transpose(parameter(0)), {5, 3});
    BOOST_TEST((state_of(source, made(padded), moment, "x.moment1_0") ==
                resize(transpose(state(2)), {5, 3})));
    BOOST_TEST(has_state(source, made(padded), moment).value());
    bound_value const tail{split(padded, 0, reshard::vector<index_t>{4, 1})[1], {0}};
    expression const zero = state_of(source, tail, moment, "x.moment1_0");
    BOOST_TEST((zero.dtype == data_type::f32));
    BOOST_TEST(
        (zero == split(resize(transpose(state(2)), {5, 3}), 0, reshard::vector<index_t>{4, 1})[1]));
    BOOST_TEST((state_of(source, tail, power, "x.beta1_pow_acc_0") ==
                source_tensor(1, {1}, data_type::f32)));
    expression const first_zeros = concat({zeros({2, 4}, data_type::bf16), parameter(0)}, 0);
    BOOST_TEST((state_of(source, made(first_zeros), power, "x.beta1_pow_acc_0") ==
                source_tensor(1, {1}, data_type::f32)));
}

BOOST_AUTO_TEST_CASE(a_scalar_state_is_that_of_the_first_source) {
    expression const joined = concat({parameter(0), parameter(3)}, 0);
    BOOST_TEST((state_of(source, made(joined), power, "x.beta1_pow_acc_0") ==
                source_tensor(1, {1}, data_type::f32)));
}

BOOST_AUTO_TEST_CASE(state_that_is_not_there_or_does_not_fit_is_refused) {
    BOOST_CHECK_EXCEPTION(state_of(source, made(parameter(7)), moment, "x.moment1_0"), error,
                          says(errc::unknown_key,
                               "'x.moment1_0' is made of 'd.moment1_0', which the "
                               "source does not have"));
    BOOST_CHECK_EXCEPTION(state_of(source, made(parameter(5)), moment, "x.moment1_0"), error,
                          says(errc::shape_mismatch, "'c.moment1_0' has the shape [8], but its "
                                                     "parameter has [2, 4]"));
}

BOOST_AUTO_TEST_CASE(all_some_or_none_of_the_sources_have_a_state) {
    BOOST_TEST(has_state(source, made(concat({parameter(0), parameter(3)}, 0)), moment).value());
    BOOST_TEST(!has_state(source, made(parameter(7)), moment).value());
    BOOST_TEST(
        !has_state(source, made(concat({parameter(0), parameter(7)}, 0)), moment).has_value());
}

BOOST_AUTO_TEST_CASE(the_state_of_a_tensor_without_elements_is_that_of_what_it_is_made_of) {
    bound_value const none{zeros({0, 4}, data_type::bf16), {0, 3}};
    expression const expression = state_of(source, none, moment, "x.moment1_0");
    BOOST_TEST((expression.shape == index_vector{0, 4}));
    BOOST_TEST((expression.dtype == data_type::f32));
    BOOST_TEST(expression.pieces.size() == 0u);
    BOOST_TEST((state_of(source, none, power, "x.beta1_pow_acc_0") ==
                source_tensor(1, {1}, data_type::f32)));
    BOOST_TEST(has_state(source, none, moment).value());
    BOOST_TEST(!has_state(source, none, power).has_value()); // b has none
    BOOST_TEST(!has_state(source, {zeros({0}, data_type::bf16), {7}}, moment).value());
    bound_value const unlike{zeros({0}, data_type::bf16), {0, 5}};
    BOOST_CHECK_THROW(state_of(source, unlike, moment, "x.moment1_0"), error);
}

BOOST_AUTO_TEST_SUITE_END()
