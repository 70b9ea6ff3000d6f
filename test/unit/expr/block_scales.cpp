// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/block_scales.hpp>

#include <reshard/expr/algebra.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <optional>
#include <string>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(expr_block_scales)

namespace {

/// Weights 0 and 1 of these shapes have the scales 10 and 11.
struct weights {
    index_vector shapes[2];

    expression operator[](key_id id) const {
        return source_tensor(id, shapes[id], data_type::f8_e4m3);
    }

    expression scales_of(expression const& expression,
                         index_vector const& block = {128, 128}) const {
        return block_scales(expression, {block}, data_type::f32, [&](key_id id) {
            return scale_source{id + 10, data_type::f32, shapes[id], {}};
        });
    }
};

expression scales(key_id id, index_vector const& shape) {
    return source_tensor(id, shape, data_type::f32);
}

/// The element of a tensor as a separate piece.
piece element(expression const& tensor, index_vector const& at) {
    box const box{at, index_vector::filled(at.size(), 1)};
    std::optional<piece> found_piece;
    for (std::size_t i = 0; i < tensor.pieces.size(); ++i)
        if (intersect(tensor.pieces.target_box(i), box))
            cut_to_target(tensor.pieces[i], box, [&](piece const& p) { found_piece = p; });
    BOOST_TEST_REQUIRE(found_piece.has_value());
    return *found_piece;
}

/// Whether each element has the scale that it has in its source.
void check_scales(weights const& weights, expression const& expression, index_vector const& block) {
    auto const [form, scales] =
        scales_and_form(expression, {block}, data_type::f32, [&](key_id id) {
            return scale_source{id + 10, data_type::f32, weights.shapes[id], {}};
        });
    BOOST_TEST((scales.shape == scale_counts(expression.shape, form)));
    for (index_t n = 0; n < element_count(expression.shape); ++n) {
        index_vector const at = unravel_index(n, expression.shape);
        piece const weight = element(expression, at);
        if (weight.source == zero_source)
            continue;
        box const box = scales_of_box({at, index_vector::filled(at.size(), 1)}, form);
        piece const scale = element(scales, box.offset);
        BOOST_TEST(scale.source == weight.source + 10);
        for (std::size_t axis = 0; axis < block.size(); ++axis)
            BOOST_TEST(scale.source_offset[axis] == weight.source_offset[axis] / block[axis]);
    }
}

std::string said(auto const& step) {
    try {
        step();
    } catch (error const& problem) {
        return std::string(name(problem.code())) + ": " + problem.what();
    }
    return "nothing";
}

} // namespace

BOOST_AUTO_TEST_CASE(a_renamed_weight_keeps_its_scales) {
    weights const weights{{{300, 256}, {}}};
    BOOST_TEST((weights.scales_of(weights[0]) == scales(10, {3, 2})));
}

BOOST_AUTO_TEST_CASE(scales_are_transposed_with_their_weight) {
    weights const weights{{{300, 256}, {}}};
    BOOST_TEST((weights.scales_of(transpose(weights[0])) == transpose(scales(10, {3, 2}))));
}

BOOST_AUTO_TEST_CASE(scales_are_joined_where_weights_are) {
    weights const weights{{{256, 256}, {130, 256}}};
    BOOST_TEST((weights.scales_of(concat({weights[0], weights[1]}, 0)) ==
                concat({scales(10, {2, 2}), scales(11, {2, 2})}, 0)));
}

BOOST_AUTO_TEST_CASE(scales_are_split_where_weights_are) {
    weights const weights{{{300, 256}, {}}};
    index_t const sizes[] = {128, 172};
    auto const parts = split(weights[0], 0, sizes);
    index_t const scale_sizes[] = {1, 2};
    auto const wanted = split(scales(10, {3, 2}), 0, scale_sizes);
    BOOST_TEST((weights.scales_of(parts[0]) == wanted[0]));
    BOOST_TEST((weights.scales_of(parts[1]) == wanted[1]));
}

BOOST_AUTO_TEST_CASE(blocks_of_two_extents_turn_with_their_weight) {
    weights const weights{{{256, 64}, {}}};
    BOOST_TEST(
        (weights.scales_of(transpose(weights[0]), {128, 16}) == transpose(scales(10, {2, 4}))));
}

BOOST_AUTO_TEST_CASE(a_cut_inside_a_block_is_refused_with_block_and_cut) {
    weights const weights{{{384, 256}, {}}};
    index_t const sizes[] = {192, 192};
    BOOST_TEST(said([&] { weights.scales_of(split(weights[0], 0, sizes)[1]); }) ==
               "shape_mismatch: axis 0 of the source is cut at 192, inside the block from 128 to "
               "256, which has one scale; cut at multiples of 128");
}

