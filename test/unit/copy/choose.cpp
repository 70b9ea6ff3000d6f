// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/choose.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(choosing)

namespace {

constexpr element_conversion same(data_type dtype) { return {dtype, {}}; }

constexpr element_conversion cast(data_type source, data_type target) {
    return {source, then({}, source, target)};
}

constexpr affine_copy nothing{{0}, 0, {1}, 0, {1}};
constexpr affine_copy scalar{};
constexpr affine_copy one_run{{12}, 0, {1}, 0, {1}};
constexpr affine_copy block{{3, 4}, 0, {10, 1}, 0, {4, 1}};
constexpr affine_copy transposing{{4, 3}, 0, {1, 4}, 0, {3, 1}};
constexpr affine_copy gathering{{6}, 0, {2}, 0, {1}};
constexpr affine_copy scattering{{6}, 0, {1}, 0, {2}};

copy_kernel kernel_of(affine_copy const& copy, element_conversion const& conversion) {
    return choose(copy, conversion);
}

} // namespace

BOOST_AUTO_TEST_CASE(whole_bytes_without_a_cast) {
    BOOST_TEST((kernel_of(nothing, same(data_type::f32)) == copy_kernel::nothing));
    BOOST_TEST((kernel_of(scalar, same(data_type::f32)) == copy_kernel::contiguous));
    BOOST_TEST((kernel_of(one_run, same(data_type::f32)) == copy_kernel::contiguous));
    BOOST_TEST((kernel_of(block, same(data_type::f32)) == copy_kernel::rows));
    BOOST_TEST((kernel_of(transposing, same(data_type::f32)) == copy_kernel::transposed));
    BOOST_TEST((kernel_of(gathering, same(data_type::f32)) == copy_kernel::strided));
    BOOST_TEST((kernel_of(scattering, same(data_type::f32)) == copy_kernel::strided));
}

BOOST_AUTO_TEST_CASE(less_than_a_byte) {
    BOOST_TEST((kernel_of(one_run, same(data_type::f4)) == copy_kernel::packed));
    BOOST_TEST((kernel_of(transposing, same(data_type::f6_e2m3)) == copy_kernel::packed));
    BOOST_TEST(
        (kernel_of(one_run, cast(data_type::f4, data_type::f32)) == copy_kernel::convert_strided));
    BOOST_TEST(
        (kernel_of(one_run, cast(data_type::f32, data_type::f4)) == copy_kernel::convert_strided));
    BOOST_TEST((kernel_of(nothing, same(data_type::f4)) == copy_kernel::nothing));
}

BOOST_AUTO_TEST_CASE(casts) {
    auto const to_bf16 = cast(data_type::f32, data_type::bf16);
    BOOST_TEST((kernel_of(scalar, to_bf16) == copy_kernel::convert_rows));
    BOOST_TEST((kernel_of(one_run, to_bf16) == copy_kernel::convert_rows));
    BOOST_TEST((kernel_of(block, to_bf16) == copy_kernel::convert_rows));
    BOOST_TEST((kernel_of(transposing, to_bf16) == copy_kernel::convert_transposed));
    BOOST_TEST((kernel_of(gathering, to_bf16) == copy_kernel::convert_strided));
    BOOST_TEST((kernel_of(nothing, to_bf16) == copy_kernel::nothing));
}

BOOST_AUTO_TEST_CASE(a_cast_that_loses_nothing_and_returns_is_none) {
    element_conversion const there_and_back{
        data_type::bf16,
        then(then({}, data_type::bf16, data_type::f32), data_type::bf16, data_type::bf16)};
    BOOST_TEST((kernel_of(one_run, there_and_back) == copy_kernel::contiguous));
    BOOST_TEST((there_and_back.target() == data_type::bf16));
}

BOOST_AUTO_TEST_CASE(the_compiler_can_choose_and_kernels_have_names) {
    static_assert(choose(transposing, same(data_type::f64)) == copy_kernel::transposed);
    BOOST_TEST(name(copy_kernel::nothing) == "nothing");
    BOOST_TEST(name(copy_kernel::transposed) == "transposed");
    BOOST_TEST(name(copy_kernel::convert_strided) == "convert_strided");
}

BOOST_AUTO_TEST_SUITE_END()
