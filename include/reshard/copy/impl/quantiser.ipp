// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_IMPL_QUANTISER_IPP
#define RESHARD_COPY_IMPL_QUANTISER_IPP

#include <reshard/copy/quantiser.hpp>

#include <reshard/copy/byte_float.hpp>
#include <reshard/copy/fast_convert.hpp>
#include <reshard/copy/float_format.hpp>
#include <reshard/copy/kernel_convert.hpp>
#include <reshard/core/error.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

/// \file
/// Each scheme is a row of a table; schemes of one family share a function.
///
/// What the libraries leave undefined, or where they would lose numbers:
///  - an infinity or NaN: an error
///  - a scale of GGUF beyond the range of f16, where gguf stores infinity: an error
///  - `fp8_block`: a block has its maximum below 448 / 2^128. transformers stores the scale 0, and
///    NaN for zeros; here zeros stay zeros
///  - MXFP4 and MXFP8: the maximum exceeds 1.75 * 2^127. compressed-tensors computes an infinite
///    scale; here the scale is the largest one whose products are finite
///  - GGUF: `1 / scale` is infinite, which only numbers below 2^-120 have. Here all numbers are as
///    in a block of zeros, whose scale is 0 in f16, too
///  - Q4_1 and Q5_1: the minimum is a zero, and the block has zeros of both signs. The sign of the
///    minimum depends on the processor in gguf; here it is that of the first zero
///  - GGUF's MXFP4: the exponent is negative, and gguf stores its lowest 8 bits; here it is 0

namespace reshard::detail {

/// What a tensor that quantising makes has.
enum class tensor_role : std::uint8_t {
    none,
    numbers,     ///< the weight, in as many bytes a row as its numbers need
    pairs,       ///< the weight, in one column of pairs
    scales,      ///< a scale for each run, or for each block of 128 x 128
    whole_scale, ///< one for the tensor, f32
    extents,     ///< of the tensor
    code,        ///< the 16 values of NF4
    description, ///< the state of bitsandbytes in JSON
};

constexpr bool is_scale(tensor_role role) {
    return role == tensor_role::scales || role == tensor_role::whole_scale;
}

struct scheme_tensor {
    std::string_view suffix{};
    data_type dtype{};
    tensor_role role = tensor_role::none;
};

struct quantiser_run;

struct quantisation_scheme {
    std::string_view name;
    void (quantiser_run::*quantise)();
    index_t run;            ///< the number of elements that share a scale; 0: a row; -1: all
    std::size_t least_ndim; ///< of the tensor
    std::size_t most_ndim;
    index_t row_multiple;  ///< of the last extent
    index_t bytes_of_32;   ///< the size of 32 numbers, with their scales in GGUF
    float least, greatest; ///< the range of the numbers
    float divisor;         ///< of the maximum: the quotient is the scale
    int exponent;          ///< of `greatest`
    scheme_tensor tensors[4];
};

/// The block of `fp8_block`, along rows and columns.
inline constexpr index_t square_extent = 128;
/// The number of values that are quantised at once. They stay in the first-level cache.
inline constexpr index_t batch_elements = 512;
/// The size of a unit if all elements have the same scale.
inline constexpr index_t unit_of_shared_scale = 4096;

inline constexpr std::array<float, 16> nf4_code{-1,
                                                -0x1.647362p-1F,
                                                -0x1.0cd66p-1F,
                                                -0x1.9465400000000p-2F,
                                                -0x1.23449ap-2F,
                                                -0x1.7a6a7ep-3F,
                                                -0x1.74f0e2p-4F,
                                                0,
                                                0x1.45f5fep-4F,
                                                0x1.4995c6p-3F,
                                                0x1.f809bap-3F,
                                                0x1.5a0674p-2F,
                                                0x1.c3497p-2F,
                                                0x1.200f56p-1F,
                                                0x1.722766p-1F,
                                                1};

/// \name Loops over floats, for every processor and for AVX2
/// \{

template <auto Loop, class... Arguments>
[[gnu::noinline]] auto run_portably(Arguments... arguments) {
    return Loop(arguments...);
}

#if defined(__x86_64__)

template <auto Loop, class... Arguments>
[[gnu::target("avx2")]] auto run_avx2(Arguments... arguments) {
    return Loop(arguments...);
}

template <auto Loop, class... Arguments>
auto run_fastest(Arguments... arguments) {
    return __builtin_cpu_supports("avx2") ? run_avx2<Loop>(arguments...)
                                          : run_portably<Loop>(arguments...);
}

#else

template <auto Loop, class... Arguments>
auto run_fastest(Arguments... arguments) {
    return run_portably<Loop>(arguments...);
}

#endif

/// Calls `visit(i)` for each index, in runs of a constant length, so that -O2 vectorises too.
template <class Visit>
[[gnu::always_inline]] inline void for_each_index(index_t count, Visit visit) {
    constexpr index_t unrolled = 64;
    index_t i = 0;
    for (; i + unrolled <= count; i += unrolled)
        for (index_t k = i; k < i + unrolled; ++k)
            visit(k);
    index_t const remaining = (count - i) % unrolled;
    for (index_t k = 0; k < remaining; ++k)
        visit(i + k);
}

/// The bits of the largest magnitude in rows that are `pitch` floats apart. Bits of floats without
/// sign are in the order of the floats.
[[gnu::always_inline]] inline std::int32_t largest_bits(float const* values, index_t rows,
                                                        index_t pitch, index_t count) {
    using lanes = vector_of<std::int32_t, 32>;
    constexpr index_t width = 8, step = 2 * width; // a maximum need not wait for the one before
    lanes largest[2] = {};
    std::int32_t result = 0;
    for (; rows > 0; --rows, values += pitch) {
        index_t i = 0;
        for (; i + step <= count; i += step)
            for (index_t k = 0; k < 2; ++k) {
                lanes bits;
                std::memcpy(&bits, values + i + k * width, sizeof bits);
                bits &= 0x7fffffff;
                largest[k] = largest[k] > bits ? largest[k] : bits;
            }
        for (; i < count; ++i)
            result = std::max(result, std::bit_cast<std::int32_t>(values[i]) & 0x7fffffff);
    }
    lanes const both = largest[0] > largest[1] ? largest[0] : largest[1];
    for (int k = 0; k < width; ++k)
        result = std::max(result, both[k]);
    return result;
}

/// A factor or a divisor, and the range to which its results are clamped.
struct scaling {
    float scale;
    float least;
    float greatest;

