// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_QUANTISED_HPP
#define RESHARD_TEST_SUPPORT_QUANTISED_HPP

#include <reshard/copy/convert.hpp>
#include <reshard/copy/quantiser.hpp>
#include <reshard/expr/check.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/expr/permute.hpp>
#include <reshard/expr/quantize.hpp>
#include <reshard/expr/reshape.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Random quantised matrices on all ranks, and what they are dequantized to, element by element.

namespace reshard::test {

/// A matrix with all its elements, equal on every rank.
struct full_matrix {
    data_type dtype{};
    index_vector shape;
    std::vector<std::uint64_t> elements;

    std::uint64_t at(index_t row, index_t column) const {
        return elements[static_cast<std::size_t>(row * shape[1] + column)];
    }
};

/// How the ranks hold a matrix.
enum class cut_type { rows, columns, flat, blocks, first_rank, copies };

/// A rank's shard of a matrix, in memory with gaps between its rows.
struct held_shard {
    shard_descriptor descriptor;
    index_vector shape, strides;
    std::vector<std::byte> bytes;

    held_shard(std::string key, full_matrix const& from, cut_type cut, int rank, int ranks) {
        index_t const rows = from.shape[0], columns = from.shape[1];
        auto const share = [&](index_t extent) { // the last ranks may have none
            index_t const each = (extent + ranks - 1) / ranks;
            index_t const first = std::min(extent, each * rank);
            return std::pair(first, std::min(each, extent - first));
        };
        descriptor = {std::move(key), from.dtype, from.shape, whole(from.shape), {}};
        if (cut == cut_type::rows)
            descriptor.region = {{share(rows).first, 0}, {share(rows).second, columns}};
        if (cut == cut_type::columns)
            descriptor.region = {{0, share(columns).first}, {rows, share(columns).second}};
        if (cut == cut_type::flat)
            descriptor.flat =
                flat_range{share(rows * columns).first,
                           share(rows * columns).first + share(rows * columns).second};
        if (cut == cut_type::blocks && ranks > 1)
            take_blocks(rank, ranks);
        if (cut == cut_type::first_rank && rank > 0)
            descriptor.region.shape[0] = 0;
        shape = local_shape(descriptor);
        strides = row_major_strides(shape);
        if (shape.size() == 2)
            strides[0] += 3;
        bytes.resize(static_cast<std::size_t>((element_count(shape) + 3 * shape[0] + 1) * size()));
        for_each([&](index_t position, index_t row, index_t column) {
            std::uint64_t const element = from.at(row, column);
            std::memcpy(bytes.data() + position * size(), &element,
                        static_cast<std::size_t>(size()));
        });
    }

    /// Every rank has blocks of 2 rows in turn; the last block may be shorter.
    void take_blocks(index_t rank, index_t ranks) {
        index_t const rows = descriptor.global_shape[0], first = 2 * rank, period = 2 * ranks;
        index_t const blocks = rows > first ? (rows - first + period - 1) / period : 0;
        index_t const end = blocks == 0 ? 0 : std::min(rows, first + (blocks - 1) * period + 2);
        descriptor.region.offset[0] = blocks == 0 ? 0 : first;
        descriptor.region.shape[0] = blocks == 0 ? 0 : end - first;
        if (blocks > 1)
            descriptor.cycles = {{0, 2, period}};
    }

    index_t size() const { return bits(descriptor.dtype) / 8; }

    /// Calls `visit(position, row, column)` for each element.
    void for_each(auto const& visit) const {
        index_t const columns = descriptor.region.shape[1];
        for (index_t i = 0; i < element_count(shape); ++i) {
            index_t const number = descriptor.flat ? descriptor.flat->begin + i : i;
            index_t const row = number / columns, column = number % columns;
            index_vector const at = detail::region_index(descriptor.cycles, {row, column});
            visit(descriptor.flat ? i : row * strides[0] + column,
                  descriptor.region.offset[0] + at[0], descriptor.region.offset[1] + at[1]);
        }
    }

    void add_to(const_state_dict& state) const {
        state.add(descriptor, const_tensor_view{bytes.data(), descriptor.dtype, shape, strides});
    }
    void add_to(state_dict& state) {
        state.add(descriptor, tensor_view{bytes.data(), descriptor.dtype, shape, strides});
    }
};

inline const_state_dict state_of(std::initializer_list<held_shard const*> shards) {
    const_state_dict state;
    for (held_shard const* const shard : shards)
        shard->add_to(state);
    return state;
}

/// A random call, equal on every rank.
struct random_call {
    std::mt19937 random;

