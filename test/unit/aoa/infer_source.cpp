// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/reverse.hpp>

#include "aoa/language.hpp"

#include <reshard/aoa/expand.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

using namespace reshard;
using namespace reshard::aoa;
using reshard::test::parsed;
using reshard::test::tensor;

BOOST_AUTO_TEST_SUITE(aoa_infer_source)

namespace {

inference inferred(char const* text, catalog const& target,
                   std::vector<known_tensor> const& tensors = {}) {
    catalog const keys = catalog_of(tensors);
    expand_options options;
    options.reverse = true;
    program const code =
        expand(parsed(text), target, tensors.empty() ? nullptr : &keys, options).code;
    return infer_source(code, tensors, target);
}

} // namespace

BOOST_AUTO_TEST_CASE(shapes_are_told_from_what_becomes_of_them) {
    catalog const target({tensor("d", {4, 6}), tensor("n", {3}), tensor("u", {2, 5})});
    inference const inference = inferred("a^T -> d\nw -> t, u, axis=0", target);
    // nothing says what t is, so nothing is known of w
    BOOST_TEST((inference.tensors == catalog({tensor("a", {6, 4}), tensor("n", {3})})));
    BOOST_TEST(inference.findings.empty());
}

BOOST_AUTO_TEST_CASE(operands_of_a_fused_macro_need_no_guess) {
    catalog const target({tensor("d", {4, 8}, data_type::bf16, {1, 2})});
    inference const found_inference =
        inferred("q^T, k^T, v^T -> d, fused_qkv, num_heads=2, num_key_value_groups=1", target);
    BOOST_TEST((found_inference.tensors ==
                catalog({tensor("k", {2, 4}, data_type::bf16), tensor("q", {4, 4}, data_type::bf16),
                         tensor("v", {2, 4}, data_type::bf16)})));
    BOOST_TEST(found_inference.findings.empty());
    inference const halves = inferred("g, u -> d, fused_ffn", target);
    BOOST_TEST((halves.tensors == catalog({tensor("g", {4, 4}, data_type::bf16),
                                           tensor("u", {4, 4}, data_type::bf16)})));
    BOOST_TEST(halves.findings.empty());
}

BOOST_AUTO_TEST_CASE(operands_of_a_plain_concat_are_taken_to_be_equal_and_that_is_said) {
    catalog const target({tensor("c", {6, 4})});
    inference const found_inference = inferred("a, b -> c, axis=0", target);
    BOOST_TEST((found_inference.tensors == catalog({tensor("a", {3, 4}), tensor("b", {3, 4})})));
    BOOST_TEST_REQUIRE(found_inference.findings.size() == 1u);
    BOOST_TEST(found_inference.findings[0].code == "assumed");
    inference const inference =
        inferred("a, b -> c, axis=0", target, {{tensor("a", {1, 4}), false}});
    BOOST_TEST((inference.tensors == catalog({tensor("a", {1, 4}), tensor("b", {5, 4})})));
    BOOST_TEST(inference.findings.empty());
}

BOOST_AUTO_TEST_CASE(what_does_not_divide_is_an_error) {
    inference const inference = inferred("a, b -> c, axis=0", catalog({tensor("c", {5, 4})}));
    BOOST_TEST((inference.first_error == errc::shape_mismatch));
    BOOST_TEST(
        inference.findings.at(0).message ==
        "the sizes of the operands cannot be determined: 5 elements along axis 0 are left for 2 "
        "tensors; give a target that has their sizes");
}

BOOST_AUTO_TEST_CASE(a_cast_hides_the_type_unless_it_names_it) {
    catalog const target({tensor("b", {2}), tensor("d", {2})});
    inference const inference = inferred(
        "a -> b, dtype='float32'\nc -> d, src_dtype='bfloat16', dst_dtype='float32'", target);
    BOOST_TEST((inference.tensors == catalog({tensor("c", {2}, data_type::bf16)})));
}

BOOST_AUTO_TEST_CASE(an_open_type_is_found_out) {
    catalog const target({tensor("b", {4, 2}, data_type::bf16)});
    inference const inference =
        inferred("a^T -> b", target, {{tensor("a", {2, 4}, data_type::f32, {1, 2}), false}});
    BOOST_TEST((inference.tensors == catalog({tensor("a", {2, 4}, data_type::bf16, {1, 2})})));
}

BOOST_AUTO_TEST_CASE(state_is_what_the_target_has_of_it) {
    catalog const target({tensor("b", {4, 2}), tensor("b.moment1_0", {4, 2}, data_type::f64),
                          tensor("b.beta1_pow_acc_0", {1}), tensor("c.w_0", {3})});
    inference const inference = inferred("a^T -> b\nx -> c", target);
    BOOST_TEST((inference.tensors ==
                catalog({tensor("a", {2, 4}), tensor("a.moment1_0", {2, 4}, data_type::f64),
                         tensor("a.beta1_pow_acc_0", {1}), tensor("x.w_0", {3})})));
}

BOOST_AUTO_TEST_CASE(what_is_added_has_no_source_and_what_is_not_touched_is_its_own) {
    catalog const target(
        {tensor("a", {2}), tensor("n", {3}), tensor("o", {4}), tensor("o.w_0", {4})});
    inference const inference = inferred("_ -> n\na -> t", target);
    BOOST_TEST(
        (inference.tensors == catalog({tensor("a", {2}), tensor("o", {4}), tensor("o.w_0", {4})})));
}

BOOST_AUTO_TEST_CASE(what_is_removed_has_to_be_known) {
    catalog const target({tensor("b", {2})});
    char const* const text = "a -> b\nh -> _";
    inference const refused = inferred(text, target);
    BOOST_TEST((refused.first_error == errc::not_invertible));
    BOOST_TEST(refused.findings.at(0).key == "h");
    known_tensor like{tensor("h", {3})};
    like.is_wanted = false;
    inference const known_inference = inferred(text, target, {like});
    BOOST_TEST((known_inference.tensors == catalog({tensor("a", {2}), tensor("h", {3})})));
    inference const wanted = inferred(text, target, {{tensor("a", {2})}}); // and no `h`
    BOOST_TEST((wanted.tensors == catalog({tensor("a", {2})})));
}

BOOST_AUTO_TEST_SUITE_END()
