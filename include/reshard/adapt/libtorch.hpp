// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ADAPT_LIBTORCH_HPP
#define RESHARD_ADAPT_LIBTORCH_HPP

#include <reshard/core/error.hpp>
#include <reshard/tensor/traits.hpp>

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <iterator>
#include <string_view>

/// \file
/// LibTorch's `at::Tensor`, which is `torch::Tensor`, as a tensor, from version 1.13 on.

namespace reshard {

namespace detail {

/// The name of a LibTorch scalar type, from `c10::toString`, and the equal data type of this
/// library.
struct torch_dtype {
    std::string_view name;
    data_type dtype;
};

/// By name, because newer versions of LibTorch have more scalar types.
inline constexpr torch_dtype torch_dtypes[] = {
    {"Bool", data_type::boolean},
    {"Byte", data_type::u8},
    {"Char", data_type::i8},
    {"Short", data_type::i16},
    {"Int", data_type::i32},
    {"Long", data_type::i64},
    {"UInt16", data_type::u16},
    {"UInt32", data_type::u32},
    {"UInt64", data_type::u64},
    {"Half", data_type::f16},
    {"BFloat16", data_type::bf16},
    {"Float", data_type::f32},
    {"Double", data_type::f64},
    {"ComplexFloat", data_type::c64},
    {"ComplexDouble", data_type::c128},
    {"Float8_e4m3fn", data_type::f8_e4m3},
    {"Float8_e5m2", data_type::f8_e5m2},
    {"Float8_e4m3fnuz", data_type::f8_e4m3fnuz},
    {"Float8_e5m2fnuz", data_type::f8_e5m2fnuz},
    {"Float8_e8m0fnu", data_type::f8_e8m0},
};

/// \throws error with errc::unsupported for complex halves, and quantized or packed numbers
inline data_type dtype_of_torch(std::string_view scalar) {
    for (torch_dtype const& torch_dtype : torch_dtypes)
        if (torch_dtype.name == scalar)
            return torch_dtype.dtype;
    fail(errc::unsupported, "an at::Tensor of ", scalar,
         " matches no data type of this library; convert it, or view its bytes as at::kByte");
}

/// Refuses a tensor unless its elements are in memory, at strides.
///
/// \throws error with errc::usage or errc::unsupported
inline void check_torch(at::Tensor const& t) {
    if (!t.defined())
        fail(errc::usage, "an undefined at::Tensor has no elements");
    if (t.layout() != c10::kStrided)
        fail(errc::unsupported, "an at::Tensor that is sparse, or not strided for another reason, "
                                "is not supported; call to_dense()");
    if (t.is_conj() || t.is_neg())
        fail(errc::unsupported, "a lazily conjugated or negated at::Tensor has other elements in "
                                "memory; call resolve_conj() or resolve_neg()");
}

/// The first byte, for reading. The call does not copy a copy-on-write tensor.
template <class Tensor>
std::byte const* torch_bytes(Tensor const& t) {
    if constexpr (requires { t.const_data_ptr(); })
        return static_cast<std::byte const*>(t.const_data_ptr());
    else
        return static_cast<std::byte const*>(t.data_ptr());
}

} // namespace detail

/// A tensor on any device except the CPU is in device memory. Gradients are ignored: elements are
/// written as through `t.data_ptr()`.
template <>
struct tensor_traits<at::Tensor> {
    using element_type = std::byte;
    static constexpr bool is_handle = true;

    static index_vector shape(at::Tensor const& t) {
        return index_vector(std::begin(t.sizes()), std::end(t.sizes()));
    }
    static index_vector strides(at::Tensor const& t) {
        return index_vector(std::begin(t.strides()), std::end(t.strides()));
    }
    static data_type dtype(at::Tensor const& t) {
        return detail::dtype_of_torch(c10::toString(t.scalar_type()));
    }
    static memory_space memory(at::Tensor const& t) {
        at::Device const device = t.device();
        auto const kind = device.is_cpu()    ? memory_space::host
                          : device.is_cuda() ? memory_space::cuda
                          : device.is_hip()  ? memory_space::rocm
                          : device.is_xpu()  ? memory_space::sycl
                                             : memory_space::device;
        return {kind, device.is_cpu() || !device.has_index() ? 0 : int{device.index()}};
    }
    static std::byte* data(at::Tensor& t) {
        detail::check_torch(t);
        return static_cast<std::byte*>(t.data_ptr());
    }
    static std::byte const* data(at::Tensor const& t) {
        detail::check_torch(t);
        return detail::torch_bytes(t);
    }
};

} // namespace reshard

#endif