    index_t below(index_t bound) { return static_cast<index_t>(random()) % bound; }

    template <class T>
    T one_of(std::initializer_list<T> list) {
        return list.begin()[below(static_cast<index_t>(list.size()))];
    }

    full_matrix matrix(data_type dtype, index_vector const& shape) {
        full_matrix made{dtype, shape, {}};
        for (index_t i = 0; i < element_count(shape); ++i)
            made.elements.push_back(random() & ((std::uint64_t{1} << bits(dtype)) - 1));
        return made;
    }
};

inline float as_float(data_type dtype, std::uint64_t element) {
    return std::bit_cast<float>(
        static_cast<std::uint32_t>(reshard::convert(dtype, data_type::f32, element)));
}

/// Element by element: the exact value of the weight times the value of its scale, in f32.
///
/// \param of_scale changes the value of a scale
inline full_matrix dequantized_by_hand(full_matrix const& weights, full_matrix const& scales,
                                       index_t rows, index_t columns, data_type to,
                                       float (*of_scale)(float scale, float number) = nullptr,
                                       float number = 0) {
    full_matrix made{to, weights.shape, {}};
    data_type const type = scales.dtype == data_type::u8 ? data_type::f8_e8m0 : scales.dtype;
    for (index_t i = 0; i < weights.shape[0]; ++i)
        for (index_t j = 0; j < weights.shape[1]; ++j) {
            float scale = as_float(type, scales.at(rows ? i / rows : 0, columns ? j / columns : 0));
            if (of_scale)
                scale = of_scale(scale, number);
            float const product = as_float(weights.dtype, weights.at(i, j)) * scale;
            made.elements.push_back(
                reshard::convert(data_type::f32, to, std::bit_cast<std::uint32_t>(product)));
        }
    return made;
}

/// Two values of 4 bits from each byte, the lower bits first.
inline full_matrix unpacked(full_matrix const& bytes) {
    full_matrix made{data_type::f4, {bytes.shape[0], 2 * bytes.shape[1]}, {}};
    for (std::uint64_t const byte : bytes.elements) {
        made.elements.push_back(byte & 15);
        made.elements.push_back(byte >> 4);
    }
    return made;
}

inline full_matrix transposed(full_matrix const& from) {
    full_matrix turned{from.dtype, {from.shape[1], from.shape[0]}, {}};
    for (index_t j = 0; j < from.shape[1]; ++j)
        for (index_t i = 0; i < from.shape[0]; ++i)
            turned.elements.push_back(from.at(i, j));
    return turned;
}

/// Equal bits, or two NaN.
inline bool is_same(data_type dtype, std::uint64_t a, std::uint64_t b) {
    auto const is_nan = [&](std::uint64_t element) {
        auto const value =
            static_cast<std::uint32_t>(reshard::convert(dtype, data_type::f32, element));
        return (value & 0x7fffffff) > 0x7f800000;
    };
    return a == b || (is_nan(a) && is_nan(b));
}

inline std::size_t wrong_in(held_shard const& shard, full_matrix const& wanted) {
    std::size_t wrong = 0;
    shard.for_each([&](index_t position, index_t row, index_t column) {
        std::uint64_t element = 0;
        std::memcpy(&element, shard.bytes.data() + position * shard.size(),
                    static_cast<std::size_t>(shard.size()));
        wrong += !is_same(wanted.dtype, element, wanted.at(row, column));
    });
    return wrong;
}

/// The call of a seed, before and after: the weights `w`, their scales `s`, and a number `n` by
/// which the scales are multiplied or divided.
struct call_of_seed {
    full_matrix weights, scales, number, wanted;
    index_vector block;
    bool is_packed = false, is_transposed = false, multiplies = false, divides = false;
    cut_type source{}, of_scales{}, target{};

