// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_SHA256_HPP
#define RESHARD_TEST_SUPPORT_SHA256_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// \file
/// SHA-256 (FIPS 180-4), for data that comes with such hashes. Its constants are computed, as the
/// standard defines them.

namespace reshard::test {

using namespace reshard::detail;

namespace detail {

using sha256_state = std::array<std::uint32_t, 8>;
__extension__ typedef unsigned __int128 wide;

/// The first 32 bits of the fraction of a root of `prime`: `cube` selects the cube root.
constexpr std::uint32_t root_fraction(std::uint64_t prime, bool cube) {
    // The largest r with r^2 <= prime * 2^64, or r^3 <= prime * 2^96, bit by bit; its low 32 bits.
    wide root = 0;
    for (int bit = 36; bit >= 0; --bit) {
        wide const next = root | (wide{1} << bit);
        bool const fits =
            cube ? next * next <= ((wide{prime} << 96) / next) : next * next <= (wide{prime} << 64);
        root = fits ? next : root;
    }
    return static_cast<std::uint32_t>(root);
}

/// The roots of the first `Count` primes.
template <std::size_t Count>
constexpr std::array<std::uint32_t, Count> root_fractions(bool cube) {
    std::array<std::uint32_t, Count> result{};
    std::size_t index = 0;
    for (std::uint64_t number = 2; index < Count; ++number) {
        bool is_prime = true;
        for (std::uint64_t divisor = 2; divisor * divisor <= number; ++divisor)
            is_prime = is_prime && number % divisor != 0;
        if (is_prime)
            result[index++] = root_fraction(number, cube);
    }
    return result;
}

/// Mixes 64 bytes into the state.
inline void sha256_block(sha256_state& state, unsigned char const* bytes) {
    static constexpr auto constants = root_fractions<64>(true);
    std::array<std::uint32_t, 64> w{};
    for (std::size_t i = 0; i < 16; ++i)
        for (std::size_t j = 0; j < 4; ++j)
            w[i] = (w[i] << 8) | bytes[4 * i + j];
    for (std::size_t i = 16; i < 64; ++i)
        w[i] = w[i - 16] + w[i - 7] +
               (std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3)) +
               (std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10));
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t i = 0; i < 64; ++i) {
        std::uint32_t const first = h + constants[i] + w[i] + ((e & f) ^ (~e & g)) +
                                    (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25));
        std::uint32_t const second =
            ((a & b) ^ (a & c) ^ (b & c)) + (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22));
        h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
    }
    sha256_state const mixed{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < state.size(); ++i)
        state[i] += mixed[i];
}

} // namespace detail

/// The hash of some bytes as 64 hexadecimal digits.
inline std::string sha256(std::string_view bytes) {
    std::string padded(bytes);
    padded += '\x80';
    padded.append((119 - bytes.size() % 64) % 64, '\0');
    for (int shift = 56; shift >= 0; shift -= 8)
        padded += static_cast<char>(((std::uint64_t{bytes.size()} * 8) >> shift) & 255);
    detail::sha256_state state = detail::root_fractions<8>(false);
    for (std::size_t at = 0; at < padded.size(); at += 64)
        detail::sha256_block(state, reinterpret_cast<unsigned char const*>(padded.data()) + at);
    std::string text;
    for (std::uint32_t const word : state)
        for (int shift = 28; shift >= 0; shift -= 4)
            text += "0123456789abcdef"[(word >> shift) & 15];
    return text;
}

} // namespace reshard::test

#endif
