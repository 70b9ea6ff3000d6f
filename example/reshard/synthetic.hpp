// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_SYNTHETIC_HPP
#define RESHARD_TOOL_SYNTHETIC_HPP

#include <reshard/core/data_type.hpp>
#include <reshard/core/digest.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

/// \file
/// Values as a function of key, index and seed, so that no two regions have equal values.

namespace tool {

/// The bits of 64 that may be set so that all elements in them are finite numbers.
///
/// One bit of each exponent stays clear: floats are below 2 in magnitude.
constexpr std::uint64_t finite_bits(reshard::data_type dtype) {
    using enum reshard::data_type;
    switch (dtype) {
    case boolean: return 0x0101010101010101;
    case f8_e5m2:
    case f8_e4m3: return 0xbfbfbfbfbfbfbfbf;
    case f8_e8m0:
    case f8_e4m3fnuz:
    case f8_e5m2fnuz: return 0x7f7f7f7f7f7f7f7f;
    case f16:
    case bf16: return 0xbfffbfffbfffbfff;
    case f32:
    case c64: return 0xbfffffffbfffffff;
    case f64:
    case c128: return 0xbfffffffffffffff;
    default: return 0xffffffffffffffff;
    }
}

/// Word `i` of a tensor. `base` is a hash of its key and the seed.
///
/// \par Source SplitMix64 (Sebastiano Vigna, public domain), which can start at any word
constexpr std::uint64_t synthetic_word(std::uint64_t base, std::uint64_t i) {
    std::uint64_t word = base + i * 0x9e3779b97f4a7c15u;
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
    word = (word ^ word >> 27) * 0x94d049bb133111ebu;
    return word ^ word >> 31;
}

constexpr std::uint64_t synthetic_base(std::string_view key, std::uint64_t seed) {
    reshard::detail::hasher digest;
    digest.add(key);
    digest.add(seed);
    return digest.value();
}

/// Fills `bytes` bytes of a tensor in row-major order. They start at the tensor's word `first`; a
/// word has 8 bytes.
inline void fill_synthetic(std::byte* memory, std::size_t bytes, reshard::data_type dtype,
                           std::uint64_t base, std::uint64_t first = 0) {
    std::uint64_t const mask = finite_bits(dtype);
    std::size_t const words = bytes / 8;
    for (std::size_t i = 0; i < words; ++i) {
        std::uint64_t const word = synthetic_word(base, first + i) & mask;
        std::memcpy(memory + 8 * i, &word, 8);
    }
    std::uint64_t const last = synthetic_word(base, first + words) & mask;
    std::memcpy(memory + 8 * words, &last, bytes % 8);
}

} // namespace tool

#endif
