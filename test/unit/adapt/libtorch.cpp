// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/adapt/libtorch.hpp>

#include <ATen/ATen.h>
#include <ATen/DLConvertor.h>

#include "support/says.hpp"

#include <reshard/adapt/dlpack.hpp>
#include <reshard/bind/redistribute.hpp>
#include <reshard/layout/equal_shares.hpp>
#include <reshard/testing/check_adapter.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

namespace {

/// The type of LibTorch for this one, if this version has one.
std::optional<at::ScalarType> scalar_of(data_type dtype) {
    for (int i = 0; i < static_cast<int>(at::ScalarType::NumOptions); ++i) {
        auto const scalar = static_cast<at::ScalarType>(i);
        for (torch_dtype const& torch_dtype : torch_dtypes)
            if (torch_dtype.name == c10::toString(scalar) && torch_dtype.dtype == dtype)
                return scalar;
    }
    return std::nullopt;
}

/// All types of whole bytes that are here and in this version.
std::vector<data_type> dtypes_of_torch() {
    std::vector<data_type> dtypes;
    for (torch_dtype const& torch_dtype : torch_dtypes)
        if (scalar_of(torch_dtype.dtype))
            dtypes.push_back(torch_dtype.dtype);
    return dtypes;
}

at::Tensor zeros_of(std::vector<std::int64_t> const& shape, data_type dtype) {
    return at::zeros(shape, at::TensorOptions(at::kByte)).to(*scalar_of(dtype));
}

at::Tensor element(at::Tensor t, index_vector const& index) {
    for (index_t const i : index)
        t = t.select(0, i);
    return t;
}

testing::adapter_case<at::Tensor> tensors(std::vector<data_type> dtypes) {
    return {.make =
                [](index_vector const& shape, data_type dtype) {
                    return zeros_of({shape.begin(), shape.end()}, dtype);
                },
            .write = [](at::Tensor& t, index_vector const& i,
                        int number) { element(t, i).copy_(at::scalar_tensor(number)); },
            .read =
                [](at::Tensor const& t, index_vector const& i) {
                    return static_cast<int>(element(t, i).to(at::kFloat).item<float>());
                },
            .ndims = {0, 1, 2, 4, 8},
            .dtypes = std::move(dtypes)};
}

shard_descriptor whole_of(index_vector const& shape) {
    return replicated("w", data_type::f32, shape);
}

void check_refused(at::Tensor const& t, errc code, std::string const& sentence) {
    const_state_dict have;
    have.add(whole_of({2}), t);
    BOOST_CHECK_EXCEPTION(have.check(), error, says(code, sentence));
}

} // namespace

BOOST_AUTO_TEST_SUITE(adapt_libtorch)

BOOST_AUTO_TEST_CASE(types_are_what_torch_calls_them) {
    std::vector<std::pair<at::ScalarType, data_type>> const pairs{
        {at::kBool, data_type::boolean},     {at::kByte, data_type::u8},
        {at::kChar, data_type::i8},          {at::kShort, data_type::i16},
        {at::kInt, data_type::i32},          {at::kLong, data_type::i64},
        {at::kHalf, data_type::f16},         {at::kBFloat16, data_type::bf16},
        {at::kFloat, data_type::f32},        {at::kDouble, data_type::f64},
        {at::kComplexFloat, data_type::c64}, {at::kComplexDouble, data_type::c128}};
    for (auto const& [scalar, dtype] : pairs) {
        at::Tensor const t = at::zeros({2}, scalar);
        BOOST_TEST((view(t).dtype == dtype), "not " << name(dtype));
        if (scalar == at::kBool)
            continue; // unknown to the DLPack of version 1.13
        adapt::dlpack_tensor const lent(at::toDLPack(t));
        BOOST_TEST((view(lent).dtype == dtype), "not " << name(dtype) << " by DLPack");
    }
#if __has_include(<c10/util/Float8_e4m3fn.h>) && __has_include(<c10/util/Float8_e5m2fnuz.h>)
    BOOST_TEST((dtype_of(at::zeros({2}, at::kFloat8_e4m3fn)) == data_type::f8_e4m3));
    BOOST_TEST((dtype_of(at::zeros({2}, at::kFloat8_e5m2)) == data_type::f8_e5m2));
    BOOST_TEST((dtype_of(at::zeros({2}, at::kFloat8_e4m3fnuz)) == data_type::f8_e4m3fnuz));
    BOOST_TEST((dtype_of(at::zeros({2}, at::kFloat8_e5m2fnuz)) == data_type::f8_e5m2fnuz));
#endif
}