    [[gnu::always_inline]] float clamped(float value) const {
        value = value < least ? least : value;
        return value > greatest ? greatest : value;
    }
};

[[gnu::always_inline]] inline void multiply_loop(float const* values, float* result, index_t count,
                                                 scaling const* by) {
    scaling const scaled = *by;
    for_each_index(count, [&](index_t i) { result[i] = scaled.clamped(values[i] * scaled.scale); });
}

/// Zeros become positive zeros, because compressed-tensors adds a zero point of 0.
[[gnu::always_inline]] inline void divide_loop(float const* values, float* result, index_t count,
                                               scaling const* by) {
    scaling const scaled = *by;
    for_each_index(count,
                   [&](index_t i) { result[i] = scaled.clamped(values[i] / scaled.scale + 0.F); });
}

/// The pattern of a float of 8 bits (e4m3) for a number of at most 448.
///
/// In the sum, the last bit of the float has the value of the last bit of the pattern, so the
/// hardware rounds at that bit. The smallest normal number has the exponent -6, or 121 with bias.
[[gnu::always_inline]] inline unsigned char small_to_f8(float value) {
    constexpr int fraction_bits = format_f32.fraction_bits, cut = fraction_bits - 3;
    constexpr std::int32_t least = 121 << fraction_bits;
    auto const bits = std::bit_cast<std::int32_t>(value);
    std::int32_t const magnitude = bits & 0x7fffffff;
    std::int32_t const exponent = std::max(magnitude, least) & 0x7f800000;
    std::int32_t const summand = exponent + (cut << fraction_bits);
    float const sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(summand);
    std::int32_t const pattern =
        std::bit_cast<std::int32_t>(sum) - summand + ((exponent - least) >> cut);
    return static_cast<unsigned char>(pattern | ((bits >> 24) & 0x80));
}

[[gnu::always_inline]] inline void f8_loop(float const* values, unsigned char* result,
                                           index_t count) {
    for_each_index(count, [&](index_t i) { result[i] = small_to_f8(values[i]); });
}

[[gnu::always_inline]] inline void multiply_to_f8_loop(float const* values, unsigned char* result,
                                                       index_t count, scaling const* by) {
    scaling const scaled = *by;
    for_each_index(count, [&](index_t i) {
        result[i] = small_to_f8(scaled.clamped(values[i] * scaled.scale));
    });
}

/// The sum has the rounded number in its lowest bits; ties are rounded to even.
inline constexpr float rounding_summand = 0x1.8p23F;

[[gnu::always_inline]] inline void round_loop(float const* values, unsigned char* result,
                                              index_t count, unsigned char added) {
    for_each_index(count, [&](index_t i) {
        auto const bits = std::bit_cast<std::uint32_t>(values[i] + rounding_summand);
        result[i] = static_cast<unsigned char>(bits + added);
    });
}

/// Packs numbers of 4 bits in pairs. `result` may be `numbers`.
[[gnu::always_inline]] inline void pack_loop(unsigned char const* numbers, unsigned char* result,
                                             index_t pairs, bool is_high_first) {
    for (; pairs > 0; --pairs, numbers += 2, ++result) {
        unsigned const first = numbers[0], second = numbers[1];
        *result =
            static_cast<unsigned char>(is_high_first ? first << 4 | second : first | second << 4);
    }
}

/// The numbers of NF4: how many halfway points between its values are less.
[[gnu::always_inline]] inline void nf4_loop(float const* values, unsigned char* result,
                                            index_t count) {
    auto const number = []<std::size_t... I>(float value, std::index_sequence<I...>) {
        return (0 + ... + (value > (nf4_code[I] + nf4_code[I + 1]) / 2));
    };
    for_each_index(count, [&](index_t i) {
        result[i] = static_cast<unsigned char>(
            number(values[i], std::make_index_sequence<nf4_code.size() - 1>()));
    });
}

/// \}

inline std::uint16_t to_f16(float value) {
    return static_cast<std::uint16_t>(narrow<format_f16>(std::bit_cast<std::uint32_t>(value)));
}

inline std::byte to_f8(float value) {
    return static_cast<std::byte>(narrow<format_f8_e4m3>(std::bit_cast<std::uint32_t>(value)));
}

inline float from_f8(std::byte bits) {
    return std::bit_cast<float>(widen<format_f8_e4m3>(std::to_integer<std::uint32_t>(bits)));
}

/// As torch divides a number by a tensor: it multiplies by the reciprocal.
inline float quotient(float number, float divisor) { return 1 / divisor * number; }

/// The power of two with that exponent and a bias of 127, as E8M0 has it.
inline float power_of_two(std::uint32_t exponent) {
    return std::bit_cast<float>(exponent == 0 ? 0x00400000u : exponent << 23);
}

/// The state of NF4 as `QuantState` of bitsandbytes writes it.
inline std::string nf4_description(index_vector const& shape) {
    return R"({"quant_type": "nf4", "blocksize": 64, "dtype": "float32", "shape": )" +
           to_string(shape) + "}";
}

/// One call of `quantiser::run`.
struct quantiser_run {
    quantiser const& q;
    index_t first_unit;
    std::span<float const> values;
    float maximum;
    std::span<std::span<std::byte> const> bytes;
    std::span<std::span<std::byte const> const> kept;
    index_t first_element = q.first_element(first_unit);

