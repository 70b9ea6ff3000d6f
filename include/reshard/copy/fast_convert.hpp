// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_FAST_CONVERT_HPP
#define RESHARD_COPY_FAST_CONVERT_HPP

#include <reshard/copy/byte_float.hpp>
#include <reshard/core/data_type.hpp>

/// \file
/// Loops over dense blocks of elements for common pairs of floating-point types. Compilers
/// vectorise these loops.

namespace reshard::detail {

template <class Source, class Target, auto Convert>
[[gnu::always_inline]] inline void convert_loop(unsigned char const* __restrict source,
                                                unsigned char* __restrict target, index_t count) {
    constexpr index_t unrolled = 64; // a constant, so that -O2 vectorises too
    index_t i = 0;
    for (; i + unrolled <= count; i += unrolled)
        for (index_t k = i; k < i + unrolled; ++k)
            convert_one<Source, Target, Convert>(source + k * index_t{sizeof(Source)},
                                                 target + k * index_t{sizeof(Target)});
    for (; i < count; ++i)
        convert_one<Source, Target, Convert>(source + i * index_t{sizeof(Source)},
                                             target + i * index_t{sizeof(Target)});
}

template <class Source, class Target, auto Convert>
void convert_portably(byte_float const*, unsigned char const* source, unsigned char* target,
                      index_t count) {
    convert_loop<Source, Target, Convert>(source, target, count);
}

#if defined(__x86_64__)

template <class Source, class Target, auto Convert>
[[gnu::target("avx2")]] void convert_avx2(byte_float const*, unsigned char const* source,
                                          unsigned char* target, index_t count) {
    convert_loop<Source, Target, Convert>(source, target, count);
}

/// The fastest loop on this processor.
template <class Source, class Target, auto Convert>
block_function fastest() {
    return __builtin_cpu_supports("avx2") ? convert_avx2<Source, Target, Convert>
                                          : convert_portably<Source, Target, Convert>;
}

#else

template <class Source, class Target, auto Convert>
block_function fastest() {
    return convert_portably<Source, Target, Convert>;
}

#endif

/// Converts floats of at most a byte to f32 by a lookup table. With `Shift` 0, converts them to
/// bf16.
template <class Target, int Shift>
void look_up(byte_float const* format, unsigned char const* source, unsigned char* target,
             index_t count) {
    for (index_t i = 0; i < count; ++i) {
        auto const match = static_cast<Target>(Target{format->bf16[source[i]]} << Shift);
        std::memcpy(target + i * index_t{sizeof(Target)}, &match, sizeof match);
    }
}

template <float_format Format, class Storage>
block_function fastest_from_f32() {
    return fastest<std::uint32_t, Storage, narrow<Format>>();
}

/// The vector loop from `dtype` to f32, or null. All except the loop from f64 are exact.
inline block_function to_f32(data_type dtype) {
    switch (dtype) {
    case data_type::f16: return convert_portably<std::uint16_t, std::uint32_t, widen<format_f16>>;
    case data_type::bf16: return convert_portably<std::uint16_t, std::uint32_t, widen<format_bf16>>;
    case data_type::f64: return convert_portably<std::uint64_t, std::uint32_t, f32_of_f64>;
    default: return find_byte_float(dtype) ? look_up<std::uint32_t, 16> : nullptr;
    }
}

/// The vector loop from f32 to `dtype`, or null.
inline block_function from_f32(data_type dtype) {
    switch (dtype) {
    case data_type::f4: return fastest_from_f32<format_f4, std::uint8_t>();
    case data_type::f6_e2m3: return fastest_from_f32<format_f6_e2m3, std::uint8_t>();
    case data_type::f6_e3m2: return fastest_from_f32<format_f6_e3m2, std::uint8_t>();
    case data_type::f8_e5m2: return fastest_from_f32<format_f8_e5m2, std::uint8_t>();
    case data_type::f8_e4m3: return fastest_from_f32<format_f8_e4m3, std::uint8_t>();
    case data_type::f8_e4m3fnuz: return fastest_from_f32<format_f8_e4m3fnuz, std::uint8_t>();
    case data_type::f8_e5m2fnuz: return fastest_from_f32<format_f8_e5m2fnuz, std::uint8_t>();
    case data_type::f16: return convert_portably<std::uint32_t, std::uint16_t, narrow<format_f16>>;
    case data_type::bf16:
        return convert_portably<std::uint32_t, std::uint16_t, narrow<format_bf16>>;
    case data_type::f64: return convert_portably<std::uint32_t, std::uint64_t, f64_of_f32>;
    default: return nullptr;
    }
}

/// The loop from `dtype` to bf16 if bf16 can represent every value, or null.
inline block_function to_bf16(data_type dtype) {
    return find_byte_float(dtype) ? look_up<std::uint16_t, 0> : nullptr;
}

/// The vector loop from or to f32, or from a smaller type to bf16; null if there is none.
inline block_function fast_step(data_type source, data_type target) {
    return target == data_type::f32    ? to_f32(source)
           : source == data_type::f32  ? from_f32(target)
           : target == data_type::bf16 ? to_bf16(source)
                                       : nullptr;
}

} // namespace reshard::detail

#endif