BOOST_AUTO_TEST_CASE(tensors_of_every_type_keep_the_laws) {
    auto const dtypes = dtypes_of_torch();
    BOOST_TEST_MESSAGE("types of this LibTorch: " << dtypes.size());
    BOOST_TEST(dtypes.size() >= 11u); // version 1.13
    testing::check_adapter(tensors(dtypes));
}

BOOST_AUTO_TEST_CASE(views_keep_the_laws) {
    auto options = tensors({data_type::f32, data_type::bf16});
    options.make = [](index_vector shape, data_type dtype) { // every other element, axes turned
        std::vector<std::int64_t> extents(shape.begin(), shape.end());
        std::reverse(extents.begin(), extents.end());
        extents.back() *= 2;
        at::Tensor t = zeros_of(extents, dtype);
        t = t.slice(-1, 0, extents.back(), 2);
        return t.permute(at::IntArrayRef(std::vector<std::int64_t>{2, 1, 0}));
    };
    options.ndims = {3};
    testing::check_adapter(options);
    BOOST_TEST(true);
}

BOOST_AUTO_TEST_CASE(a_temporary_is_kept_by_the_state_dict) {
    at::Tensor const value = at::arange(12, at::kFloat).reshape({3, 4});
    state_dict want;
    want.add(whole_of({3, 2}), value.narrow(1, 1, 2));
    want.check();
    BOOST_TEST(
        (want[0].tensor ==
         tensor_view{static_cast<float*>(value.data_ptr()) + 1, data_type::f32, {3, 2}, {4, 1}}));
    state_dict alone;
    alone.add(whole_of({2}), at::full({2}, 7.0F));
    BOOST_TEST(static_cast<float*>(alone[0].tensor.data)[1] == 7);
}

BOOST_AUTO_TEST_CASE(columns_are_made_of_rows) {
    at::Tensor const source = at::arange(24, at::kFloat).reshape({4, 6});
    at::Tensor left = at::empty({4, 3}), right = at::empty({4, 3});
    state_dict have, want;
    have.add(equal_shares("w", data_type::f32, {2, 6}, {{0, 0, 2}}), source.narrow(0, 0, 2));
    have.add(equal_shares("w", data_type::f32, {2, 6}, {{0, 1, 2}}), source.narrow(0, 2, 2));
    want.add(equal_shares("w", data_type::f32, {4, 3}, {{1, 0, 2}}), left);
    want.add(equal_shares("w", data_type::f32, {4, 3}, {{1, 1, 2}}), right);
    redistribute(solo{}, have, want);
    BOOST_TEST(at::equal(left, source.narrow(1, 0, 3)));
    BOOST_TEST(at::equal(right, source.narrow(1, 3, 3)));
}

BOOST_AUTO_TEST_CASE(what_has_no_elements_by_strides_is_refused_with_the_key) {
    check_refused(at::Tensor(), errc::usage, "'w': an undefined at::Tensor has no elements");
    check_refused(at::zeros({2}).to_sparse(), errc::unsupported,
                  "'w': an at::Tensor that is sparse, or not strided for another reason, is not "
                  "supported; call to_dense()");
    check_refused(at::conj(at::zeros({2}, at::kComplexFloat)), errc::unsupported,
                  "'w': a lazily conjugated or negated at::Tensor has other elements in "
                  "memory; call resolve_conj() or resolve_neg()");
    check_refused(at::zeros({2}, at::kComplexDouble), errc::unsupported,
                  "'w': an at::Tensor of ComplexDouble matches no data type of this library; "
                  "convert it, or view its bytes as at::kByte");
    check_refused(at::empty({2}, at::kMeta), errc::unsupported,
                  "'w': 2 elements in the memory of device:0; give the call its device "
                  "(options.devices, see doc/devices.md), or copy them to the host");
    check_refused(at::empty({1, 1, 1, 1, 1, 1, 1, 1, 2}), errc::limit_exceeded,
                  "'w': a tensor has more than 8 axes");
}