    void all() {
        BOOST_ASSERT(bytes.size() == q.tensors_.size());
        for (std::size_t which = 1; which < bytes.size(); ++which)
            if (q.tensors_[which].is_constant && !bytes[which].empty())
                store_constant(which);
        (this->*q.scheme_->quantise)();
    }

    /// fp8_block.
    void squares() {
        std::size_t const count =
            static_cast<std::size_t>((q.columns_ + square_extent - 1) / square_extent);
        float const* band = values.data();
        for (std::size_t scale = 0, units = scales() / std::max<std::size_t>(count, 1); units > 0;
             --units, ++first_unit) {
            index_t const rows =
                q.columns_ == 0
                    ? 0
                    : (q.first_element(first_unit + 1) - q.first_element(first_unit)) / q.columns_;
            for (index_t column = 0; column < q.columns_; column += batch_elements) {
                index_t const columns = std::min(batch_elements, q.columns_ - column);
                scale += squares_of(band + column, rows, columns, scale);
            }
            band += rows * q.columns_;
        }
    }

    /// Numbers of compressed-tensors: quotients by a scale that a run of elements shares.
    void quotients() {
        auto const total = std::ssize(values);
        bool const shares_all = q.scheme_->run < 0;
        index_t const run = shares_all ? total : q.scheme_->run == 0 ? q.columns_ : q.scheme_->run;
        alignas(64) float batch[batch_elements];
        index_t filled = 0, done = 0;
        std::size_t const runs = shares_all ? 1 : scales();
        for (std::size_t i = 0; i < runs; ++i) {
            float const* const first = values.data() + static_cast<index_t>(i) * run;
            float const largest = shares_all ? 0 : checked_largest(first, run);
            scaling by{divisor(i, largest), q.scheme_->least, q.scheme_->greatest};
            for (index_t k = 0; k < run;) {
                index_t const piece = std::min(run - k, batch_elements - filled);
                if (shares_all)
                    check_shared(checked_largest(first + k, piece));
                run_fastest<divide_loop>(first + k, batch + filled, piece,
                                         static_cast<scaling const*>(&by));
                k += piece;
                filled += piece;
                if (filled == batch_elements) {
                    store_numbers(batch, done, filled);
                    done += filled;
                    filled = 0;
                }
            }
        }
        store_numbers(batch, done, filled);
    }

    /// bitsandbytes.
    void nf4() {
        constexpr index_t run = 64;
        constexpr float least_divisor = 1e-38F;
        auto const total = std::ssize(values);
        for (index_t first = 0; first < total; first += run) {
            index_t const count = std::min(run, total - first);
            auto const i = static_cast<std::size_t>(first / run);
            float const greatest = checked_largest(values.data() + first, count);
            float largest = count < run ? std::max(greatest, least_divisor) : greatest;
            largest = stored_real(1, i, largest, greatest);
            alignas(64) float batch[run];
            unsigned char numbers[run];
            if (count == run) {
                scaling const by{1 / std::max(largest, least_divisor), -1, 1};
                run_fastest<multiply_loop>(values.data() + first, batch + 0, count, &by);
            } else {
                scaling const by{std::max(largest, least_divisor), -1, 1};
                run_fastest<divide_loop>(values.data() + first, batch + 0, count, &by);
            }
            run_fastest<nf4_loop>(static_cast<float const*>(batch), numbers + 0, count);
            if (count % 2 != 0)
                numbers[count] = 7; // 0
            run_fastest<pack_loop>(static_cast<unsigned char const*>(numbers), at(first / 2),
                                   (count + 1) / 2, true);
        }
    }

