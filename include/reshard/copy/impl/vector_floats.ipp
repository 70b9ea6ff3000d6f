// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/vectors.hpp>

#ifdef RESHARD_WIDTH

namespace reshard::detail::RESHARD_VECTORS {

using halves = vector<std::int16_t>;
using half_register = vector_of<std::int16_t, width / 2>;
using quarter_register = vector_of<std::int8_t, width / 4>;
using singles = vector_of<float, width / 2>;

/// f16 to f32 and back, rounded to nearest.
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

/// The first `bytes` bytes, if a register has more; the others are not touched, and zero.
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

/// Writes the first `bytes` bytes, or all if a register has fewer.
RESHARD_INLINE void write_first(unsigned char* address, whole value, index_t bytes) {
#if RESHARD_WIDTH == 64
    __builtin_ia32_storedquqi512_mask(any_place{address}, as<vector<char>>(value),
                                      first_bits(bytes));
#else
    std::memcpy(address, &value, static_cast<std::size_t>(std::clamp<index_t>(bytes, 0, width)));
#endif
}

/// As many elements of 8 bytes as a register has of 4.
struct register_pair {
    whole first;
    whole second;
};

/// As many elements of `Size` bytes as a register has of 4.
template <std::size_t Size>
RESHARD_INLINE auto read_elements(unsigned char const* address) {
    if constexpr (Size == 1)
        return read<quarter_register>(address);
    else if constexpr (Size == 2)
        return read<half_register>(address);
    else if constexpr (Size == 4)
        return read<whole>(address);
    else
        return register_pair{read<whole>(address), read<whole>(address + width)};
}

/// The distance of lines in `read_fours`.
inline constexpr std::size_t fours_pitch = 4 * line_bytes;

/// Two registers of half the width, one after the other.
template <class Half, std::size_t... I>
RESHARD_INLINE auto joined(Half lower, Half upper, std::index_sequence<I...>) {
    return __builtin_shufflevector(lower, upper, I...);
}

/// The first four bytes of each line.
template <std::size_t... I>
RESHARD_INLINE auto join_words(unsigned char const* address, std::index_sequence<I...>) {
    return vector_of<std::int32_t, 4 * sizeof...(I)>{
        read<std::int32_t>(address + I * fours_pitch)...};
}

/// The first `Bytes` bytes of each line.
template <std::size_t Bytes, std::size_t Lines>
RESHARD_INLINE auto join_lines(unsigned char const* address) {
    if constexpr (Lines == 1)
        return read<vector_of<std::int32_t, Bytes>>(address);
    else if constexpr (Lines * Bytes == 16 && Lines == 2)
        return as<vector_of<std::int32_t, 16>>(vector_of<std::int64_t, 16>{
            read<std::int64_t>(address), read<std::int64_t>(address + fours_pitch)});
    else
        return joined(join_lines<Bytes, Lines / 2>(address),
                      join_lines<Bytes, Lines / 2>(address + Lines / 2 * fours_pitch),
                      counted<Lines * Bytes / 4>());
}

/// The same, four elements of a line after four of the line before it.
template <std::size_t Size>
RESHARD_INLINE auto read_fours(unsigned char const* address) {
    if constexpr (Size == 1)
        return as<quarter_register>(join_words(address, counted<width / 16>()));
    else if constexpr (Size == 2)
        return as<half_register>(join_lines<8, width / 16>(address));
    else if constexpr (Size == 4)
        return join_lines<16, width / 16>(address);
    else
        return register_pair{join_lines<32, width / 32>(address),
                             join_lines<32, width / 32>(address + width / 32 * fours_pitch)};
}

/// The odd elements of two registers: of elements of a double size the upper halves.
template <class Vector, std::size_t... I>
RESHARD_INLINE Vector odd_elements(Vector a, Vector b, std::index_sequence<I...>) {
    return __builtin_shufflevector(a, b, (2 * I + 1)...);
}

RESHARD_INLINE whole upper_halves(whole a, whole b) {
    return as<whole>(odd_elements(as<halves>(a), as<halves>(b), counted<width / 2>()));
}

/// The elements as the upper halves of others, whose lower halves are zero.
template <std::size_t... I>
RESHARD_INLINE whole as_upper_halves(half_register elements, std::index_sequence<I...>) {
    return as<whole>(__builtin_shufflevector(half_register{}, elements,
                                             (I % 2 == 0 ? 0 : sizeof...(I) / 2 + I / 2)...));
}

RESHARD_INLINE whole as_upper_halves(half_register elements) {
    return as_upper_halves(elements, counted<width / 2>());
}

/// Each element twice, of the elements from number `First` on.
template <std::size_t First = 0, class Vector, std::size_t... I>
RESHARD_INLINE auto doubled(Vector elements, std::index_sequence<I...>) {
    return __builtin_shufflevector(elements, elements, (First + I / 2)...);
}

/// All bits in the lanes with a NaN.
RESHARD_INLINE whole nans(whole values) { return (values & 0x7fffffff) > 0x7f800000; }

/// All bits in the lanes with a signalling NaN whose magnitude is at least `least`.
RESHARD_INLINE whole signalling(whole values, std::uint32_t least) {
    constexpr std::uint32_t sign = 0x80000000, quiet = 0x7fc00000;
    auto const magnitudes = as<vector<std::uint32_t>>(values & 0x7fffffff);
    return as<whole>(magnitudes + (sign - least)) <
           static_cast<std::int32_t>(sign + (quiet - least));
}

/// How one type is read into registers of f32 patterns and written from them.
///
/// \par Shape `load` reads a register of patterns, `pack` makes register `I` of elements out of all
///            patterns; `Exact`: no element needs rounding
template <data_type Type>
struct vector_float;

/// What needs to know no more than its type.
struct type_alone {
    explicit type_alone(byte_float const*) {}
};

template <>
struct vector_float<data_type::f32> : type_alone {
    using type_alone::type_alone;

