// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_GGUF_IMPL_GGUF_BLOCKS_IPP
#define RESHARD_FORMAT_GGUF_IMPL_GGUF_BLOCKS_IPP

#include <reshard/copy/byte_float.hpp>
#include <reshard/format/impl/decoded_files.ipp>

#include <boost/endian/conversion.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

/// \file
/// The values in blocks of GGUF's quantised types. Each function computes the values of one block.
///
/// Each product and each difference is rounded to f32 where the package gguf rounds it.
///
/// \par Source the layouts of ggml-common.h in ggml, and gguf/quants.py in gguf 0.19

namespace reshard::detail {

using block_bytes = unsigned char const*;

inline float f16_at(block_bytes bytes) {
    return std::bit_cast<float>(widen<format_f16>(boost::endian::load_little_u16(bytes)));
}

/// Twice the values of the 4-bit float E2M1, whose scale is halved.
inline constexpr std::array<float, 16> doubled_f4 = {0, 1,  2,  3,  4,  6,  8,  12,
                                                     0, -1, -2, -3, -4, -6, -8, -12};

/// The values of the types IQ4_NL and IQ4_XS.
inline constexpr std::array<float, 16> values_of_iq4 = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                        1,    13,   25,  38,  53,  69,  89,  113};

/// The lower halves of `count` bytes, then their upper halves, each as `value(half)`.
inline void decode_halves(block_bytes bytes, int count, float* values, auto&& value) {
    for (int i = 0; i < count; ++i) {
        values[i] = value(bytes[i] & 15, i);
        values[i + count] = value(bytes[i] >> 4, i + count);
    }
}

inline void decode_q4_0(block_bytes block, float* values) {
    float const d = f16_at(block);
    decode_halves(block + 2, 16, values, [d](int q, int) { return static_cast<float>(q - 8) * d; });
}

inline void decode_q4_1(block_bytes block, float* values) {
    float const d = f16_at(block), m = f16_at(block + 2);
    decode_halves(block + 4, 16, values,
                  [d, m](int q, int) { return static_cast<float>(q) * d + m; });
}

/// The fifth bit of a number of 5 bits.
inline int fifth_bit(std::uint32_t bits, int i) { return static_cast<int>(bits >> i & 1) << 4; }

inline void decode_q5_0(block_bytes block, float* values) {
    float const d = f16_at(block);
    std::uint32_t const high = boost::endian::load_little_u32(block + 2);
    decode_halves(block + 6, 16, values, [d, high](int q, int i) {
        return static_cast<float>((q | fifth_bit(high, i)) - 16) * d;
    });
}

inline void decode_q5_1(block_bytes block, float* values) {
    float const d = f16_at(block), m = f16_at(block + 2);
    std::uint32_t const high = boost::endian::load_little_u32(block + 4);
    decode_halves(block + 8, 16, values, [d, m, high](int q, int i) {
        return static_cast<float>(q | fifth_bit(high, i)) * d + m;
    });
}

inline void decode_q8_0(block_bytes block, float* values) {
    float const d = f16_at(block);
    for (int i = 0; i < 32; ++i)
        values[i] = static_cast<float>(static_cast<signed char>(block[2 + i])) * d;
}

inline void decode_iq4_nl(block_bytes block, float* values) {
    float const d = f16_at(block);
    decode_halves(block + 2, 16, values,
                  [d](int q, int) { return d * values_of_iq4[static_cast<std::size_t>(q)]; });
}

inline void decode_mxfp4(block_bytes block, float* values) {
    std::uint32_t const power = block[0];
    float const d = std::bit_cast<float>(power < 2 ? 0x00200000u << power : (power - 1) << 23);
    decode_halves(block + 1, 16, values,
                  [d](int q, int) { return d * doubled_f4[static_cast<std::size_t>(q)]; });
}

/// Half of an E4M3 number without a sign, which is 0 for NaN.
inline float half_e4m3(unsigned bits) {
    constexpr unsigned nan = 0x7f;
    bits &= 0x7f;
    return bits == nan ? 0 : std::bit_cast<float>(widen<format_f8_e4m3>(bits)) * .5f;
}

inline void decode_nvfp4(block_bytes block, float* values) {
    for (int part = 0; part < 4; ++part) {
        float const d = half_e4m3(block[part]);
        decode_halves(block + 4 + 8 * part, 8, values + 16 * part,
                      [d](int q, int) { return d * doubled_f4[static_cast<std::size_t>(q)]; });
    }
}

inline void decode_q2_k(block_bytes block, float* values) {
    block_bytes const scales = block, quarters = block + 16;
    float const d = f16_at(block + 80), least = f16_at(block + 82);
    for (int group = 0; group < 16; ++group) {
        float const scale = d * static_cast<float>(scales[group] & 15);
        float const low = least * static_cast<float>(scales[group] >> 4);
        block_bytes const bytes = quarters + group / 8 * 32 + group % 2 * 16;
        int const shift = group % 8 / 2 * 2;
        for (int i = 0; i < 16; ++i)
            values[16 * group + i] = scale * static_cast<float>(bytes[i] >> shift & 3) - low;
    }
}