    /// GGUF's blocks of 8 bits.
    void q8() {
        for_each_block([&](float const* block, unsigned char* target, index_t first) {
            float const largest = checked_largest(block, 32);
            float const scale = largest / q.scheme_->divisor;
            store_f16(scale, target, first);
            float const inverse = inverse_of(scale);
            for (index_t i = 0; i < 32; ++i) {
                float const magnitude = std::abs(block[i] * inverse);
                auto whole = static_cast<int>(magnitude);
                whole += magnitude - static_cast<float>(whole) >= .5F; // ties away from zero
                target[2 + i] = static_cast<unsigned char>(block[i] < 0 ? -whole : whole);
            }
        });
    }

    /// GGUF's blocks of 4 or 5 bits, with or without a minimum.
    void q4_or_q5() {
        bool const has_minimum = q.scheme_->divisor > 0, has_fifth_bit = q.scheme_->greatest > 15;
        for_each_block([&](float const* block, unsigned char* target, index_t first) {
            float const largest = checked_largest(block, 32);
            float minimum = 0, range = 0;
            if (has_minimum) {
                auto const [least, greatest] = std::minmax_element(block, block + 32);
                minimum = *least;
                range = *greatest - minimum;
            } else {
                range = *std::find_if(block, block + 32,
                                      [&](float value) { return std::abs(value) == largest; });
            }
            float const scale = range / q.scheme_->divisor;
            store_f16(scale, target, first);
            target += 2;
            if (has_minimum) {
                store_f16(minimum, target, first);
                target += 2;
            }
            double const inverse = static_cast<double>(inverse_of(scale));
            float const added = has_minimum ? .5F : .5F - q.scheme_->divisor;
            auto const greatest = static_cast<int>(q.scheme_->greatest);
            unsigned numbers[32];
            std::uint32_t fifth_bits = 0;
            for (index_t i = 0; i < 32; ++i) {
                // In double: the product is exact, so that it is rounded before the sum.
                auto const product =
                    static_cast<float>(static_cast<double>(block[i] - minimum) * inverse);
                numbers[i] = static_cast<unsigned>(
                    std::clamp(static_cast<int>(product + added), 0, greatest));
                fifth_bits |= (numbers[i] >> 4) << i;
            }
            if (has_fifth_bit) {
                std::memcpy(target, &fifth_bits, sizeof fifth_bits);
                target += sizeof fifth_bits;
            }
            for (index_t i = 0; i < 16; ++i)
                target[i] =
                    static_cast<unsigned char>((numbers[i] & 15) | (numbers[i + 16] & 15) << 4);
        });
    }

    /// GGUF's blocks of floats of 4 bits.
    void gguf_mxfp4() {
        for_each_block([&](float const* block, unsigned char* target, index_t) {
            float const largest = checked_largest(block, 32);
            unsigned char const exponent = exponent_of_logarithm(largest);
            // Half of the scale, because the numbers are doubled.
            float const half = std::bit_cast<float>(exponent < 2 ? 0x00200000u << exponent
                                                                 : (exponent - 1u) << 23);
            constexpr float doubled[] = {0, 1, 2, 3, 4, 6, 8, 12};
            unsigned numbers[32];
            for (index_t i = 0; i < 32; ++i) {
                float const magnitude = std::abs(block[i]);
                float least = magnitude;
                unsigned number = 0;
                for (unsigned k = 1; k < 8; ++k) {
                    float const distance = std::abs(half * doubled[k] - magnitude);
                    number = distance < least ? k : number;
                    least = distance < least ? distance : least;
                }
                numbers[i] = number | (block[i] < 0 && number > 0 ? 8u : 0u);
            }
            target[0] = exponent;
            for (index_t i = 0; i < 16; ++i)
                target[1 + i] = static_cast<unsigned char>(numbers[i] | numbers[i + 16] << 4);
        });
    }

private:
    static bool is_finite(float value) {
        return std::abs(value) <= std::numeric_limits<float>::max();
    }

    static std::string text(float value) {
        return std::isnan(value) ? "NaN" : std::isinf(value) ? "infinite" : shortest_text(value);
    }

    /// The number of scales of these units.
    std::size_t scales() const {
        return bytes[1].size() / static_cast<std::size_t>(bits(q.tensors_[1].dtype) / 8);
    }

    bool is_given(std::size_t which) const { return which < kept.size() && !kept[which].empty(); }

    unsigned char* at(index_t byte) const {
        return reinterpret_cast<unsigned char*>(bytes[0].data()) + byte;
    }

    /// \throws error with errc::unsupported for an infinity or NaN
    float checked_largest(float const* first, index_t count, index_t rows = 1) const {
        float const largest =
            std::bit_cast<float>(run_fastest<largest_bits>(first, rows, q.columns_, count));
        if (!is_finite(largest))
            fail_not_finite();
        return largest;
    }

    [[noreturn, gnu::cold, gnu::noinline]] void fail_not_finite() const {
        auto const match = std::ranges::find_if_not(values, is_finite);
        fail(errc::unsupported, "element ", first_element + (match - values.begin()), " is ",
             text(*match), "; it cannot be quantised");
    }

    /// A scale in f32: a new one, or the given one.
    ///
    /// \param largest the largest magnitude that it scales
    float stored_real(std::size_t which, std::size_t i, float chosen, float largest) const {
        std::size_t const first = i * sizeof chosen;
        if (is_given(which)) {
            std::memcpy(&chosen, kept[which].data() + first, sizeof chosen);
            check_given(which, chosen, largest);
        }
        std::memcpy(bytes[which].data() + first, &chosen, sizeof chosen);
        return chosen;
    }

