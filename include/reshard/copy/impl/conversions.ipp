// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_IMPL_CONVERSIONS_IPP
#define RESHARD_COPY_IMPL_CONVERSIONS_IPP

#include <reshard/copy/conversions.hpp>

#include <reshard/copy/convert.hpp>
#include <reshard/copy/fast_convert.hpp>
#include <reshard/copy/impl/copy_elements.ipp>
#include <reshard/copy/kernel_convert.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iterator>
#include <numeric>
#include <optional>

namespace reshard::detail {

/// The number of bytes of an element in a dense block. Even a 4-bit element has a byte.
constexpr index_t block_element_bytes(data_type dtype) {
    return bits(dtype) < 8 ? 1 : bits(dtype) / 8;
}

/// Converts elements one by one through exact numbers, for any pair of types.
inline void convert_exactly(data_type source, data_type target, unsigned char const* elements,
                            unsigned char* result, index_t count) {
    auto const source_bytes = static_cast<std::size_t>(block_element_bytes(source));
    auto const target_bytes = static_cast<std::size_t>(block_element_bytes(target));
    static_assert(std::endian::native == std::endian::little);
    for (index_t i = 0; i < count; ++i, elements += source_bytes, result += target_bytes) {
        std::uint64_t element = 0;
        std::memcpy(&element, elements, source_bytes);
        element = convert(source, target, element);
        std::memcpy(result, &element, target_bytes);
    }
}

/// Multiplies or adds to a dense block of floats or doubles. `source` may be `target`.
template <class T>
void compute(conversion_step const& step, unsigned char const* source, unsigned char* target,
             index_t count) {
    auto const operand = static_cast<T>(step.operand);
    auto const for_each = [&](auto const& function) {
        for (index_t i = 0; i < count; ++i) {
            T value;
            std::memcpy(&value, source + i * index_t{sizeof value}, sizeof value);
            value = function(value);
            std::memcpy(target + i * index_t{sizeof value}, &value, sizeof value);
        }
    };
    if (step.computes == chain_step::operation::add)
        for_each([operand](T value) { return value + operand; });
    else
        for_each([operand](T value) { return value * operand; });
}

/// Takes the 4 bits from bit `first` on of each byte.
inline void unpack(unsigned char const* source, unsigned char* target, index_t count, int first) {
    for (index_t i = 0; i < count; ++i)
        target[i] = static_cast<unsigned char>(source[i] >> first & 15);
}

/// Multiplies each float of a dense block by its scale. `source` may be `target`.
inline void multiply(float const* scales, unsigned char const* source, unsigned char* target,
                     index_t count) {
    for (index_t i = 0; i < count; ++i) {
        float value;
        std::memcpy(&value, source + i * index_t{sizeof value}, sizeof value);
        value *= scales[i];
        std::memcpy(target + i * index_t{sizeof value}, &value, sizeof value);
    }
}

RESHARD_DECL void run(conversion_step const& step, memory const& at, index_t count,
                      float const* scales) {
    auto const [source, target, streaming] = at;
    if (step.computes == chain_step::operation::dequantize && step.operand != 0)
        unpack(source, target, count, step.operand == 1 ? 0 : 4);
    else if (step.scale)
        step.scale({find_byte_float(step.source), false, 1, scales, source}, source, target, count,
                   streaming);
    else if (step.computes == chain_step::operation::dequantize)
        multiply(scales, source, target, count);
    else if (step.computes != chain_step::operation::none)
        step.source == data_type::f64 ? compute<double>(step, source, target, count)
                                      : compute<float>(step, source, target, count);
    else if (step.fast)
        step.fast(find_byte_float(step.source), source, target, count);
    else
        convert_exactly(step.source, step.target, source, target, count);
}

RESHARD_DECL conversion::conversion(data_type source, step_chain const& chain) {
    chain_steps const steps = chain.steps();
    data_type from = source;
    for (chain_step const& step : steps) {
        if (step.computes == chain_step::operation::none)
            push_cast(from, step.dtype);
        else if (step.computes == chain_step::operation::dequantize)
            push_scales(from, step);
        else
            push_arithmetic(from, step);
        from = step.dtype;
    }
    if (steps.size() == 1 && chain.computes() && !chain.dequantizes())
        in_registers_ = computing_conversion_of(source, steps[0]);
    else if (count_ == 1)
        in_registers_ = vector_conversion_of(steps_[0].source, steps_[0].target);
}

RESHARD_DECL void conversion::operator()(unsigned char const* source, unsigned char* target,
                                         index_t count, float const* scales, bool streaming) const {
    alignas(64) unsigned char blocks[2][block_bytes];
    for (std::size_t i = 0; i + 1 < count_; ++i) {
        run(steps_[i], {source, blocks[i % 2], false}, count, scales);
        source = blocks[i % 2];
    }
    run(steps_[count_ - 1], {source, target, streaming}, count, scales);
}

RESHARD_DECL void conversion::push_cast(data_type source, data_type target) {
    check_castable(source, target);
    bool const is_exact_as_f32 = source != data_type::f64 && to_f32(source) != nullptr;
    if (!quickest(source, target) && is_exact_as_f32 && from_f32(target)) {
        push_step(source, data_type::f32);
        push_step(data_type::f32, target);
    } else {
        push_step(source, target);
    }
}

RESHARD_DECL void conversion::push_arithmetic(data_type source, chain_step const& step) {
    data_type const computed = computing_type(source, step.dtype);
    if (source != computed)
        push_cast(source, computed);
    steps_[count_++] = {computed, computed, nullptr, step.computes, step.operand, nullptr};
    if (step.dtype != computed)
        push_cast(computed, step.dtype);
}

RESHARD_DECL void conversion::push_scales(data_type source, chain_step const& step) {
    using enum data_type;
    constexpr auto dequantize = chain_step::operation::dequantize;
    if (step.operand != 0) {
        if (source != u8)
            fail(errc::bad_layout, "packed values of 4 bits are in bytes, not in ", source);
        steps_[count_++] = {u8, f4, nullptr, dequantize, step.operand, nullptr};
        source = f4;
    }
    if (auto const direct = scale_function_of(source, step.dtype)) {
        steps_[count_++] = {source, step.dtype, nullptr, dequantize, 0, direct};
        return;
    }
    push_cast(source, f32);
    if (auto const rounds = scale_function_of(f32, step.dtype)) {
        steps_[count_++] = {f32, step.dtype, nullptr, dequantize, 0, rounds};
        return;
    }
    steps_[count_++] = {f32, f32, nullptr, dequantize, 0, nullptr};
    if (step.dtype != f32)
        push_cast(f32, step.dtype);
}

RESHARD_DECL block_function conversion::quickest(data_type source, data_type target) {
    block_function const vectors = vector_conversion_of(source, target).block();
    return vectors ? vectors : fast_step(source, target);
}

/// True if the kernel's units are bits.
constexpr bool counts_bits(copy_kernel kernel) {
    return kernel == copy_kernel::packed || kernel == copy_kernel::convert_strided ||
           kernel == copy_kernel::convert_scaled;
}

/// Calls `visit(scale, count)` for each run of elements that share a scale, from `position` on and
/// along one axis. Returns the number of elements.
index_t for_each_run(element_scales const& scales, index_t position, index_t stride, index_t count,
                     auto&& visit) {
    auto const& axes = scales.axes;
    index_t index[max_ndim] = {};
    for (std::size_t axis = 0; axis < axes.size(); ++axis)
        index[axis] = axes[axis].first;
    element_scales::memory_axis const* along = nullptr; ///< the axis along which the elements lie
    index_t step = 0;  ///< between two of them, in elements of that axis
    index_t steps = 1; ///< the number of elements until the end of that axis
    position += scales.offset;
    for (element_scales::memory_axis const& axis : scales.memory) {
        index_t const at = position / axis.stride;
        position %= axis.stride;
        index[axis.axis] += at * axis.distance;
        if (along || stride % axis.stride != 0)
            continue;
        along = &axis;
        step = stride / axis.stride;
        steps = step == 0 ? count : step > 0 ? (axis.extent - 1 - at) / step + 1 : at / -step + 1;
    }
    steps = std::min(steps, count);
    std::size_t const moving = along ? along->axis : 0;
    index_t number = -scales.origin;
    for (std::size_t axis = 0; axis < axes.size(); ++axis)
        if (auto const& scaled = axes[axis]; scaled.block > 0 && (!along || axis != moving))
            number += index[axis] / scaled.block * scaled.step;
    if (!along || axes[moving].block == 0) {
        visit(scales.values + number, steps);
        return steps;
    }
    auto const [first, block, between] = axes[moving];
    index_t const distance = step * along->distance;
    if (distance == 1) {
        number += index[moving] / block * between;
        index_t run = std::min(block - index[moving] % block, steps);
        for (index_t done = 0; done < steps; number += between) {
            visit(scales.values + number, run);
            done += run;
            run = std::min(block, steps - done);
        }
        return steps;
    }
    for (index_t done = 0, at = index[moving]; done < steps;) {
        index_t const left = distance == 0  ? steps
                             : distance > 0 ? (block - 1 - at % block) / distance + 1
                                            : at % block / -distance + 1;
        index_t const run = std::min(left, steps - done);
        visit(scales.values + number + at / block * between, run);
        done += run;
        at += run * distance;
    }
    return steps;
}

RESHARD_DECL index_t element_scales::fill_run(index_t position, index_t stride, index_t count,
                                              float* result) const {
    return for_each_run(*this, position, stride, count, [&](float const* scale, index_t run) {
        result = std::fill_n(result, run, *scale);
    });
}

RESHARD_DECL void element_scales::fill(index_t position, index_t stride, index_t count,
                                       float* result) const {
    for (index_t done = 0; done < count;)
        done += fill_run(position + done * stride, stride, count - done, result + done);
}

/// Lookup tables of products: all values of a float of a byte, times one scale, in 16 bits. With
/// them, runs of elements that share a scale are cast by a table.
class product_tables {
    static constexpr index_t patterns = 256;

public:
    explicit product_tables(prepared_copy const& ready)
        : conversion_(ready.conversion),
          streaming_(ready.streaming),
          cast_(vector_conversion_of(data_type::f8_e4m3, data_type::bf16)),
          are_useful_(cast_) {}

