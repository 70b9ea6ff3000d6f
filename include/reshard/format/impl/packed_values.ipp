// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_PACKED_VALUES_IPP
#define RESHARD_FORMAT_IMPL_PACKED_VALUES_IPP

#include <reshard/copy/convert.hpp>
#include <reshard/copy/fast_convert.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/format/impl/decoded_files.ipp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

/// \file
/// The values of tensors whose elements are packed: several numbers of 4 or 8 bits in an element,
/// with scales, and maybe zero points, of their own.

namespace reshard::detail {

/// Whether elements of that type may be scales: f16, bf16, f32 and floats of 8 bits.
constexpr bool is_scale(data_type dtype) {
    return dtype == data_type::f32 || dtype == data_type::f16 || dtype == data_type::bf16 ||
           (is_floating(dtype) && bits(dtype) == 8);
}

/// The values of E8M0.
inline constexpr auto powers_of_two = [] {
    std::array<float, 256> values{};
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = std::bit_cast<float>(
            static_cast<std::uint32_t>(convert(data_type::f8_e8m0, data_type::f32, i)));
    return values;
}();

/// A tensor that a packed tensor needs, or the packed tensor: row-major, in one file.
struct stored_array {
    std::string key;
    data_type dtype{};
    index_vector shape;
    std::filesystem::path file;
    std::uint64_t begin = 0;

    /// The bytes of `count` elements from `first` on.
    vector<std::byte> read(open_files_of const& files, index_t first, index_t count) const {
        auto const width = static_cast<std::uint64_t>(bits(dtype)) / 8;
        vector<std::byte> bytes(static_cast<std::size_t>(count) * width);
        files[file].read(begin + static_cast<std::uint64_t>(first) * width, bytes);
        return bytes;
    }

    /// Elements of a type that has no more bits than `Number`.
    template <class Number>
    vector<Number> numbers(open_files_of const& files, index_t first, index_t count) const {
        vector<std::byte> const bytes = read(files, first, count);
        vector<Number> values(static_cast<std::size_t>(count));
        std::memcpy(values.data(), bytes.data(), bytes.size());
        return values;
    }

    /// Elements in f32; u8 are powers of two (E8M0).
    ///
    /// \pre `is_scale(dtype)`, or u8
    vector<float> floats(open_files_of const& files, index_t first, index_t count) const {
        if (dtype == data_type::f32)
            return numbers<float>(files, first, count);
        vector<std::byte> const bytes = read(files, first, count);
        vector<float> values(static_cast<std::size_t>(count));
        if (bits(dtype) == 8 && !find_byte_float(dtype)) {
            for (std::size_t i = 0; i < values.size(); ++i)
                values[i] = powers_of_two[std::to_integer<std::size_t>(bytes[i])];
            return values;
        }
        to_f32(dtype)(find_byte_float(dtype), reinterpret_cast<unsigned char const*>(bytes.data()),
                      reinterpret_cast<unsigned char*>(values.data()), count);
        return values;
    }
};

/// Numbers for the blocks from `first` to `end - 1` of a tensor.
using numbers_of_blocks =
    std::function<vector<float>(open_files_of const& files, index_t first, index_t end)>;

/// Packed numbers whose blocks are runs of a tensor's elements in row-major order:
/// `(table[number] - zero) * scale`.
class packed_runs : public decoded_tensor {
public:
    stored_array numbers;
    bool is_high_first = false; ///< the first number of a byte is in its upper half
    vector<float> table;        ///< the value of each number: 16 or 256 values
    index_t block = 0;
    numbers_of_blocks scales;
    numbers_of_blocks zeros{};
    float factor = 1; ///< of each product; bitsandbytes has scales for numbers up to 127

    void read(open_files_of const& files, index_t first, std::span<float> values) const override {
        index_t const a_byte = table.size() == 16 ? 2 : 1, end = first + std::ssize(values);
        index_t const begin_byte = first / a_byte;
        stored_array byte_array = numbers;
        byte_array.dtype = data_type::u8;
        auto const bytes =
            byte_array.read(files, begin_byte, (end + a_byte - 1) / a_byte - begin_byte);
        index_t const begin_block = first / block, end_block = (end + block - 1) / block;
        vector<float> const scale = scales(files, begin_block, end_block);
        vector<float> const zero =
            zeros ? zeros(files, begin_block, end_block) : vector<float>(scale.size());
        value_pairs const pairs = all_pairs();
        constexpr index_t most = 512; // values that stay in the first-level cache
        std::size_t k = 0;
        for (index_t at = first, next = at; at < end; at = next) {
            next = std::min(at + most, end);
            float* const piece = values.data() + (at - first);
            look_up(reinterpret_cast<unsigned char const*>(bytes.data()), pairs,
                    at - begin_byte * a_byte, {piece, static_cast<std::size_t>(next - at)});
            for (index_t from = at, to = at; from < next; from = to) {
                index_t const end_of_block = (begin_block + static_cast<index_t>(k) + 1) * block;
                to = std::min(end_of_block, next);
                for (float& value :
                     std::span(piece + (from - at), static_cast<std::size_t>(to - from)))
                    value = (value - zero[k]) * scale[k] * factor;
                k += to == end_of_block;
            }
        }
    }

private:
    using value_pairs = std::array<std::array<float, 2>, 256>;