    /// Refuses scales that would lose values up to `largest`.
    void check_given(std::size_t which, float scale, float largest = 0) const {
        if (!is_finite(scale))
            fail(errc::corrupt_file, "a scale in '", q.tensors_[which].suffix, "' is ", text(scale),
                 "; nothing can be quantised with it");
        if (scale == 0 && largest > 0)
            fail(errc::corrupt_file, "a scale in '", q.tensors_[which].suffix,
                 "' is 0, but a value in its block is as large as ", text(largest),
                 "; give scales of these values, or none");
    }

    /// \name Scales of compressed-tensors
    /// \{

    float quotient_of(float largest) const {
        float const scale = largest / q.scheme_->divisor;
        return scale == 0 ? std::numeric_limits<float>::epsilon() : scale;
    }

    /// The scale of the tensor: of fp8_tensor, or of the scales of nvfp4.
    float whole_scale(std::size_t which) const {
        float scale = 0;
        if (is_given(which)) {
            std::memcpy(&scale, kept[which].data(), sizeof scale);
            check_given(which, scale);
            if (which == 2 && scale == 0)
                fail(errc::corrupt_file, "the scale in '", q.tensors_[which].suffix,
                     "' is 0; nothing can be quantised with it");
            return scale;
        }
        if (!is_finite(maximum))
            fail(errc::unsupported, "the largest magnitude of the tensor is ", text(maximum),
                 "; it cannot be quantised");
        if (which == 1)
            return quotient_of(maximum);
        scale = quotient(448 * 6, std::max(maximum, std::numeric_limits<float>::min()));
        return is_finite(scale) ? scale : 1;
    }

    /// Stores scale `i`. Returns the number by which the values are divided.
    float divisor(std::size_t i, float largest) const {
        data_type const dtype = q.tensors_[1].dtype;
        float divisor = 0;
        if (q.scheme_->run < 0) {
            divisor = whole_scale(1);
        } else if (dtype == data_type::f32) {
            divisor = stored_real(1, i, quotient_of(largest), largest);
        } else {
            std::byte const scale = is_given(1)              ? kept[1][i]
                                    : dtype == data_type::u8 ? power_of(largest)
                                                             : nested_scale(largest);
            bytes[1][i] = scale;
            divisor = dtype == data_type::u8 ? power_of_two(std::to_integer<std::uint32_t>(scale))
                                             : from_f8(scale) / whole_scale(2);
            check_given(1, divisor, is_given(1) ? largest : 0);
        }
        return divisor == 0 ? std::numeric_limits<float>::infinity() : divisor; // zeros stay zeros
    }

    /// Refuses a given scale of the tensor that would lose values up to `largest`.
    void check_shared(float largest) const {
        if (is_given(1))
            check_given(1, whole_scale(1), largest);
    }

    /// The maximum is rounded to a power of two: up if it would round to more than the largest
    /// number.
    std::byte power_of(float largest) const {
        std::uint32_t const exponent = (std::bit_cast<std::uint32_t>(largest) + (1u << 21)) >> 23;
        int const power = static_cast<int>(std::min(exponent, 254u)) - q.scheme_->exponent;
        return static_cast<std::byte>(std::max(power, 0));
    }

    std::byte nested_scale(float largest) const {
        float const scale = whole_scale(2) * (largest / q.scheme_->divisor);
        std::byte const stored = to_f8(std::min(scale, 448.F));
        return stored == std::byte{0} ? to_f8(.125F) : stored;
    }

    /// \}

    /// Stores numbers, beginning with the number of element `first` of these units.
    void store_numbers(float const* batch, index_t first, index_t count) const {
        unsigned char* const target = at(first * q.scheme_->bytes_of_32 / 32);
        auto const* const source = reinterpret_cast<unsigned char const*>(batch);
        unsigned char numbers[batch_elements];
        if (q.scheme_->greatest == 448)
            return run_fastest<f8_loop>(batch, target, count);
        if (q.scheme_->greatest == 127)
            return run_fastest<round_loop>(batch, target, count, static_cast<unsigned char>(0));
        if (q.scheme_->greatest == 6)
            from_f32(data_type::f4)(nullptr, source, numbers, count);
        else
            run_fastest<round_loop>(batch, numbers + 0, count, static_cast<unsigned char>(8));
        run_fastest<pack_loop>(static_cast<unsigned char const*>(numbers), target, count / 2,
                               false);
    }

