// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/expr/block_scales.hpp>

#include <reshard/expr/algebra.hpp>

#include <boost/test/unit_test.hpp>

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

    expression scales_of(expression const& made, index_vector const& block = {128, 128}) const {
        return block_scales(made, {block}, data_type::f32, [&](key_id id) {
            return scale_source{id + 10, data_type::f32, shapes[id], {}};
        });
    }
};

expression scales(key_id id, index_vector const& shape) {
    return source_tensor(id, shape, data_type::f32);
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
    weights const all{{{300, 256}, {}}};
    BOOST_TEST((all.scales_of(all[0]) == scales(10, {3, 2})));
}

BOOST_AUTO_TEST_CASE(scales_are_transposed_with_their_weight) {
    weights const all{{{300, 256}, {}}};
    BOOST_TEST((all.scales_of(transpose(all[0])) == transpose(scales(10, {3, 2}))));
}

BOOST_AUTO_TEST_CASE(scales_are_joined_where_weights_are) {
    weights const all{{{256, 256}, {130, 256}}};
    BOOST_TEST((all.scales_of(concat({all[0], all[1]}, 0)) ==
                concat({scales(10, {2, 2}), scales(11, {2, 2})}, 0)));
}

BOOST_AUTO_TEST_CASE(scales_are_split_where_weights_are) {
    weights const all{{{300, 256}, {}}};
    index_t const sizes[] = {128, 172};
    auto const parts = split(all[0], 0, sizes);
    index_t const scale_sizes[] = {1, 2};
    auto const wanted = split(scales(10, {3, 2}), 0, scale_sizes);
    BOOST_TEST((all.scales_of(parts[0]) == wanted[0]));
    BOOST_TEST((all.scales_of(parts[1]) == wanted[1]));
}

BOOST_AUTO_TEST_CASE(blocks_of_two_extents_turn_with_their_weight) {
    weights const all{{{256, 64}, {}}};
    BOOST_TEST((all.scales_of(transpose(all[0]), {128, 16}) == transpose(scales(10, {2, 4}))));
}

BOOST_AUTO_TEST_CASE(a_cut_inside_a_block_is_refused_with_block_and_cut) {
    weights const all{{{384, 256}, {}}};
    index_t const sizes[] = {192, 192};
    BOOST_TEST(said([&] { all.scales_of(split(all[0], 0, sizes)[0]); }) ==
               "shape_mismatch: axis 0 of the source is cut at 192, inside the block from 128 to "
               "256, which has one scale; cut at multiples of 128");
}

BOOST_AUTO_TEST_CASE(a_joint_inside_a_block_is_refused) {
    weights const all{{{192, 256}, {128, 256}}};
    BOOST_TEST(said([&] {
                   all.scales_of(concat({all[0], all[1]}, 0));
               }) ==
               "shape_mismatch: axis 0 of the target is cut at 192, inside the block from 128 to "
               "256, which has one scale; cut at multiples of 128");
}

BOOST_AUTO_TEST_CASE(scales_do_not_follow_casts_and_reshapes) {
    weights const all{{{256, 256}, {}}};
    BOOST_TEST(said([&] { all.scales_of(cast(all[0], data_type::f16)); }) ==
               "dtype_mismatch: a block-scaled tensor of float8_e4m3fn cannot be cast: its scales "
               "belong to its stored values");
    BOOST_TEST(
        said([&] {
            all.scales_of(reshape(all[0], {2, 128, 256}));
        }) ==
        "unsupported: a block-scaled tensor cannot be reshaped: its blocks are boxes of its axes");
    BOOST_TEST(said([&] { all.scales_of(all[0], {128}); }) ==
               "shape_mismatch: a block of [128] has 1 axis, and the tensor 2");
}

BOOST_AUTO_TEST_CASE(a_weight_without_elements_has_no_scales) {
    weights const all{{{0, 256}, {}}};
    BOOST_TEST((all.scales_of(all[0]).shape == index_vector{0, 2}));
}

BOOST_AUTO_TEST_SUITE_END()