    explicit call_of_seed(std::uint32_t seed) {
        using enum data_type;
        random_call from{std::mt19937(seed)};
        index_vector const shape{from.below(40) + 1, from.below(40) + 1};
        index_t const rows = from.one_of<index_t>({0, 1, 3, 16}),
                      columns = from.one_of<index_t>({0, 1, 4, 32});
        auto const blocks = [](index_t extent, index_t each) {
            return each == 0 ? 1 : (extent + each - 1) / each;
        };
        is_packed = from.below(3) == 0;
        weights =
            from.matrix(is_packed ? u8 : from.one_of({f8_e4m3, f8_e5m2, f8_e4m3fnuz, i8}), shape);
        scales = from.matrix(from.one_of({f32, bf16, f16, f8_e8m0, u8, f8_e4m3}),
                             {blocks(shape[0], rows), blocks(shape[1], columns)});
        number = {f32, {1, 1}, {0x3fa66666}}; // 1.3
        multiplies = from.below(4) == 0;
        divides = !multiplies && from.below(4) == 0;
        data_type const to = from.one_of({bf16, f32, f16});
        float (*const change)(float, float) =
            multiplies ? +[](float scale, float by) { return scale * by; }
            : divides  ? +[](float scale, float by) { return scale / by; }
                       : nullptr;
        wanted = dequantized_by_hand(is_packed ? unpacked(weights) : weights, scales, rows,
                                     is_packed ? 2 * columns : columns, to, change, 1.3F);
        block = {rows, columns};
        source = a_cut(from);
        of_scales = a_cut(from);
        target = a_cut(from);
        is_transposed = from.below(2) == 1;
        if (is_transposed)
            wanted = transposed(wanted);
    }

    static cut_type a_cut(random_call& from) {
        using enum cut_type;
        return from.one_of({cut_type::rows, cut_type::columns, flat, blocks, first_rank, copies});
    }

    mapping made() const {
        mapping program;
        auto const tensor = program.source("w", weights.shape, weights.dtype);
        program.source("s", scales.shape, scales.dtype);
        program.source("n", number.shape, number.dtype);
        using enum detail::relation::kind;
        program.relate({dequantize, "w", "s", block});
        if (multiplies || divides)
            program.relate({divides ? divide : multiply, "s", "n"});
        auto const packing = is_packed ? detail::value_packing::pairs : detail::value_packing::none;
        auto const value = detail::dequantized(tensor, packing, wanted.dtype);
        program.define("w", is_transposed ? permute(value, {1, 0}) : value);
        return program;
    }
};

inline full_matrix zeros_like(full_matrix const& wanted) {
    full_matrix none = wanted;
    none.elements.assign(none.elements.size(), 0);
    return none;
}

/// A scheme, and the extent of which the columns of its matrices are multiples.
struct scheme_case {
    std::string_view name;
    index_t column;
};

inline constexpr scheme_case scheme_cases[] = {
    {"fp8_block", 1},    {"fp8_channel", 1}, {"fp8_tensor", 1}, {"int8_channel", 1},
    {"int4_group", 128}, {"mxfp8", 32},      {"mxfp4", 32},     {"nvfp4", 16},
    {"nf4", 1},          {"q8_0", 32},       {"q4_0", 32},      {"q5_1", 32},
};

/// Random numbers of many magnitudes, without infinities and NaN.
inline full_matrix random_values(random_call& from, data_type dtype, index_vector const& shape) {
    full_matrix result{dtype, shape, {}};
    for (index_t i = 0; i < element_count(shape); ++i) {
        auto const value =
            static_cast<float>(from.below(2001) - 1000) * (from.below(8) == 0 ? 0x1p-20F : 0x1p-3F);
        result.elements.push_back(
            reshard::convert(data_type::f32, dtype, std::bit_cast<std::uint32_t>(value)));
    }
    return result;
}

/// What the scheme makes of all values at once, as matrices. The tests of the quantiser
/// compare it with the libraries.
///
/// \param kept by tensor, empty or the scales to keep
inline std::vector<full_matrix> quantised_whole(full_matrix const& values,
                                                detail::quantiser const& by,
                                                std::vector<full_matrix> const& kept = {}) {
    std::vector<float> elements;
    for (std::uint64_t const element : values.elements)
        elements.push_back(as_float(values.dtype, element));
    std::vector<std::vector<std::byte>> bytes, scales;
    std::vector<std::span<std::byte>> spans;
    std::vector<std::span<std::byte const>> spans_of_scales;
    for (std::size_t which = 0; which < by.tensors().size(); ++which)
        bytes.emplace_back(by.first_byte(which, by.units()));
    for (full_matrix const& which : kept) {
        auto& last = scales.emplace_back();
        for (std::uint64_t const element : which.elements) {
            auto const* const first = reinterpret_cast<std::byte const*>(&element);
            last.insert(last.end(), first, first + bits(which.dtype) / 8);
        }
    }
    for (auto& which : bytes)
        spans.emplace_back(which);
    for (auto& which : scales)
        spans_of_scales.emplace_back(which);
    by.run(0, elements, detail::largest_of(elements), spans, spans_of_scales);
    std::vector<full_matrix> tensors;
    for (std::size_t which = 0; which < bytes.size(); ++which) {
        detail::quantised_tensor const& of = by.tensors()[which];
        std::size_t const size = static_cast<std::size_t>(bits(of.dtype)) / 8;
        index_t const count = element_count(of.shape);
        full_matrix& result = tensors.emplace_back(
            full_matrix{of.dtype, of.shape.size() == 2 ? of.shape : index_vector{1, count}, {}});
        for (std::size_t i = 0; i < bytes[which].size() / size; ++i) {
            std::uint64_t element = 0;
            std::memcpy(&element, bytes[which].data() + i * size, size);
            result.elements.push_back(element);
        }
    }
    return tensors;
}

/// The call of a seed that quantizes: the values `x`, perhaps the scales of other values to keep,
/// and the tensors that its scheme makes.
struct quantize_of_seed {
    struct source_matrix {
        std::string key;
        full_matrix held;
        cut_type cut{};
    };