    /// Quantises blocks beside each other, from scale `scale` on. Returns their number.
    std::size_t squares_of(float const* first, index_t rows, index_t columns, std::size_t scale) {
        constexpr std::size_t most = batch_elements / square_extent;
        auto const count = static_cast<std::size_t>((columns + square_extent - 1) / square_extent);
        auto const width = [&](std::size_t square) {
            return std::min(square_extent, columns - static_cast<index_t>(square) * square_extent);
        };
        scaling by[most];
        bool multiplies[most];
        for (std::size_t i = 0; i < count; ++i) {
            float const largest =
                checked_largest(first + static_cast<index_t>(i) * square_extent, width(i), rows);
            float const factor = largest > 0 ? quotient(448, largest) : 1;
            float const inverse = stored_real(1, scale + i, 1 / factor, largest);
            multiplies[i] = !is_given(1) && is_finite(factor);
            by[i] = {multiplies[i] ? factor : inverse, -448, 448};
        }
        for (index_t row = 0; row < rows; ++row) {
            float const* const source = first + row * q.columns_;
            unsigned char* const target = at(source - values.data());
            for (std::size_t i = 0; i < count; ++i) {
                index_t const column = static_cast<index_t>(i) * square_extent;
                if (multiplies[i])
                    run_fastest<multiply_to_f8_loop>(source + column, target + column, width(i),
                                                     static_cast<scaling const*>(by + i));
                else
                    divide_to_f8(source + column, target + column, width(i), by[i]);
            }
        }
        return count;
    }

    /// Divides by a scale that may be 0. Zeros keep their signs.
    static void divide_to_f8(float const* source, unsigned char* target, index_t count,
                             scaling const& by) {
        for (index_t i = 0; i < count; ++i)
            target[i] = small_to_f8(source[i] == 0 ? source[i] : by.clamped(source[i] / by.scale));
    }

    void for_each_block(auto const& visit) const {
        for (index_t first = 0; first < std::ssize(values); first += 32)
            visit(values.data() + first, at(first / 32 * q.scheme_->bytes_of_32), first);
    }

    static float inverse_of(float scale) {
        float const inverse = 1 / scale;
        return is_finite(inverse) ? inverse : 0;
    }

    void store_f16(float value, unsigned char* target, index_t first) const {
        std::uint16_t const stored = to_f16(value);
        if ((stored & 0x7fff) == 0x7c00)
            fail(errc::unsupported, "the block from element ", first_element + first,
                 " on needs the scale or minimum ", text(value),
                 ", which exceeds 65504, the largest number of float16");
        std::memcpy(target, &stored, sizeof stored);
    }

    /// gguf rounds the logarithm to f32 before it takes the largest integer below.
    unsigned char exponent_of_logarithm(float largest) const {
        if (largest == 0)
            return 0;
        auto const logarithm = static_cast<float>(std::log2(static_cast<double>(largest)));
        return static_cast<unsigned char>(
            std::max(static_cast<int>(std::floor(logarithm)) + 127 - q.scheme_->exponent, 0));
    }

