// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_UNIT_COPY_VECTOR_SUPPORT_HPP
#define RESHARD_TEST_UNIT_COPY_VECTOR_SUPPORT_HPP

#include <reshard/copy/convert.hpp>
#include <reshard/copy/kernel_convert.hpp>

#include "vector_sets.hpp"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <random>
#include <string>
#include <vector>

/// \file
/// The casts in registers, what to give them, and whether the result is exact.

namespace reshard::test {

using namespace reshard::detail;

struct pair_of_types {
    data_type source;
    data_type target;

    index_t source_size() const { return bits(source) / 8; }
    index_t target_size() const { return bits(target) / 8; }
    detail::vector_conversion vectors(detail::vector_set set) const {
        return detail::vector_conversion_of(source, target, set);
    }
    std::string text() const {
        return std::string(name(source)) + " to " + std::string(name(target));
    }
};

/// Every pair of the table that casts, as the table's documentation lists them.
inline std::vector<pair_of_types> casts() {
    using enum data_type;
    return {{f32, bf16},     {bf16, f32},     {f32, f16},          {f16, f32},
            {f64, f32},      {f32, f64},      {f16, bf16},         {bf16, f16},
            {f8_e4m3, f32},  {f8_e5m2, f32},  {f8_e4m3fnuz, f32},  {f8_e5m2fnuz, f32},
            {f8_e4m3, bf16}, {f8_e5m2, bf16}, {f8_e4m3fnuz, bf16}, {f8_e5m2fnuz, bf16}};
}

/// The kinds of registers that are tested wherever the processor has them, not only those that are chosen.
inline constexpr detail::vector_set all_vectors[] = {detail::vector_set::avx2,
                                                     detail::vector_set::avx512};

/// True if the processor has the registers; else says so, and tests that there are no casts in
/// them.
inline bool can_test(detail::vector_set set) {
    if (detail::has(set))
        return true;
    BOOST_TEST_MESSAGE("this processor has no " + text(set));
    BOOST_TEST(!detail::vector_conversion_of(data_type::f32, data_type::bf16, set));
    return false;
}

/// The modes of arithmetic in which programs run: the usual one, and the one of programs built for
/// speed, which flush subnormals to zero.
inline constexpr unsigned flushing = 0x9fc0, usual = 0x1f80;

/// Sets the mode while it lives.
class arithmetic {
public:
#if defined(__SSE2__)
    explicit arithmetic(unsigned mode) : saved_(__builtin_ia32_stmxcsr()) {
        __builtin_ia32_ldmxcsr(mode);
    }
    ~arithmetic() { __builtin_ia32_ldmxcsr(saved_); }

private:
    unsigned saved_;
#else
    explicit arithmetic(unsigned) {}
#endif
};

inline std::uint64_t element(unsigned char const* data, index_t i, index_t size) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, data + i * size, static_cast<std::size_t>(size));
    return bits;
}

/// The exact conversion of `count` elements.
inline std::vector<unsigned char> expected(pair_of_types const& cast, unsigned char const* source,
                                           index_t count) {
    std::vector<unsigned char> result(static_cast<std::size_t>(count * cast.target_size()));
    for (index_t i = 0; i < count; ++i) {
        std::uint64_t const index =
            convert(cast.source, cast.target, element(source, i, cast.source_size()));
        std::memcpy(result.data() + i * cast.target_size(), &index,
                    static_cast<std::size_t>(cast.target_size()));
    }
    return result;
}

/// How many patterns of f32 are tried beside those that matter most. Sanitizers check every access, for which
/// fewer do.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr std::uint32_t spread_patterns = 1u << 14;
#else
inline constexpr std::uint32_t spread_patterns = 1u << 22;
#endif
#else
inline constexpr std::uint32_t spread_patterns = 1u << 22;
#endif

/// Elements to convert: every pattern of a type of up to 16 bits, in an order that mixes ordinary
/// vectors with those that have NaNs; of f32 and f64 patterns from everywhere, and the neighbours of those
/// at which something changes.
class patterns {
public:
    explicit patterns(data_type type) : size_(bits(type) / 8) {
        if (size_ <= 2) {
            for (std::uint64_t i = 0; i < std::uint64_t{1} << (8 * size_); ++i)
                push(i);
        } else if (type == data_type::f32) {
            push_f32();
        } else {
            push_f64();
        }
        while (count() % 128 != 0)
            push(0);
    }

    index_t count() const { return static_cast<index_t>(data_.size()) / size_; }
    unsigned char const* data() const { return data_.data(); }

private:
    void push(std::uint64_t value) {
        for (index_t i = 0; i < size_; ++i)
            data_.push_back(static_cast<unsigned char>(value >> (8 * i)));
    }

    /// Even steps through all patterns, with every kind of lower bits, and the places at which any narrower type rounds,
    /// ties, overflows or becomes subnormal: all signs and exponents with few bits of the fraction set.
    void push_f32() {
        constexpr std::uint32_t stride = ~0u / spread_patterns | 1;
        for (std::uint32_t i = 0; i < spread_patterns; ++i)
            push(i * stride);
        for (std::uint64_t top = 0; top < 512; ++top)
            for (std::uint64_t const base : {0x000000u, 0x400000u, 0x7fe000u, 0x7f0000u, 0x7fffffu})
                for (int bit = 0; bit <= 23; ++bit)
                    for (std::uint64_t const step : {0u, 1u, ~0u}) {
                        std::uint64_t const fraction = bit == 23 ? base : base ^ (1u << bit);
                        push(((top << 23 | fraction) + step) & 0xffffffffu);
                    }
    }

    /// The same about f32: near every exponent of it and beyond, and with any bits below its last one.
    void push_f64() {
        std::mt19937_64 random(64);
        for (std::uint64_t sign = 0; sign < 2; ++sign)
            for (std::uint64_t exponent = 0; exponent < 2048; ++exponent)
                for (std::uint64_t i = 0; i < 200; ++i) {
                    std::uint64_t const upper = i % 4 == 0 ? 0 : random() & 0xfffffe0000000;
                    std::uint64_t const lower = i % 5 == 0   ? 0x10000000u
                                                : i % 5 == 1 ? 0x0fffffffu
                                                : i % 5 == 2 ? 0x10000001u
                                                : i % 5 == 3 ? 0
                                                             : random() & 0x1fffffff;
                    push(sign << 63 | exponent << 52 | (i % 40 == 3 ? 0xfffffe0000000 : upper) |
                         lower);
                }
    }

    index_t size_;
    std::vector<unsigned char> data_;
};

/// The address in `memory` that is `skew` bytes after a line of the cache.
inline unsigned char* skewed(std::vector<unsigned char>& memory, index_t skew) {
    return memory.data() + detail::bytes_to_line(memory.data()) + skew;
}

} // namespace reshard::test

#endif