    std::string_view scheme;
    std::vector<source_matrix> sources; ///< the values first
    bool is_transposed = false;
    std::vector<index_vector> shapes; ///< of the tensors of the scheme
    std::vector<full_matrix> wanted;  ///< by tensor
    std::vector<cut_type> targets;    ///< by tensor

    explicit quantize_of_seed(std::uint32_t seed) {
        random_call from{std::mt19937(seed)};
        scheme_case const& chosen = scheme_cases[seed % std::size(scheme_cases)];
        scheme = chosen.name;
        is_transposed = from.below(2) == 1;
        index_vector const shape{from.below(200) + 1,
                                 (from.below(300) / chosen.column + 1) * chosen.column};
        full_matrix const values = random_values(
            from, from.one_of({data_type::f32, data_type::bf16, data_type::f16}), shape);
        sources.push_back({"x", is_transposed ? transposed(values) : values, a_cut(from)});
        detail::quantiser const by(scheme, shape);
        std::vector<full_matrix> kept;
        if (from.below(2) == 1) {
            kept = quantised_whole(random_values(from, data_type::f32, shape), by);
            for (std::size_t which = 0; which < kept.size(); ++which)
                if (by.tensors()[which].is_scale)
                    sources.push_back({key(which), kept[which], a_cut(from)});
                else
                    kept[which].elements.clear();
        }
        wanted = quantised_whole(values, by, kept);
        for (std::size_t which = 0; which < wanted.size(); ++which) {
            shapes.push_back(by.tensors()[which].shape);
            targets.push_back(a_cut(from));
        }
    }

    static cut_type a_cut(random_call& from) { return call_of_seed::a_cut(from); }

    static std::string key(std::size_t which) { return "w" + std::to_string(which); }

    mapping made() const {
        mapping program;
        std::vector<expression> held;
        for (source_matrix const& each : sources)
            held.push_back(program.source(each.key, each.held.shape, each.held.dtype));
        vector<expression> kept;
        for (std::size_t which = 0; which < wanted.size(); ++which)
            for (std::size_t i = 1; i < sources.size(); ++i)
                if (sources[i].key == key(which))
                    kept.push_back(shapes[which].size() == 2 ? held[i]
                                                             : reshape(held[i], shapes[which]));
        auto const tensors = program.quantized(
            "w", is_transposed ? permute(held[0], {1, 0}) : held[0], scheme, kept);
        for (std::size_t which = 0; which < tensors.size(); ++which)
            program.define(key(which), tensors[which].ndim() == 2
                                           ? tensors[which]
                                           : reshape(tensors[which], wanted[which].shape));
        return program;
    }
};

/// The shards of a rank, of all sources of a call.
inline std::vector<held_shard> shards_of(quantize_of_seed const& call, int rank, int ranks) {
    std::vector<held_shard> shards;
    for (auto const& each : call.sources)
        shards.emplace_back(each.key, each.held, each.cut, rank, ranks);
    return shards;
}

inline const_state_dict state_of(std::vector<held_shard> const& shards) {
    const_state_dict state;
    for (held_shard const& shard : shards)
        shard.add_to(state);
    return state;
}

} // namespace reshard::test

#endif