inline void decode_q3_k(block_bytes block, float* values) {
    block_bytes const high = block, quarters = block + 32, scales = block + 96;
    float const d = f16_at(block + 108);
    for (int group = 0; group < 16; ++group) {
        int const lower = scales[group % 8] >> group / 8 * 4 & 15;
        int const upper = scales[8 + group % 4] >> group / 4 * 2 & 3;
        float const scale = d * static_cast<float>((lower | upper << 4) - 32);
        block_bytes const bytes = quarters + group / 8 * 32 + group % 2 * 16;
        int const shift = group % 8 / 2 * 2;
        for (int i = 0; i < 16; ++i) {
            int const is_high = high[group % 2 * 16 + i] >> group / 2 & 1;
            int const number = (bytes[i] >> shift & 3) - (is_high ? 0 : 4);
            values[16 * group + i] = scale * static_cast<float>(number);
        }
    }
}

/// The scale and the least value of a group of 32, each of 6 bits.
inline std::pair<int, int> scale_and_least(block_bytes scales, int group) {
    if (group < 4)
        return {scales[group] & 63, scales[group + 4] & 63};
    block_bytes const rest = scales + group - 4;
    return {(rest[8] & 15) | (rest[0] >> 2 & 48), rest[8] >> 4 | (rest[4] >> 2 & 48)};
}

/// Q4_K, and Q5_K with the bits `high`.
inline void decode_with_least(block_bytes block, block_bytes high, block_bytes halves,
                              float* values) {
    float const d = f16_at(block), least = f16_at(block + 2);
    for (int group = 0; group < 8; ++group) {
        auto const [scale_bits, least_bits] = scale_and_least(block + 4, group);
        float const scale = d * static_cast<float>(scale_bits);
        float const low = least * static_cast<float>(least_bits);
        block_bytes const bytes = halves + group / 2 * 32;
        int const shift = group % 2 * 4;
        for (int i = 0; i < 32; ++i) {
            int number = bytes[i] >> shift & 15;
            if (high)
                number |= (high[i] >> group & 1) << 4;
            values[32 * group + i] = scale * static_cast<float>(number) - low;
        }
    }
}

inline void decode_q4_k(block_bytes block, float* values) {
    decode_with_least(block, nullptr, block + 16, values);
}

inline void decode_q5_k(block_bytes block, float* values) {
    decode_with_least(block, block + 16, block + 48, values);
}

inline void decode_q6_k(block_bytes block, float* values) {
    block_bytes const lower = block, upper = block + 128, scales = block + 192;
    float const d = f16_at(block + 208);
    for (int group = 0; group < 16; ++group) {
        float const scale = d * static_cast<float>(static_cast<signed char>(scales[group]));
        int const line = group % 8 / 2; // of 32 values, of a half of the block
        block_bytes const low = lower + group / 8 * 64 + line % 2 * 32 + group % 2 * 16;
        block_bytes const high = upper + group / 8 * 32 + group % 2 * 16;
        for (int i = 0; i < 16; ++i) {
            int const number = (low[i] >> line / 2 * 4 & 15) | (high[i] >> line * 2 & 3) << 4;
            values[16 * group + i] = scale * static_cast<float>(number - 32);
        }
    }
}

inline void decode_iq4_xs(block_bytes block, float* values) {
    float const d = f16_at(block);
    int const upper = block[2] | block[3] << 8;
    for (int group = 0; group < 8; ++group) {
        int const lower = block[4 + group / 2] >> group % 2 * 4 & 15;
        float const scale = d * static_cast<float>((lower | (upper >> 2 * group & 3) << 4) - 32);
        decode_halves(block + 8 + 16 * group, 16, values + 32 * group, [scale](int q, int) {
            return scale * values_of_iq4[static_cast<std::size_t>(q)];
        });
    }
}

/// How a quantised type stores its values.
struct gguf_block {
    index_t elements = 0;                                       ///< that are stored together
    std::uint64_t bytes = 0;                                    ///< in which they are stored
    void (*decode)(block_bytes block, float* values) = nullptr; ///< null: cannot be read
};

/// A quantised tensor of a GGUF file.
class gguf_tensor : public decoded_tensor {
public:
    gguf_tensor(std::filesystem::path file, std::uint64_t begin, gguf_block const& block)
        : file_(std::move(file)), begin_(begin), block_(block) {}

    void read(open_files_of const& files, index_t first, std::span<float> values) const override {
        index_t const number = block_.elements, end = first + std::ssize(values);
        index_t const first_block = first / number, end_block = (end + number - 1) / number;
        std::size_t const size = static_cast<std::size_t>(end_block - first_block) * block_.bytes;
        auto const bytes = std::make_unique_for_overwrite<std::byte[]>(size);
        files[file_].read(begin_ + static_cast<std::uint64_t>(first_block) * block_.bytes,
                          {bytes.get(), size});
        auto const* next = reinterpret_cast<block_bytes>(bytes.get());
        std::array<float, most_elements> decoded;
        for (index_t at = first_block * number; at < end; at += number, next += block_.bytes) {
            if (at >= first && at + number <= end) {
                block_.decode(next, values.data() + (at - first));
                continue;
            }
            block_.decode(next, decoded.data());
            index_t const from = std::max(at, first), to = std::min(at + number, end);
            std::copy(decoded.data() + (from - at), decoded.data() + (to - at),
                      values.data() + (from - first));
        }
    }

    static constexpr std::size_t most_elements = 256; ///< of a block

private:
    std::filesystem::path file_;
    std::uint64_t begin_;
    gguf_block block_;
};

} // namespace reshard::detail

#endif