    /// True if making tables costs less than it saves.
    static bool is_worth(prepared_copy const& ready) {
        constexpr index_t least = 4 * patterns;
        if (ready.sizes.source != 8 || ready.sizes.target != 16)
            return false;
        index_t elements = 1, of_scale = 1;
        for (index_t const extent : ready.loop.extent)
            elements = std::min(least, elements * std::min(least, extent));
        for (element_scales::scaled_axis const& axis : ready.given.scales->axes)
            of_scale =
                std::min(least, of_scale * std::min(least, axis.block > 0 ? axis.block : least));
        return elements >= least && of_scale >= least;
    }

    /// False after a scale whose products no table has.
    bool are_useful() const { return are_useful_; }

    void convert(float const* scale, unsigned char const* source, unsigned char* target,
                 index_t elements) {
        table& of_scale = table_of(scale);
        if (of_scale.is_useful)
            return of_scale.cast.row(source, target, elements, streaming_);
        are_useful_ = false; // negative, subnormal or too large, or not of floats of a byte
        constexpr index_t piece = conversion::block_elements;
        for_each_piece(elements, piece, piece, [&](index_t begin, index_t end) {
            std::fill_n(scales_, end - begin, *scale);
            conversion_(source + begin, target + 2 * begin, end - begin, scales_);
        });
    }

private:
    struct table {
        float const* scale = nullptr;
        bool is_useful = false;
        byte_float products;
        vector_conversion cast; ///< with these products
    };