    RESHARD_INLINE static whole load(whole elements) { return elements; }

    template <bool Exact, std::size_t I>
    RESHARD_INLINE static whole pack(whole const* values) {
        return values[I];
    }
};

template <>
struct vector_float<data_type::bf16> : type_alone {
    using type_alone::type_alone;

    RESHARD_INLINE static whole load(half_register elements) { return as_upper_halves(elements); }

    template <bool Exact, std::size_t I>
    RESHARD_INLINE static whole pack(whole const* values) {
        if constexpr (Exact)
            return upper_halves(values[2 * I], values[2 * I + 1]);
        else
            return upper_halves(rounded(values[2 * I]), rounded(values[2 * I + 1]));
    }

private:
    /// Adds half a unit of the upper half, less one if that half is even; to a NaN nothing, or the
    /// quiet bit if its payload is in the lower half alone.
    RESHARD_INLINE static whole rounded(whole values) {
        whole const half_unit = (values >> 16 & 1) + 0x7fff;
        whole const quiet = ((values & 0x7f0000) == 0) & 0x400000;
        return values + (nans(values) ? quiet : half_unit);
    }
};

template <>
struct vector_float<data_type::f16> : type_alone {
    using type_alone::type_alone;

    RESHARD_INLINE static whole load(half_register elements) {
        half_register const magnitudes = elements & 0x7fff;
        half_register const is_signalling = (magnitudes > 0x7c00) & (magnitudes < 0x7e00);
        return from_f16(elements) & ~(as_upper_halves(is_signalling & 0x200) >> 3);
    }

    template <bool Exact, std::size_t I>
    RESHARD_INLINE static whole pack(whole const* values) {
        whole const first = values[2 * I], second = values[2 * I + 1];
        halves const exact = joined(to_f16(first), to_f16(second), counted<width / 2>());
        constexpr std::uint32_t least = 0x7f802000; // keeps a bit of its payload
        whole const mask = upper_halves(signalling(first, least), signalling(second, least));
        return as<whole>(exact) & ~(mask & 0x02000200);
    }
};

template <>
struct vector_float<data_type::f64> : type_alone {
    using type_alone::type_alone;

    RESHARD_INLINE static whole load(register_pair elements) {
        whole const rounded =
            as<whole>(joined(__builtin_convertvector(as<vector<double>>(elements.first), singles),
                             __builtin_convertvector(as<vector<double>>(elements.second), singles),
                             counted<lanes>()));
        whole const upper = odd_elements(elements.first, elements.second, counted<lanes>());
        whole const with_quiet_bit = (rounded & ~0x400000) | (upper << 3 & 0x400000);
        return signalling(with_quiet_bit, 0x7f800001) ? with_quiet_bit : rounded;
    }