    void store_constant(std::size_t which) const {
        auto const store = [&](auto const& list) {
            BOOST_ASSERT(bytes[which].size() == list.size() * sizeof *list.data());
            std::memcpy(bytes[which].data(), list.data(), bytes[which].size());
        };
        switch (q.scheme_->tensors[which].role) {
        case tensor_role::whole_scale: return store(std::array{whole_scale(which)});
        case tensor_role::extents: return store(std::span(q.shape_.begin(), q.shape_.size()));
        case tensor_role::code: return store(nf4_code);
        default: return store(nf4_description(q.shape_));
        }
    }
};

inline constexpr quantisation_scheme all_quantisation_schemes[] = {
    {"fp8_block",
     &quantiser_run::squares,
     0,
     2,
     max_ndim,
     1,
     32,
     -448,
     448,
     448,
     8,
     {{"", data_type::f8_e4m3, tensor_role::numbers},
      {"_scale_inv", data_type::f32, tensor_role::scales}}},
    {"fp8_channel",
     &quantiser_run::quotients,
     0,
     2,
     max_ndim,
     1,
     32,
     -448,
     448,
     448,
     8,
     {{"", data_type::f8_e4m3, tensor_role::numbers},
      {"_scale", data_type::f32, tensor_role::scales}}},
    {"fp8_tensor",
     &quantiser_run::quotients,
     -1,
     0,
     max_ndim,
     1,
     32,
     -448,
     448,
     448,
     8,
     {{"", data_type::f8_e4m3, tensor_role::numbers},
      {"_scale", data_type::f32, tensor_role::whole_scale}}},
    {"int8_channel",
     &quantiser_run::quotients,
     0,
     2,
     max_ndim,
     1,
     32,
     -128,
     127,
     127.5F,
     7,
     {{"", data_type::i8, tensor_role::numbers}, {"_scale", data_type::f32, tensor_role::scales}}},
    {"int4_group",
     &quantiser_run::quotients,
     128,
     2,
     2,
     128,
     16,
     -8,
     7,
     7.5F,
     3,
     {{"_packed", data_type::i32, tensor_role::numbers},
      {"_scale", data_type::f32, tensor_role::scales},
      {"_shape", data_type::i64, tensor_role::extents}}},
    {"mxfp8",
     &quantiser_run::quotients,
     32,
     2,
     max_ndim,
     32,
     32,
     -448,
     448,
     448,
     8,
     {{"", data_type::f8_e4m3, tensor_role::numbers},
      {"_scale", data_type::u8, tensor_role::scales}}},
    {"mxfp4",
     &quantiser_run::quotients,
     32,
     2,
     max_ndim,
     32,
     16,
     -6,
     6,
     6,
     2,
     {{"_packed", data_type::u8, tensor_role::numbers},
      {"_scale", data_type::u8, tensor_role::scales}}},
    {"nvfp4",
     &quantiser_run::quotients,
     16,
     2,
     2,
     16,
     16,
     -6,
     6,
     6,
     2,
     {{"_packed", data_type::u8, tensor_role::numbers},
      {"_scale", data_type::f8_e4m3, tensor_role::scales},
      {"_global_scale", data_type::f32, tensor_role::whole_scale}}},
    {"nf4",
     &quantiser_run::nf4,
     64,
     0,
     max_ndim,
     1,
     16,
     -1,
     1,
     1,
     0,
     {{"", data_type::u8, tensor_role::pairs},
      {".absmax", data_type::f32, tensor_role::scales},
      {".quant_map", data_type::f32, tensor_role::code},
      {".quant_state.bitsandbytes__nf4", data_type::u8, tensor_role::description}}},
    {"q8_0",
     &quantiser_run::q8,
     32,
     1,
     max_ndim,
     32,
     34,
     -127,
     127,
     127,
     7,
     {{"", data_type::u8, tensor_role::numbers}}},
    {"q4_0",
     &quantiser_run::q4_or_q5,
     32,
     1,
     max_ndim,
     32,
     18,
     0,
     15,
     -8,
     3,
     {{"", data_type::u8, tensor_role::numbers}}},
    {"q4_1",
     &quantiser_run::q4_or_q5,
     32,
     1,
     max_ndim,
     32,
     20,
     0,
     15,
     15,
     3,
     {{"", data_type::u8, tensor_role::numbers}}},
    {"q5_0",
     &quantiser_run::q4_or_q5,
     32,
     1,
     max_ndim,
     32,
     22,
     0,
     31,
     -16,
     4,
     {{"", data_type::u8, tensor_role::numbers}}},
    {"q5_1",
     &quantiser_run::q4_or_q5,
     32,
     1,
     max_ndim,
     32,
     24,
     0,
     31,
     31,
     4,
     {{"", data_type::u8, tensor_role::numbers}}},
    {"gguf_mxfp4",
     &quantiser_run::gguf_mxfp4,
     32,
     1,
     max_ndim,
     32,
     17,
     -12,
     12,
     12,
     2,
     {{"", data_type::u8, tensor_role::numbers}}},
};

RESHARD_DECL std::string quantisation_schemes() {
    std::string names;
    for (quantisation_scheme const& scheme : all_quantisation_schemes)
        names += (names.empty() ? "" : ", ") + std::string(scheme.name);
    return names;
}

inline quantisation_scheme const& quantisation_scheme_of(std::string_view name) {
    auto const match =
        std::ranges::find(all_quantisation_schemes, name, &quantisation_scheme::name);
    if (match == std::end(all_quantisation_schemes))
        fail(errc::usage, "unknown quantisation scheme '", name, "'; choose one of ",
             quantisation_schemes());
    return *match;
}

inline void check_shape(quantisation_scheme const& scheme, index_vector const& shape) {
    if (shape.size() < scheme.least_ndim || shape.size() > scheme.most_ndim)
        fail(errc::shape_mismatch, "the scheme '", scheme.name, "' needs ",
             scheme.most_ndim == max_ndim ? "at least " : "", counted(scheme.least_ndim, "axis"),
             ", but the shape ", shape, " has ", counted(shape.size(), "axis"));
    if (scheme.row_multiple > 1 && shape[shape.size() - 1] % scheme.row_multiple != 0)
        fail(errc::shape_mismatch, "the scheme '", scheme.name, "' needs a multiple of ",
             scheme.row_multiple, " along axis ", shape.size() - 1, ", but the extent is ",
             shape[shape.size() - 1]);
}

/// `extent / by`, rounded up.
constexpr index_t divided_up(index_t extent, index_t by) {
    return extent / by + (extent % by != 0);
}

/// The shape of a tensor with that role.
inline index_vector shape_of_tensor(quantisation_scheme const& scheme, scheme_tensor const& which,
                                    index_vector shape) {
    std::size_t const ndim = shape.size();
    switch (which.role) {
    case tensor_role::numbers:
        if (scheme.row_multiple > 1)
            shape[ndim - 1] =
                shape[ndim - 1] / scheme.row_multiple *
                (scheme.bytes_of_32 * scheme.row_multiple * 8 / 32 / bits(which.dtype));
        return shape;
    case tensor_role::pairs: return {divided_up(element_count(shape), 2), 1};
    case tensor_role::scales:
        if (scheme.tensors[0].role == tensor_role::pairs)
            return {divided_up(element_count(shape), scheme.run)};
        if (scheme.quantise == &quantiser_run::squares)
            shape[ndim - 2] = divided_up(shape[ndim - 2], square_extent);
        shape[ndim - 1] = scheme.quantise == &quantiser_run::squares
                              ? divided_up(shape[ndim - 1], square_extent)
                          : scheme.run == 0 ? 1
                                            : shape[ndim - 1] / scheme.run;
        return shape;
    case tensor_role::extents: return {static_cast<index_t>(ndim)};
    case tensor_role::code: return {std::ssize(nf4_code)};
    case tensor_role::description: return {std::ssize(nf4_description(shape))};
    default: return {1};
    }
}

/// The boxes whose elements are whole runs of the row-major order.
inline index_vector block_of_flat_runs(index_vector const& shape, index_t run) {
    index_vector block = index_vector::filled(shape.size(), 1);
    index_t slice = 1; ///< the number of elements of a slice along the axis, modulo the run
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        block[axis] = run / std::gcd(run, slice);
        slice = slice * (shape[axis] % run) % run;
        if (slice == 0)
            break;
        if (axis > 0)
            block[axis] = 0;
    }
    return block;
}