    /// The table of a scale, which is filled again if another scale had it.
    table& table_of(float const* scale) {
        table*& own = by_address_[reinterpret_cast<std::uintptr_t>(scale) / sizeof(float) %
                                  by_address_.size()];
        if (!own)
            own = &tables_.emplace_back();
        table& of_scale = *own;
        if (of_scale.scale != scale)
            make(of_scale, scale);
        return of_scale;
    }

    void make(table& of_scale, float const* scale) {
        unsigned char numbers[patterns];
        std::iota(std::begin(numbers), std::end(numbers), static_cast<unsigned char>(0));
        std::fill_n(scales_, patterns, *scale);
        auto& products = of_scale.products.bf16;
        conversion_(numbers, reinterpret_cast<unsigned char*>(products.data()), patterns, scales_);
        of_scale.scale = scale;
        of_scale.is_useful = of_scale.products.divide();
        of_scale.cast = cast_.with(&of_scale.products);
    }

    detail::conversion const& conversion_;
    bool streaming_;
    vector_conversion cast_; ///< of a float of a byte, by the table of its format
    bool are_useful_;
    std::deque<table> tables_;
    std::array<table*, 1024> by_address_{}; ///< of the scale
    alignas(line_bytes) float scales_[conversion::block_elements + 64];
};

/// Converts elements with any strides and of any size, and multiplies them by their scales.
inline void convert_scaled(prepared_copy const& ready, memory const& at) {
    float_environment const as_usual;
    constexpr index_t piece = conversion::block_elements;
    alignas(line_bytes) unsigned char block[conversion::block_bytes];
    alignas(line_bytes) unsigned char converted[conversion::block_bytes];
    alignas(line_bytes) float scales[piece + 64] = {};
    affine_copy const& loop = ready.loop;
    std::size_t const last = loop.ndim() - 1;
    index_t const source_bits = ready.sizes.source, target_bits = ready.sizes.target;
    bit_line from{0, loop.source_strides[last], source_bits};
    bit_line to{0, loop.target_strides[last], target_bits};
    bool const is_run = from.stride == source_bits && source_bits >= 8,
               makes_run = to.stride == target_bits && target_bits >= 8,
               streaming = at.streaming && makes_run;
    auto const base =
        static_cast<index_t>(reinterpret_cast<std::uintptr_t>(at.source) - ready.given.first) * 8;
    std::optional<product_tables> tables;
    if (product_tables::is_worth(ready))
        tables.emplace(ready);
    auto const by_tables = [&](unsigned char const* source, unsigned char* target) {
        for (index_t left = loop.extent[last]; left > 0;)
            left -= for_each_run(*ready.given.scales, base / 8 + (source - at.source), 1, left,
                                 [&](float const* scale, index_t count) {
                                     tables->convert(scale, source, target, count);
                                     source += count;
                                     target += 2 * count;
                                 });
    };
    auto const convert_line = [&](index_t source, index_t target) {
        if (is_run && makes_run && tables && tables->are_useful())
            return by_tables(at.source + source / 8, at.target + target / 8);
        index_t const first =
            streaming ? elements_to_line(at.target + target / 8, target_bits / 8, piece) : piece;
        for_each_piece(loop.extent[last], first, piece, [&](index_t begin, index_t end) {
            index_t const count = end - begin;
            from.position = source + begin * from.stride;
            to.position = target + begin * to.stride;
            ready.given.scales->fill((base + from.position) / source_bits,
                                     from.stride / source_bits, count, scales);
            if (!is_run)
                gather(at.source, from, count, block);
            unsigned char* const result = makes_run ? at.target + to.position / 8 : converted;
            ready.conversion(is_run ? at.source + from.position / 8 : block, result, count, scales,
                             streaming);
            if (!makes_run)
                scatter(converted, count, to, at.target);
        });
    };
    for_each_place(loop, last, place_visitor(convert_line));
}

/// Prepares a copy with casts.
inline prepared_copy prepare_conversion(affine_copy const& fused,
                                        element_conversion const& conversion, stores stores) {
    if (is_complex(conversion.source))
        return prepare_conversion(fuse(by_parts(fused)), by_parts(conversion), stores);
    prepared_copy ready;
    ready.kernel = choose(fused, conversion);
    ready.conversion = detail::conversion(conversion.source, conversion.chain);
    ready.given = conversion;
    if (ready.kernel == copy_kernel::nothing)
        return ready;
    ready.streaming = is_streaming(byte_count(element_count(fused), conversion.target()), stores);
    index_t const unit = counts_bits(ready.kernel) ? 1 : 8;
    ready.sizes = {bits(conversion.source) / unit, bits(conversion.target()) / unit};
    ready.loop = scaled(arranged(fused, ready.kernel), ready.sizes);
    return ready;
}

/// Runs a copy with casts.
inline void run_conversion(prepared_copy const& ready, memory const& at) {
    switch (ready.kernel) {
    case copy_kernel::convert_rows:
        return convert_rows(ready.loop, ready.conversion, ready.sizes, at);
    case copy_kernel::convert_transposed:
        return convert_transposed(ready.loop, ready.conversion, ready.sizes, at);
    case copy_kernel::convert_scaled: return convert_scaled(ready, at);
    default: return convert_strided(ready.loop, ready.conversion, ready.sizes, at);
    }
}

RESHARD_DECL conversion_kernels const& all_conversions() {
    static constexpr conversion_kernels kernels{prepare_conversion, run_conversion};
    return kernels;
}

} // namespace reshard::detail

#endif
