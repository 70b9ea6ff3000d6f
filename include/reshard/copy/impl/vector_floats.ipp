// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/vectors.hpp>

#ifdef RESHARD_WIDTH

namespace reshard::detail::RESHARD_VECTORS {

/// Reads `lanes` elements of `Size` bytes.
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

/// The distance between lines in `read_fours`, in bytes.
inline constexpr std::size_t fours_pitch = 4 * line_bytes;

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
                      join_lines<Bytes, Lines / 2>(address + Lines / 2 * fours_pitch));
}

/// Reads four elements of each line; the lines follow each other in the result.
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

/// A mask of the lanes with a NaN.
RESHARD_INLINE whole nans(whole values) { return (values & 0x7fffffff) > 0x7f800000; }

/// How elements of one type are read into registers of f32 patterns and written from them.
///
/// \par Shape `load` reads a register of patterns; `pack` makes register `I` of elements from all
///            patterns
template <data_type Type>
struct vector_float;

/// For types whose conversion depends only on the type.
struct type_alone {
    explicit type_alone(conversion_values const&) {}
};

template <>
struct vector_float<data_type::f32> : type_alone {
    using type_alone::type_alone;

    RESHARD_INLINE static whole load(whole elements) { return elements; }

    template <packed_values Values, std::size_t I>
    RESHARD_INLINE static whole pack(whole const* values) {
        return values[I];
    }
};

template <>
struct vector_float<data_type::bf16> : type_alone {
    using type_alone::type_alone;

    RESHARD_INLINE static whole load(half_register elements) { return as_upper_halves(elements); }

    template <packed_values Values, std::size_t I>
    RESHARD_INLINE static whole pack(whole const* values) {
        if constexpr (Values == packed_values::exact)
            return upper_halves(values[2 * I], values[2 * I + 1]);
        else
            return upper_halves(rounded<Values>(values[2 * I]), rounded<Values>(values[2 * I + 1]));
    }

private:
    /// Rounds to the upper half, ties to even. A NaN is not changed, except that it gets the quiet
    /// bit if only the lower half has a payload.
    template <packed_values Values>
    RESHARD_INLINE static whole rounded(whole values) {
        whole const half_unit = (values >> 16 & 1) + 0x7fff;
        if constexpr (Values == packed_values::computed)
            return values + (half_unit & ~nans(values));
        whole const quiet = ((values & 0x7f0000) == 0) & 0x400000;
        return values + (nans(values) ? quiet : half_unit);
    }
};

template <>
struct vector_float<data_type::f16> : type_alone {
    using type_alone::type_alone;

    RESHARD_INLINE static whole load(half_register elements) {
        whole const exact = from_f16(elements);
        return without_quiet_bit(exact, quieted(exact, elements));
    }

    template <packed_values Values, std::size_t I>
    RESHARD_INLINE static whole pack(whole const* values) {
        whole const first = values[2 * I], second = values[2 * I + 1];
        halves const exact = joined(to_f16(first), to_f16(second));
        constexpr std::int32_t kept = ~0x1fff; // the payload bits that f16 keeps
        return as<whole>(
            without_quiet_bit_f16(exact, signalling(first & kept), signalling(second & kept)));
    }
};

template <>
struct vector_float<data_type::f64> : type_alone {
    using type_alone::type_alone;

    RESHARD_INLINE static whole load(register_pair elements) {
        whole const rounded = as<whole>(
            joined(__builtin_convertvector(as<vector<double>>(elements.first), singles),
                   __builtin_convertvector(as<vector<double>>(elements.second), singles)));
        return without_quiet_bit(rounded, quieted(rounded, elements));
    }

    template <packed_values Values, std::size_t I>
    RESHARD_INLINE static whole pack(whole const* values) {
        return widened<I % 2 * (lanes / 2)>(values[I / 2], counted<lanes / 2>());
    }

private:
    /// The f64 of half of the patterns, from pattern `First` on.
    template <std::size_t First, std::size_t... I>
    RESHARD_INLINE static whole widened(whole values, std::index_sequence<I...>) {
        auto const given = __builtin_shufflevector(values, values, (First + I)...);
        return without_quiet_bit_f64<First>(to_f64(as<singles>(given)), signalling(values));
    }
};

/// Converts a register of 8-bit floats to bf16. Each pattern is in both bytes of a 16-bit lane. The
/// format is known only at run time.
#if RESHARD_WIDTH == 64
/// Looks up each magnitude in one of four registers.
template <bool HasOnlyNan>
class byte_float_table {
public:
    RESHARD_INLINE explicit byte_float_table(byte_float const* format) {
        std::memcpy(quarters_, format->bf16.data(), sizeof quarters_);
    }

    RESHARD_INLINE halves operator()(halves twice) const {
        halves const magnitudes =
            choose_by_bit(look_up(quarters_[0], twice, quarters_[1]),
                          look_up(quarters_[2], twice, quarters_[3]), twice, 0x40);
        halves const values = magnitudes | (twice & -0x8000);
        if constexpr (HasOnlyNan)
            return values == -0x8000 ? halves{} - 0x40 : values;
        else
            return values;
    }

private:
    /// The elements of two registers that the lowest six bits of `numbers` select.
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
/// Looks up each byte of a value by the lower half of its pattern.
template <bool HasOnlyNan>
class byte_float_table {
    using bytes = vector<signed char>;

public:
    RESHARD_INLINE explicit byte_float_table(byte_float const* format)
        : lower_{table(format->lower[0]), table(format->lower[1]), table(format->lower[2])},
          upper_{table(format->upper[0]), table(format->upper[1]), table(format->upper[2])},
          added_(table(format->added)) {}