    /// The two values of each byte of two numbers.
    value_pairs all_pairs() const {
        value_pairs pairs{};
        if (table.size() == 16)
            for (std::size_t i = 0; i < pairs.size(); ++i)
                pairs[i] = is_high_first ? std::array{table[i >> 4], table[i & 15]}
                                         : std::array{table[i & 15], table[i >> 4]};
        return pairs;
    }

    /// The values of the numbers from number `first` of `bytes` on.
    void look_up(unsigned char const* bytes, value_pairs const& pairs, index_t first,
                 std::span<float> values) const {
        if (table.size() != 16) {
            for (std::size_t i = 0; i < values.size(); ++i)
                values[i] = table[bytes[static_cast<std::size_t>(first) + i]];
            return;
        }
        bytes += first / 2;
        std::size_t i = 0;
        if (first % 2 != 0)
            values[i++] = pairs[*bytes++][1];
        for (; i + 1 < values.size(); i += 2)
            std::memcpy(values.data() + i, pairs[*bytes++].data(), 2 * sizeof(float));
        if (i < values.size())
            values[i] = pairs[*bytes][0];
    }
};

/// The matrices of AWQ and GPTQ, `[in, out]`, in words of 32 bits. Rows are in groups with a scale
/// and a zero point for each column: `(number - zero) * scale`.
class packed_rows : public decoded_tensor {
public:
    stored_array words, zeros, scales;
    std::optional<stored_array> groups{}; ///< the group of each row
    int bits = 4;
    bool is_awq = false;     ///< words have 8 numbers of a row; else numbers of a column
    std::uint32_t added = 0; ///< to each zero point: 1 in the first format of GPTQ
    index_t group_rows = 0;
    index_t columns = 0;

    void read(open_files_of const& files, index_t first, std::span<float> values) const override {
        if (values.empty())
            return;
        index_t const end = first + std::ssize(values), a_word = 32 / bits;
        index_t const first_row = first / columns, end_row = (end + columns - 1) / columns;
        index_t const row_words = is_awq ? columns / a_word : columns;
        index_t const rows_a_line = is_awq ? 1 : a_word;
        index_t const first_line = first_row / rows_a_line;
        index_t const lines = (end_row + rows_a_line - 1) / rows_a_line - first_line;
        auto const packed =
            words.numbers<std::uint32_t>(files, first_line * row_words, lines * row_words);
        vector<std::int32_t> const group =
            groups ? groups->numbers<std::int32_t>(files, first_row, end_row - first_row)
                   : vector<std::int32_t>();
        std::map<index_t, group_numbers> cache;
        for (index_t row = first_row; row < end_row; ++row) {
            index_t const number =
                groups ? group[static_cast<std::size_t>(row - first_row)] : row / group_rows;
            group_numbers const& of_group = numbers_of(files, number, row, cache);
            std::uint32_t const* const line =
                packed.data() + (row / rows_a_line - first_line) * row_words;
            index_t const from = std::max(first, row * columns) - row * columns;
            index_t const to = std::min(end, (row + 1) * columns) - row * columns;
            float* const target = values.data() + (row * columns - first);
            if (is_awq)
                decode<true>(line, 0, of_group, from, to, target);
            else
                decode<false>(line, static_cast<int>(row % a_word) * bits, of_group, from, to,
                              target);
        }
    }

private:
    struct group_numbers {
        vector<float> zeros, scales;
    };

    /// The bits at which AWQ has number `i` of a word.
    ///
    /// \par Source `AWQ_REVERSE_ORDER` of AutoAWQ
    static int awq_shift(index_t i) {
        constexpr int order[] = {0, 4, 1, 5, 2, 6, 3, 7};
        return order[i] * 4;
    }

    template <bool InRow>
    void decode(std::uint32_t const* line, int shift, group_numbers const& of_group, index_t from,
                index_t to, float* target) const {
        std::uint32_t const mask = (1u << bits) - 1;
        index_t const a_word = 32 / bits;
        for (index_t i = from; i < to; ++i) {
            std::uint32_t const word = line[InRow ? i / a_word : i];
            std::uint32_t const number = word >> (InRow ? awq_shift(i % a_word) : shift) & mask;
            auto const k = static_cast<std::size_t>(i);
            target[i] = (static_cast<float>(number) - of_group.zeros[k]) * of_group.scales[k];
        }
    }

    group_numbers const& numbers_of(open_files_of const& files, index_t group, index_t row,
                                    std::map<index_t, group_numbers>& cache) const {
        auto const [match, is_new] = cache.try_emplace(group);
        if (!is_new)
            return match->second;
        if (group < 0 || group >= scales.shape[0])
            fail(errc::corrupt_file, groups->file.string(), ": tensor '", groups->key, "': row ",
                 row, " belongs to group ", group, ", but '", scales.key, "' has ", scales.shape[0],
                 " groups");
        index_t const a_word = 32 / bits, row_words = columns / a_word;
        std::uint32_t const mask = (1u << bits) - 1;
        auto const packed = zeros.numbers<std::uint32_t>(files, group * row_words, row_words);
        group_numbers& numbers = match->second;
        numbers.scales = scales.floats(files, group * columns, columns);
        for (index_t i = 0; i < columns; ++i) {
            std::uint32_t const word = packed[static_cast<std::size_t>(i / a_word)];
            int const shift = is_awq ? awq_shift(i % a_word) : static_cast<int>(i % a_word) * bits;
            numbers.zeros.push_back(static_cast<float>(((word >> shift) + added) & mask));
        }
        return numbers;
    }
};

} // namespace reshard::detail

#endif