    template <bool Exact, std::size_t I>
    RESHARD_INLINE static whole pack(whole const* values) {
        return widened<I % 2 * (lanes / 2)>(values[I / 2], counted<lanes / 2>());
    }

private:
    /// Half of the patterns, from number `First` on.
    template <std::size_t First, std::size_t... I>
    RESHARD_INLINE static whole widened(whole values, std::index_sequence<I...>) {
        auto const given = __builtin_shufflevector(values, values, (First + I)...);
        auto const mask = as<vector<std::int64_t>>(
            doubled<First>(signalling(values, 0x7f800001), counted<lanes>()));
        return to_f64(as<singles>(given)) & ~as<whole>(mask & 0x8000000000000);
    }
};

/// The bf16 of a register of patterns of floats of a byte, each of which lies in both halves of 16
/// bits; the format is known only at run time. That of zero is zero.
#if RESHARD_WIDTH == 64
/// Each magnitude is looked up in one of four registers.
template <bool HasOnlyNan>
class byte_float_table {
public:
    RESHARD_INLINE explicit byte_float_table(byte_float const* format) {
        std::memcpy(quarters_, format->bf16.data(), sizeof quarters_);
    }

    RESHARD_INLINE halves operator()(halves twice) const {
        halves const magnitudes = (twice & 0x40) != 0 ? look_up(quarters_[2], twice, quarters_[3])
                                                      : look_up(quarters_[0], twice, quarters_[1]);
        halves const values = magnitudes | (twice & -0x8000);
        if constexpr (HasOnlyNan)
            return values == -0x8000 ? halves{} - 0x40 : values;
        else
            return values;
    }

private:
    /// The elements of two registers whose numbers are the lowest six bits.
    RESHARD_INLINE static halves look_up(halves lower, halves numbers, halves upper) {
#if defined(__clang__)
        return __builtin_ia32_vpermi2varhi512(lower, numbers, upper);
#else
        return __builtin_ia32_vpermi2varhi512_mask(lower, numbers, upper, all_ones());
#endif
    }

    halves quarters_[4];
};
#else
/// Each magnitude with an exponent is multiplied, and the few without one are looked up.
template <bool HasOnlyNan>
class byte_float_table {
public:
    RESHARD_INLINE explicit byte_float_table(byte_float const* format)
        : factor_(all(format->factor)),
          rebias_(all(format->rebias)),
          first_normal_(all(format->first_normal)),
          largest_(all(format->largest)),
          only_nan_(all(format->only_nan)),
          special_rebias_(all(format->special_rebias)) {
        auto const small = read<vector_of<std::int64_t, 16>>(format->small.data());
        small_ = as<vector<char>>(joined(small, small, counted<4>()));
    }

    RESHARD_INLINE halves operator()(halves twice) const {
        halves const magnitude = twice & 0x7f;
        auto const numbers = as<vector<char>>((twice & 0x7f7f) + 0x0800);
        auto const small = as<halves>(__builtin_ia32_pshufb256(small_, numbers));
        halves const scaled = magnitude * factor_ + rebias_;
        halves const is_special = (magnitude > largest_) | (twice == only_nan_);
        halves const result = first_normal_ > magnitude ? small : scaled;
        return (result + (is_special & special_rebias_)) | (twice & -0x8000);
    }

private:
    RESHARD_INLINE static halves all(std::uint16_t value) {
        return halves{} + static_cast<std::int16_t>(value);
    }

    vector<char> small_;
    halves factor_, rebias_, first_normal_, largest_, only_nan_, special_rebias_;
};
#endif

/// Floats of a byte; their bf16 are made first.
template <bool HasOnlyNan>
struct vector_byte_float {
    RESHARD_INLINE explicit vector_byte_float(byte_float const* format) : to_bf16_(format) {}

    RESHARD_INLINE whole load(quarter_register elements) const {
        auto const twice = as<half_register>(doubled(elements, counted<width / 2>()));
        return as<whole>(to_bf16_(as<halves>(as_upper_halves(twice))));
    }

    /// A register of bf16.
    RESHARD_INLINE whole load_bf16(unsigned char const* source) const {
        auto const words = read<vector_of<std::int64_t, width / 2>>(source);
        auto const apart = as<whole>(doubled(words, counted<width / 8>()));
        return as<whole>(
            to_bf16_(as<halves>(interleave<1, false>(apart, apart, counted<width>()))));
    }

private:
    byte_float_table<HasOnlyNan> to_bf16_;
};

/// Any format with more than one NaN or none, and any with one.
template <>
struct vector_float<data_type::f8_e4m3> : vector_byte_float<false> {
    RESHARD_INLINE explicit vector_float(byte_float const* format) : vector_byte_float(format) {}
};
template <>
struct vector_float<data_type::f8_e4m3fnuz> : vector_byte_float<true> {
    RESHARD_INLINE explicit vector_float(byte_float const* format) : vector_byte_float(format) {}
};

} // namespace reshard::detail::RESHARD_VECTORS

#endif
