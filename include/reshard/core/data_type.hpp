// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_DATA_TYPE_HPP
#define RESHARD_CORE_DATA_TYPE_HPP

#include <reshard/core/index_vector.hpp>
#include <reshard/core/members.hpp>

#include <boost/assert.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <optional>
#include <string_view>
#include <type_traits>

/// \file
/// The type of an element: all data types of safetensors, and complex128, with their sizes in bits
/// and their names.

namespace reshard {

/// The data types of safetensors, in the order in which its writer sorts them, and complex128.
///
/// \par Source safetensors (Hugging Face), `Dtype`, which has no complex128; NumPy and torch have
///             it
enum class data_type : std::uint8_t {
    boolean,
    f4,
    f6_e2m3,
    f6_e3m2,
    u8,
    i8,
    f8_e5m2,
    f8_e4m3,
    f8_e8m0,
    f8_e4m3fnuz,
    f8_e5m2fnuz,
    i16,
    u16,
    f16,
    bf16,
    i32,
    u32,
    f32,
    c64,
    f64,
    i64,
    u64,
    c128, ///< not in safetensors
};

namespace detail {

/// The properties of a data type.
struct data_type_facts {
    std::string_view code; ///< the name in a safetensors header
    std::string_view name; ///< the name in AOA programs and frameworks
    int bits;              ///< the size of one element; types below 8 bits are packed, lowest bits
                           ///< first
};

/// Every data type, in the order of the enumerators.
inline constexpr data_type_facts all_data_types[] = {
    {"BOOL", "bool", 8},
    {"F4", "float4_e2m1", 4},
    {"F6_E2M3", "float6_e2m3", 6},
    {"F6_E3M2", "float6_e3m2", 6},
    {"U8", "uint8", 8},
    {"I8", "int8", 8},
    {"F8_E5M2", "float8_e5m2", 8},
    {"F8_E4M3", "float8_e4m3fn", 8},
    {"F8_E8M0", "float8_e8m0", 8},
    {"F8_E4M3FNUZ", "float8_e4m3fnuz", 8},
    {"F8_E5M2FNUZ", "float8_e5m2fnuz", 8},
    {"I16", "int16", 16},
    {"U16", "uint16", 16},
    {"F16", "float16", 16},
    {"BF16", "bfloat16", 16},
    {"I32", "int32", 32},
    {"U32", "uint32", 32},
    {"F32", "float32", 32},
    {"C64", "complex64", 64},
    {"F64", "float64", 64},
    {"I64", "int64", 64},
    {"U64", "uint64", 64},
    {"C128", "complex128", 128},
};

inline constexpr std::size_t data_type_count = std::size(all_data_types);
template <>
inline constexpr enum_range range_of_enum<data_type>{data_type_count, "the data type"};

/// The properties of a data type.
constexpr data_type_facts const& facts(data_type dtype) {
    return all_data_types[static_cast<std::size_t>(dtype)];
}

} // namespace detail

/// The size of one element in bits.
constexpr int bits(data_type dtype) { return detail::facts(dtype).bits; }

/// The safetensors code, as in `"BF16"`. The code of complex128, which safetensors lacks, is ours.
constexpr std::string_view code(data_type dtype) { return detail::facts(dtype).code; }

/// The name in AOA programs, as in `"bfloat16"`.
constexpr std::string_view name(data_type dtype) { return detail::facts(dtype).name; }

namespace detail {

/// The data type with a given code, or std::nullopt. Codes are case-sensitive, as in safetensors.
constexpr std::optional<data_type> data_type_from_code(std::string_view text) {
    for (std::size_t i = 0; i < data_type_count; ++i)
        if (all_data_types[i].code == text)
            return static_cast<data_type>(i);
    return std::nullopt;
}

} // namespace detail

namespace detail {

constexpr bool is_complex(data_type dtype) {
    return dtype == data_type::c64 || dtype == data_type::c128;
}

/// The data type of the real and the imaginary part.
///
/// \pre `dtype` is complex
constexpr data_type part_of(data_type dtype) {
    return dtype == data_type::c64 ? data_type::f32 : data_type::f64;
}

} // namespace detail

/// The data type with a given AOA name, or std::nullopt.
///
/// \par Source AOA knows float16, float32 and bfloat16; here every data type has a name
constexpr std::optional<data_type> data_type_from_name(std::string_view text) {
    for (std::size_t i = 0; i < detail::data_type_count; ++i)
        if (detail::all_data_types[i].name == text)
            return static_cast<data_type>(i);
    return std::nullopt;
}

namespace detail {

[[noreturn, gnu::cold]] inline void fail_byte_count(index_t elements, data_type dtype) {
    fail(errc::overflow, elements, " elements of ", bits(dtype), " bits (", dtype,
         "): the number of bits does not fit in 64 bits");
}

} // namespace detail

/// The number of bytes for `elements` packed elements, rounded up.
///
/// \par Units elements in, bytes out
/// \pre       `elements` is not negative
/// \throws    error with errc::overflow if the number of bits does not fit 64 bits
constexpr index_t byte_count(index_t elements, data_type dtype) {
    BOOST_ASSERT(elements >= 0);
    index_t total = 0;
    if (__builtin_mul_overflow(elements, index_t{bits(dtype)}, &total))
        detail::fail_byte_count(elements, dtype);
    return total / 8 + (total % 8 != 0);
}

/// The 16 bits of a bfloat16: the upper half of a float.
struct bfloat16 {
    std::uint16_t bits = 0;
    constexpr bool operator==(bfloat16 const&) const = default;
};

/// The 16 bits of an IEEE binary16.
struct float16 {
    std::uint16_t bits = 0;
    constexpr bool operator==(float16 const&) const = default;
};

/// The data type of a C++ element type. Not defined by default; specialise it for your own types.
template <class T>
struct data_type_traits;

namespace detail {

/// A data type as a C++ type. It is a base class of `data_type_traits`, and it is the element type
/// if C++ has no such type.
template <data_type Value>
struct data_type_constant {
    static constexpr data_type value = Value;
};

/// A type that consists of a real and an imaginary part.
template <class T, class Part>
concept complex_of = sizeof(T) == 2 * sizeof(Part) && requires(T const& number) {
    { number.real() } -> std::same_as<Part>;
    { number.imag() } -> std::same_as<Part>;
};

} // namespace detail

template <>
struct data_type_traits<bool> : detail::data_type_constant<data_type::boolean> {};
template <>
struct data_type_traits<std::uint8_t> : detail::data_type_constant<data_type::u8> {};
template <>
struct data_type_traits<std::int8_t> : detail::data_type_constant<data_type::i8> {};
template <>
struct data_type_traits<std::uint16_t> : detail::data_type_constant<data_type::u16> {};
template <>
struct data_type_traits<std::int16_t> : detail::data_type_constant<data_type::i16> {};
template <>
struct data_type_traits<std::uint32_t> : detail::data_type_constant<data_type::u32> {};
template <>
struct data_type_traits<std::int32_t> : detail::data_type_constant<data_type::i32> {};
template <>
struct data_type_traits<std::uint64_t> : detail::data_type_constant<data_type::u64> {};
template <>
struct data_type_traits<std::int64_t> : detail::data_type_constant<data_type::i64> {};
template <>
struct data_type_traits<float16> : detail::data_type_constant<data_type::f16> {};
template <>
struct data_type_traits<bfloat16> : detail::data_type_constant<data_type::bf16> {};
template <>
struct data_type_traits<float> : detail::data_type_constant<data_type::f32> {};
template <>
struct data_type_traits<double> : detail::data_type_constant<data_type::f64> {};
/// `std::complex<float>` and similar types, without including `<complex>`.
template <class T>
    requires detail::complex_of<T, float>
struct data_type_traits<T> : detail::data_type_constant<data_type::c64> {};
/// `std::complex<double>` and similar types.
template <class T>
    requires detail::complex_of<T, double>
struct data_type_traits<T> : detail::data_type_constant<data_type::c128> {};

/// The data type of elements of type `T`.
template <class T>
inline constexpr data_type data_type_of = data_type_traits<std::remove_cv_t<T>>::value;

} // namespace reshard

namespace reshard::detail {

/// An offset in elements, as whole bytes and the remaining elements.
///
/// \invariant `rest` is 0 if an element is a whole number of bytes
struct byte_place {
    index_t bytes = 0;
    index_t rest = 0;

    constexpr bool operator==(byte_place const&) const = default;
};

/// The position of the element at offset `elements`, which may be negative.
constexpr byte_place byte_place_of(index_t elements, data_type dtype) {
    index_t const together = 8 / std::gcd(8, bits(dtype)); // elements that fill whole bytes
    index_t const remainder = (elements % together + together) % together;
    return {(elements - remainder) / together * (together * bits(dtype) / 8), remainder};
}

} // namespace reshard::detail

#endif