BOOST_AUTO_TEST_CASE(an_expanded_tensor_is_a_source_and_no_target) {
    at::Tensor expanded = at::ones({1, 3}).expand({2, 3});
    const_state_dict have;
    have.add(whole_of({2, 3}), expanded);
    have.check();
    state_dict want;
    want.add(whole_of({2, 3}), expanded);
    BOOST_CHECK_EXCEPTION(
        want.check(), error,
        says(errc::memory_overlap,
             "'w': axis 0: 2 elements at one address (stride 0) cannot be written"));
}

BOOST_AUTO_TEST_CASE(dlpack_of_torch_comes_in_and_goes_out) {
    at::Tensor source = at::arange(6, at::kFloat).reshape({2, 3}).t();
    adapt::dlpack_tensor in(at::toDLPack(source));
    at::Tensor const out = at::fromDLPack(adapt::to_dlpack<DLManagedTensor>(source));
    BOOST_TEST((view(in) == tensor_view{source.data_ptr(), data_type::f32, {3, 2}, {1, 3}}));
    BOOST_TEST(out.data_ptr() == source.data_ptr());
    BOOST_TEST(at::equal(out, source));
}

BOOST_AUTO_TEST_CASE(the_structures_of_dlpack_are_those_of_torch) {
    using namespace adapt;
    static_assert(sizeof(dlpack::tensor) == sizeof(DLTensor));
    static_assert(offsetof(dlpack::tensor, byte_offset) == offsetof(DLTensor, byte_offset));
    static_assert(sizeof(dlpack::managed) == sizeof(DLManagedTensor));
#ifdef DLPACK_MAJOR_VERSION
    static_assert(kDLInt == 0 && kDLUInt == 1 && kDLFloat == 2 && kDLBfloat == 4);
    static_assert(kDLComplex == 5 && kDLBool == 6 && kDLFloat8_e4m3fn == 10);
    static_assert(dlpack::dtype_of(DLDataType{kDLFloat8_e4m3fn, 8, 1}) == data_type::f8_e4m3);
    static_assert(dlpack::dtype_of(DLDataType{kDLFloat8_e4m3fnuz, 8, 1}) == data_type::f8_e4m3fnuz);
    static_assert(dlpack::dtype_of(DLDataType{kDLFloat8_e5m2, 8, 1}) == data_type::f8_e5m2);
    static_assert(dlpack::dtype_of(DLDataType{kDLFloat8_e5m2fnuz, 8, 1}) == data_type::f8_e5m2fnuz);
    static_assert(dlpack::dtype_of(DLDataType{kDLFloat8_e8m0fnu, 8, 1}) == data_type::f8_e8m0);
    static_assert(dlpack::memory_of_device(kDLCUDA) == memory_space::cuda);
    static_assert(dlpack::memory_of_device(kDLROCMHost) == memory_space::host);
    static_assert(dlpack::read_only_flag == DLPACK_FLAG_BITMASK_READ_ONLY);
    static_assert(sizeof(dlpack::managed_versioned) == sizeof(DLManagedTensorVersioned));
    static_assert(offsetof(dlpack::managed_versioned, flags) ==
                  offsetof(DLManagedTensorVersioned, flags));
    static_assert(offsetof(dlpack::managed_versioned, dl_tensor) ==
                  offsetof(DLManagedTensorVersioned, dl_tensor));
    at::Tensor source = at::arange(6, at::kFloat);
    dlpack_tensor in(at::toDLPackVersioned(source));
    BOOST_TEST(view(in).data == source.data_ptr());
    at::Tensor const out = at::fromDLPackVersioned(to_dlpack<DLManagedTensorVersioned>(source));
    BOOST_TEST(out.data_ptr() == source.data_ptr());
#endif
    BOOST_TEST(true);
}

BOOST_AUTO_TEST_SUITE_END()
