// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/vectors.hpp>

#ifdef RESHARD_WIDTH

namespace reshard::detail::RESHARD_VECTORS {

using halves = vector<std::int16_t>;
using half_register = vector_of<std::int16_t, width / 2>;
using quarter_register = vector_of<std::int8_t, width / 4>;
using singles = vector_of<float, width / 2>;

/// Converts f16 to f32. `to_f16` converts back and rounds to nearest.
RESHARD_INLINE whole from_f16(half_register elements) {
#if RESHARD_WIDTH == 64
    return as<whole>(__builtin_ia32_vcvtph2ps512_mask(elements, vector<float>{}, all_ones(), 4));
#else
    return as<whole>(__builtin_ia32_vcvtph2ps256(elements));
#endif
}

RESHARD_INLINE half_register to_f16(whole values) {
    auto const given = as<vector<float>>(values);
#if RESHARD_WIDTH == 64
    return as<half_register>(
        __builtin_ia32_vcvtps2ph512_mask(given, 0, half_register{}, all_ones()));
#else
    return as<half_register>(__builtin_ia32_vcvtps2ph256(given, 0));
#endif
}

RESHARD_INLINE whole to_f64(singles values) {
#if defined(__clang__)
    return as<whole>(__builtin_convertvector(values, vector<double>));
#elif RESHARD_WIDTH == 64
    return as<whole>(__builtin_ia32_cvtps2pd512_mask(values, vector<double>{}, all_ones(), 4));
#else
    return as<whole>(__builtin_ia32_cvtps2pd256(values));
#endif
}

/// Reads the first `bytes` bytes, at most a whole register. Does not touch the memory after them.
/// The rest of the register is zero.
RESHARD_INLINE whole read_first(unsigned char const* address, index_t bytes) {
#if RESHARD_WIDTH == 64
    return as<whole>(
        __builtin_ia32_loaddquqi512_mask(any_place{address}, vector<char>{}, first_bits(bytes)));
#else
    whole value = {};
    std::memcpy(&value, address, static_cast<std::size_t>(std::clamp<index_t>(bytes, 0, width)));
    return value;
#endif
}

/// Writes the first `bytes` bytes, at most a whole register.
RESHARD_INLINE void write_first(unsigned char* address, whole value, index_t bytes) {
#if RESHARD_WIDTH == 64
    __builtin_ia32_storedquqi512_mask(any_place{address}, as<vector<char>>(value),
                                      first_bits(bytes));
#else
    std::memcpy(address, &value, static_cast<std::size_t>(std::clamp<index_t>(bytes, 0, width)));
#endif
}

/// Joins two halves to a register. g++ would compile a shuffle to three instructions.
template <class Half, std::size_t... I>
RESHARD_INLINE auto joined(Half lower, Half upper, std::index_sequence<I...>) {
    using words = vector_of<long long, sizeof(Half)>;
    auto const first = as<words>(lower), second = as<words>(upper);
#if defined(__clang__)
    return __builtin_shufflevector(first, second, I..., (sizeof...(I) + I)...);
#else
    auto const wide = __builtin_shufflevector(first, first, I..., (static_cast<int>(I * 0) - 1)...);
#if RESHARD_WIDTH == 64
    if constexpr (sizeof(Half) == 32)
        return __builtin_ia32_inserti64x4_mask(wide, second, 1, wide, all_ones());
    else
#endif
        return __builtin_ia32_insert128i256(wide, second, 1);
#endif
}

template <class Half>
RESHARD_INLINE auto joined(Half lower, Half upper) {
    using element = std::remove_cvref_t<decltype(lower[0])>;
    return as<vector_of<element, 2 * sizeof(Half)>>(
        joined(lower, upper, counted<sizeof(Half) / 8>()));
}

/// The odd elements of two registers. They are the upper halves of elements of twice the size.
template <class Vector, std::size_t... I>
RESHARD_INLINE Vector odd_elements(Vector a, Vector b, std::index_sequence<I...>) {
    return __builtin_shufflevector(a, b, (2 * I + 1)...);
}

RESHARD_INLINE whole upper_halves(whole a, whole b) {
    return as<whole>(odd_elements(as<halves>(a), as<halves>(b), counted<width / 2>()));
}

/// Repeats each element, from element `First` on.
template <std::size_t First = 0, class Vector, std::size_t... I>
RESHARD_INLINE auto doubled(Vector elements, std::index_sequence<I...>) {
    return __builtin_shufflevector(elements, elements, (First + I / 2)...);
}

/// Makes each element the upper half of an element of twice the size, with a lower half of zero.
template <std::size_t... I>
RESHARD_INLINE whole as_upper_halves(half_register elements, std::index_sequence<I...>) {
    return as<whole>(__builtin_shufflevector(half_register{}, elements,
                                             (I % 2 == 0 ? 0 : sizeof...(I) / 2 + I / 2)...));
}

RESHARD_INLINE whole as_upper_halves(half_register elements) {
    return as_upper_halves(elements, counted<width / 2>());
}

/// The lower half of a register, or with `Half` 1 the upper half.
template <std::size_t Half, std::size_t... I>
RESHARD_INLINE half_register half_of(whole elements, std::index_sequence<I...>) {
    return __builtin_shufflevector(as<halves>(elements), as<halves>(elements),
                                   (Half * sizeof...(I) + I)...);
}

template <std::size_t Half>
RESHARD_INLINE half_register half_of(whole elements) {
    return half_of<Half>(elements, counted<width / 4>());
}

/// `lanes` elements of 8 bytes.
struct register_pair {
    whole first;
    whole second;
};

#if RESHARD_WIDTH == 64 && !defined(__clang__)

/// A set of lanes, one bit each. By itself, g++ does not use one mask for elements of two sizes.
using lane_set = std::uint16_t;

/// Classes of floats for instructions that find a NaN without arithmetic.
inline constexpr int quiet_nan = 0x01, signalling_nan = 0x80;

template <int Class>
RESHARD_INLINE lane_set of_class(whole values) {
    return static_cast<lane_set>(
        __builtin_ia32_fpclassps512_mask(as<vector<float>>(values), Class, all_ones()));
}

/// The same for f64.
template <int Class>
RESHARD_INLINE std::uint8_t of_class_f64(whole values) {
    return static_cast<std::uint8_t>(
        __builtin_ia32_fpclasspd512_mask(as<vector<double>>(values), Class, all_ones()));
}

/// The lanes with a signalling NaN.
RESHARD_INLINE lane_set signalling(whole values) { return of_class<signalling_nan>(values); }

/// The lanes in which `elements` has a signalling NaN, which the conversion made quiet.
RESHARD_INLINE lane_set quieted(whole values, half_register elements) {
    lane_set const nans = of_class<quiet_nan>(values);
    return static_cast<lane_set>(
        __builtin_ia32_ptestnmw256(elements, half_register{} + 0x200, nans));
}

/// The same for f64, limited to lanes in which f32 keeps a bit of the payload.
RESHARD_INLINE lane_set quieted(whole values, register_pair elements) {
    auto const nans = __builtin_ia32_kunpckhi(of_class_f64<signalling_nan>(elements.second),
                                              of_class_f64<signalling_nan>(elements.first));
    return static_cast<lane_set>(__builtin_ia32_ptestmd512(values, whole{} + 0x3fffff, nans));
}

/// Clears the quiet bit in these lanes.
RESHARD_INLINE whole without_quiet_bit(whole values, lane_set where) {
    return __builtin_ia32_blendmd_512_mask(values, values & ~0x400000, where);
}

/// The same for f16. Its lanes are the lanes of two registers of f32.
RESHARD_INLINE halves without_quiet_bit_f16(halves values, lane_set first, lane_set second) {
    return __builtin_ia32_blendmw_512_mask(values, values & ~0x200,
                                           __builtin_ia32_kunpcksi(second, first));
}

/// The same for f64. Its lanes are half of `where`, from lane `First` on.
template <std::size_t First>
RESHARD_INLINE whole without_quiet_bit_f64(whole values, lane_set where) {
    auto const words = as<vector<long long>>(values);
    return as<whole>(__builtin_ia32_blendmq_512_mask(words, words & ~0x8000000000000,
                                                     static_cast<std::uint8_t>(where >> First)));
}

/// Takes an element of `second` if its number has the bit, otherwise the element of `first`.
RESHARD_INLINE halves choose_by_bit(halves first, halves second, halves numbers, std::int16_t bit) {
    return __builtin_ia32_blendmw_512_mask(
        first, second, __builtin_ia32_ptestmw512(numbers, halves{} + bit, all_ones()));
}

#else

/// A mask of lanes. In each selected lane, at least the upper half is set.
using lane_set = whole;

RESHARD_INLINE lane_set signalling(whole values) {
    constexpr std::uint32_t sign = 0x80000000, least = 0x7f800001, quiet = 0x7fc00000;
    auto const magnitudes = as<vector<std::uint32_t>>(values & 0x7fffffff);
    return as<whole>(magnitudes + (sign - least)) <
           static_cast<std::int32_t>(sign + (quiet - least));
}

RESHARD_INLINE lane_set quieted(whole, half_register elements) {
    half_register const magnitudes = elements & 0x7fff;
    return as_upper_halves((magnitudes > 0x7c00) & (magnitudes < 0x7e00));
}

RESHARD_INLINE lane_set quieted(whole values, register_pair elements) {
    whole const upper = odd_elements(elements.first, elements.second, counted<lanes>());
    return signalling((values & ~0x400000) | (upper << 3 & 0x400000));
}

RESHARD_INLINE whole without_quiet_bit(whole values, lane_set where) {
    return values & ~(where & 0x400000);
}

RESHARD_INLINE halves without_quiet_bit_f16(halves values, lane_set first, lane_set second) {
    return values & ~(as<halves>(upper_halves(first, second)) & 0x200);
}

template <std::size_t First>
RESHARD_INLINE whole without_quiet_bit_f64(whole values, lane_set where) {
    auto const words = as<vector<std::int64_t>>(doubled<First>(where, counted<width / 4>()));
    return values & ~as<whole>(words & 0x8000000000000);
}

RESHARD_INLINE halves choose_by_bit(halves first, halves second, halves numbers, std::int16_t bit) {
    return (numbers & bit) != 0 ? second : first;
}

#endif

} // namespace reshard::detail::RESHARD_VECTORS

#endif