BOOST_AUTO_TEST_CASE(a_joint_inside_a_block_is_refused) {
    weights const weights{{{192, 256}, {128, 256}}};
    BOOST_TEST(said([&] {
                   weights.scales_of(concat({weights[0], weights[1]}, 0));
               }) ==
               "shape_mismatch: axis 0 of the target is cut at 192, inside the block from 128 to "
               "256, which has one scale; cut at multiples of 128");
}

BOOST_AUTO_TEST_CASE(scales_do_not_follow_casts_and_reshapes_of_blocks) {
    weights const weights{{{256, 256}, {}}};
    BOOST_TEST(said([&] { weights.scales_of(cast(weights[0], data_type::f16)); }) ==
               "dtype_mismatch: a block-scaled tensor of float8_e4m3fn cannot be cast or computed: "
               "its scales "
               "belong to its stored values");
    expression const turned = permute(reshape(weights[0], {2, 128, 256}), {1, 0, 2});
    for (expression const& expression :
         {reshape(weights[0], {65536}), reshape(weights[0], {512, 128}),
          reshape(turned, {256, 256})})
        BOOST_TEST(said([&] {
                       weights.scales_of(expression);
                   }).starts_with("unsupported: a reshape splits or merges axis "));
    BOOST_TEST(said([&] { weights.scales_of(reshape(weights[0], {65536})); }) ==
               "unsupported: a reshape splits or merges axis 0 of the source, and breaks up its "
               "blocks of 128, which have one scale each; reshape other axes, or between blocks, "
               "or dequantise the model first");
    BOOST_TEST(said([&] { weights.scales_of(weights[0], {128}); }) ==
               "shape_mismatch: a block of [128] has 1 axis, but the tensor has 2");
}

BOOST_AUTO_TEST_CASE(elements_keep_their_scales_if_a_reshape_leaves_blocks_whole) {
    weights const weights{{{8, 6}, {8, 6}}};
    auto const stacked = [&](key_id id) { return reshape(weights[id], {1, 8, 6}); };
    expression const stack = concat({stacked(1), stacked(0)}, 0);
    check_scales(weights, reshape(weights[0], {8, 1, 6}), {4, 4});
    check_scales(weights, stack, {4, 4});
    check_scales(weights, reshape(stack, {16, 6}), {4, 4});
    check_scales(weights, reshape(permute(stack, {1, 0, 2}), {8, 12}), {4, 2});
    check_scales(weights, transpose(stack), {4, 4});
    check_scales(weights, reshape(weights[0], {2, 4, 6}), {4, 4});
    check_scales(weights, reshape(permute(reshape(weights[0], {2, 4, 6}), {1, 0, 2}), {4, 12}),
                 {4, 6});
    check_scales(weights, reshape(permute(reshape(weights[0], {2, 2, 2, 6}), {0, 2, 1, 3}), {8, 6}),
                 {4, 4});
    check_scales(weights, reshape(permute(reshape(weights[0], {2, 4, 6}), {1, 0, 2}), {8, 6}),
                 {1, 6});
    check_scales(weights, reshape(slice(stack, {{0, 1}, {4, 8}, {0, 4}}), {4, 4}), {4, 4});
}

BOOST_AUTO_TEST_CASE(the_last_block_may_become_longer_or_shorter) {
    weights const weights{{{6, 6}, {8, 6}}};
    for (index_vector const& shape : {index_vector{8, 6}, {7, 7}, {12, 6}, {13, 9}, {5, 6}, {2, 3}})
        check_scales(weights, resize(weights[0], shape), {4, 4});
    check_scales(weights, resize(weights[0], {8, 8}), {4, 1});
    expression const longer = concat({resize(weights[0], {8, 6}), weights[1]}, 0);
    check_scales(weights, longer, {4, 4});
    check_scales(weights, reshape(longer, {16, 1, 6}), {4, 4});
    BOOST_TEST((weights.scales_of(resize(weights[0], {9, 6}), {4, 4}) ==
                resize(scales(10, {2, 2}), {3, 2})));
}

BOOST_AUTO_TEST_CASE(a_weight_without_elements_has_no_scales) {
    weights const weights{{{0, 256}, {}}};
    BOOST_TEST((weights.scales_of(weights[0]).shape == index_vector{0, 2}));
    BOOST_TEST(said([&] {
                   weights.scales_of(reshape(weights[0], {0, 2, 128}));
               }) == "shape_mismatch: a block of [128, 128] has 2 axes, but the tensor has 3");
}

BOOST_AUTO_TEST_SUITE_END()
