// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_IMPL_CONVERSIONS_IPP
#define RESHARD_COPY_IMPL_CONVERSIONS_IPP

#include <reshard/copy/conversions.hpp>

#include <reshard/copy/convert.hpp>
#include <reshard/copy/fast_convert.hpp>
#include <reshard/copy/impl/copy_elements.ipp>
#include <reshard/copy/kernel_convert.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

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

RESHARD_DECL void run(conversion_step const& step, unsigned char const* source,
                      unsigned char* target, index_t count) {
    if (step.computes != chain_step::operation::none)
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
        else
            push_arithmetic(from, step);
        from = step.dtype;
    }
    if (steps.size() == 1 && chain.computes())
        in_registers_ = computing_conversion_of(source, steps[0]);
    else if (count_ == 1)
        in_registers_ = vector_conversion_of(steps_[0].source, steps_[0].target);
}

RESHARD_DECL void conversion::operator()(unsigned char const* source, unsigned char* target,
                                         index_t count) const {
    alignas(64) unsigned char blocks[2][block_bytes];
    for (std::size_t i = 0; i + 1 < count_; ++i) {
        run(steps_[i], source, blocks[i % 2], count);
        source = blocks[i % 2];
    }
    run(steps_[count_ - 1], source, target, count);
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
    steps_[count_++] = {computed, computed, nullptr, step.computes, step.operand};
    if (step.dtype != computed)
        push_cast(computed, step.dtype);
}

RESHARD_DECL block_function conversion::quickest(data_type source, data_type target) {
    block_function const vectors = vector_conversion_of(source, target).block();
    return vectors ? vectors : fast_step(source, target);
}

/// True if the kernel's units are bits.
constexpr bool counts_bits(copy_kernel kernel) {
    return kernel == copy_kernel::packed || kernel == copy_kernel::convert_strided;
}

/// Prepares a copy with casts.
inline prepared_copy prepare_conversion(affine_copy const& fused,
                                        element_conversion const& conversion, stores stores) {
    if (is_complex(conversion.source))
        return prepare_conversion(fuse(by_parts(fused)), by_parts(conversion), stores);
    prepared_copy ready;
    ready.kernel = choose(fused, conversion);
    ready.conversion = detail::conversion(conversion.source, conversion.chain);
    ready.kernels = conversion.kernels;
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
    default: return convert_strided(ready.loop, ready.conversion, ready.sizes, at);
    }
}

RESHARD_DECL conversion_kernels const& all_conversions() {
    static constexpr conversion_kernels kernels{prepare_conversion, run_conversion};
    return kernels;
}

} // namespace reshard::detail

#endif