RESHARD_DECL quantiser::quantiser(std::string_view name, index_vector shape)
    : scheme_(&quantisation_scheme_of(name)), shape_(shape) {
    check_shape(*scheme_, shape);
    elements_ = element_count(shape);
    std::size_t const ndim = shape.size();
    bool const has_squares = scheme_->quantise == &quantiser_run::squares;
    columns_ = ndim > 0 ? shape[ndim - 1] : 1;
    block_ = index_vector::filled(ndim, 1);
    index_t const outer =
        ndim > 0 ? element_count(index_vector(shape.begin(), shape.end() - (has_squares ? 2 : 1)))
                 : 1;
    if (has_squares) {
        rows_ = shape[ndim - 2];
        matrix_units_ = divided_up(rows_, square_extent);
        unit_elements_ = elements_ > 0 ? square_extent * columns_ : 0;
        units_ = outer * matrix_units_;
        block_[ndim - 2] = block_[ndim - 1] = square_extent;
    } else if (scheme_->run == 0) {
        unit_elements_ = columns_;
        units_ = outer;
        block_[ndim - 1] = 0;
    } else {
        unit_elements_ = scheme_->run < 0 ? unit_of_shared_scale : scheme_->run;
        units_ = divided_up(elements_, unit_elements_);
        if (scheme_->tensors[0].role == tensor_role::pairs)
            block_ = block_of_flat_runs(shape, scheme_->run);
        else if (scheme_->run > 0)
            block_[ndim - 1] = scheme_->run;
    }
    units_ = std::max(units_, index_t{1});
    for (scheme_tensor const& which : scheme_->tensors)
        if (which.role != tensor_role::none)
            tensors_.push_back({std::string(which.suffix), which.dtype,
                                shape_of_tensor(*scheme_, which, shape), is_scale(which.role),
                                which.role > tensor_role::scales});
}

RESHARD_DECL vector<scheme_ending> endings_of(std::string_view scheme) {
    vector<scheme_ending> endings;
    for (scheme_tensor const& which : quantisation_scheme_of(scheme).tensors)
        if (which.role != tensor_role::none)
            endings.push_back({which.suffix, is_scale(which.role)});
    return endings;
}

RESHARD_DECL index_t quantiser::extent_of_block(std::size_t which, std::size_t axis) const {
    index_t const extent = tensors_[which].shape[axis], block = block_[axis];
    if (block == 0)
        return extent;
    return extent == shape_[axis] ? block : extent / divided_up(shape_[axis], block);
}

RESHARD_DECL bool quantiser::crosses_rows() const {
    return scheme_->tensors[0].role == tensor_role::pairs;
}

RESHARD_DECL bool quantiser::needs_maximum() const {
    return std::ranges::any_of(scheme_->tensors, [](scheme_tensor const& which) {
        return which.role == tensor_role::whole_scale;
    });
}

RESHARD_DECL index_t quantiser::first_element(index_t unit) const {
    BOOST_ASSERT(0 <= unit && unit <= units_);
    if (unit == units_)
        return elements_;
    if (matrix_units_ == 0)
        return unit * unit_elements_;
    return (unit / matrix_units_ * rows_ + unit % matrix_units_ * square_extent) * columns_;
}

RESHARD_DECL std::uint64_t quantiser::first_byte(std::size_t which, index_t unit) const {
    quantised_tensor const& of = tensors_[which];
    if (unit == units_ || (of.is_constant && unit > 0))
        return static_cast<std::uint64_t>(element_count(of.shape)) *
               static_cast<std::uint64_t>(bits(of.dtype) / 8);
    if (of.is_constant)
        return 0;
    if (which == 0)
        return static_cast<std::uint64_t>(first_element(unit) / 16 * scheme_->bytes_of_32 / 2 +
                                          first_element(unit) % 16 * scheme_->bytes_of_32 / 32);
    index_t const scales = matrix_units_ > 0 ? divided_up(columns_, square_extent) : 1;
    return static_cast<std::uint64_t>(unit * scales * (bits(of.dtype) / 8));
}

RESHARD_DECL void quantiser::run(index_t first_unit, std::span<float const> values, float maximum,
                                 std::span<std::span<std::byte> const> bytes,
                                 std::span<std::span<std::byte const> const> kept) const {
    float_environment const as_usual;
    quantiser_run run{*this, first_unit, values, maximum, bytes, kept};
    run.all();
}

RESHARD_DECL float largest_of(std::span<float const> values) {
    return std::bit_cast<float>(
        run_fastest<largest_bits>(values.data(), index_t{1}, index_t{0}, std::ssize(values)));
}

} // namespace reshard::detail

#endif