    RESHARD_INLINE halves operator()(halves twice) const {
        registers<2> const parts = bytes_of(as<bytes>(twice));
        return (as<halves>(parts.at[0]) & 0xff) | (as<halves>(parts.at[1]) & -0x100);
    }

    /// The lower bytes and the upper bytes of values.
    RESHARD_INLINE registers<2> bytes_of(bytes patterns) const {
        bytes const magnitudes = patterns & 0x7f;
        bytes const is_small = magnitudes < 0x10, is_large = magnitudes >= 0x70;
        bytes const sign_and_exponent = as<bytes>(as<halves>(patterns) >> 4) & 15;
        bytes lower = is_small   ? select(lower_[0], magnitudes)
                      : is_large ? select(lower_[1], magnitudes)
                                 : select(lower_[2], magnitudes);
        bytes upper = is_small   ? select(upper_[0], magnitudes)
                      : is_large ? select(upper_[1], magnitudes)
                                 : select(upper_[2], magnitudes);
        upper += select(added_, sign_and_exponent);
        if constexpr (HasOnlyNan) {
            bytes const is_nan = patterns == -0x80;
            lower |= is_nan & -0x40;
            upper |= is_nan;
        }
        return {as<whole>(lower), as<whole>(upper)};
    }

private:
    RESHARD_INLINE static bytes table(byte_float::half_table const& half) {
        auto const values = read<vector_of<std::int64_t, 16>>(half.data());
        return as<bytes>(joined(values, values));
    }

    /// The elements that the lowest four bits of `numbers` select.
    RESHARD_INLINE static bytes select(bytes table, bytes numbers) {
        return as<bytes>(
            __builtin_ia32_pshufb256(as<vector<char>>(table), as<vector<char>>(numbers)));
    }

    bytes lower_[3], upper_[3], added_;
};
#endif

/// Floats of a byte. They are converted to bf16 first.
template <bool HasOnlyNan>
struct vector_byte_float {
    RESHARD_INLINE explicit vector_byte_float(conversion_values const& values)
        : to_bf16_(values.format) {}

    RESHARD_INLINE whole load(quarter_register elements) const {
        auto const twice = as<half_register>(doubled(elements, counted<width / 2>()));
        return as<whole>(to_bf16_(as<halves>(as_upper_halves(twice))));
    }

    /// Loads register `I` of bf16.
    template <std::size_t I>
    RESHARD_INLINE whole load_bf16(unsigned char const* source) const {
#if RESHARD_WIDTH == 64
        auto const words = read<vector_of<std::int64_t, width / 2>>(source + I * (width / 2));
        auto const apart = as<whole>(doubled(words, counted<width / 8>()));
        return as<whole>(
            to_bf16_(as<halves>(interleave<1, false>(apart, apart, counted<width>()))));
#else
        // Registers `I` and `I ^ 1` have the values of one register of patterns.
        auto const words = read<vector<std::int64_t>>(source + I / 2 * width);
        registers<2> const parts = to_bf16_.bytes_of(
            as<vector<signed char>>(__builtin_shufflevector(words, words, 0, 2, 1, 3)));
        return interleave<1, I % 2 == 1>(parts.at[0], parts.at[1], counted<width>());
#endif
    }

private:
    byte_float_table<HasOnlyNan> to_bf16_;
};

/// For formats with several NaNs or none, and for formats with a single NaN.
template <>
struct vector_float<data_type::f8_e4m3> : vector_byte_float<false> {
    RESHARD_INLINE explicit vector_float(conversion_values const& values)
        : vector_byte_float(values) {}
};
template <>
struct vector_float<data_type::f8_e4m3fnuz> : vector_byte_float<true> {
    RESHARD_INLINE explicit vector_float(conversion_values const& values)
        : vector_byte_float(values) {}
};

/// Elements that are computed after they are loaded, in f32.
template <data_type Type>
struct computed_float : vector_float<Type> {
    RESHARD_INLINE explicit computed_float(conversion_values const& values)
        : vector_float<Type>(values), adds_(values.adds), operand_(values.operand) {}

    RESHARD_INLINE whole compute(whole patterns, unsigned char const*) const {
        auto const numbers = as<vector<float>>(patterns);
        return as<whole>(adds_ ? numbers + operand_ : numbers * operand_);
    }

private:
    bool adds_;
    float operand_;
};

/// Elements that are multiplied by their scales after they are loaded, in f32.
template <data_type Type>
struct scaled_float : vector_float<Type> {
    RESHARD_INLINE explicit scaled_float(conversion_values const& values)
        : vector_float<Type>(values), scales_(values.scales), first_(values.first) {}

    /// \param source the elements from which the patterns were loaded
    RESHARD_INLINE whole compute(whole patterns, unsigned char const* source) const {
        constexpr auto size = bits(Type) / 8;
        auto const* const scales =
            reinterpret_cast<unsigned char const*>(scales_ + (source - first_) / size);
        return as<whole>(as<vector<float>>(patterns) * as<vector<float>>(read<whole>(scales)));
    }

private:
    float const* scales_;
    unsigned char const* first_;
};

} // namespace reshard::detail::RESHARD_VECTORS

#endif
