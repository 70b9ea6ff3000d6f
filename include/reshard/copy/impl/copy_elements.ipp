// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_IMPL_COPY_ELEMENTS_IPP
#define RESHARD_COPY_IMPL_COPY_ELEMENTS_IPP

#include <reshard/copy/copy_elements.hpp>

#include <reshard/copy/convert.hpp>
#include <reshard/copy/fast_convert.hpp>
#include <reshard/copy/kernel_convert.hpp>
#include <reshard/copy/kernel_elements.hpp>

#include <boost/assert.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace reshard::detail {

/// Bytes of one element in a dense block, in which even a 4 bit element has its own byte.
constexpr index_t block_element_bytes(data_type dtype) {
    return bits(dtype) < 8 ? 1 : bits(dtype) / 8;
}

/// Converts element by element through exact numbers, for any pair of types.
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

RESHARD_DECL void run(conversion_step const& step, unsigned char const* source,
                      unsigned char* target, index_t count) {
    if (step.fast)
        step.fast(find_byte_float(step.source), source, target, count);
    else
        convert_exactly(step.source, step.target, source, target, count);
}

RESHARD_DECL conversion::conversion(data_type source, std::span<data_type const> chain) {
    for (data_type const target : chain) {
        push_cast(source, target);
        source = target;
    }
    if (count_ == 1)
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

RESHARD_DECL block_function conversion::quickest(data_type source, data_type target) {
    block_function const vectors = vector_conversion_of(source, target).block();
    return vectors ? vectors : fast_step(source, target);
}

/// Takes runs of 2, 4 or 8 bytes for elements, so that short rows can be transposed.
///
/// \post `size` is the new size of an element, in bytes
constexpr affine_copy with_wider_elements(affine_copy copy, index_t& size) {
    index_t const run = copy.ndim() < 2 || !has_rows(copy) ? 1 : copy.extent.end()[-1];
    if (run == 1 || (run * size != 2 && run * size != 4 && run * size != 8))
        return copy;
    affine_copy wide{{}, copy.source_offset, {}, copy.target_offset, {}};
    for (std::size_t axis = 0; axis + 1 < copy.ndim(); ++axis) {
        if (copy.source_strides[axis] % run != 0 || copy.target_strides[axis] % run != 0)
            return copy;
        push_axis(wide, {copy.extent[axis], copy.source_strides[axis] / run,
                         copy.target_strides[axis] / run});
    }
    if (wide.source_offset % run != 0 || wide.target_offset % run != 0)
        return copy;
    wide.source_offset /= run;
    wide.target_offset /= run;
    size *= run;
    return wide;
}

/// The axis before the last in whose direction the source's elements lie closest together.
constexpr std::size_t closest_source_axis(affine_copy const& copy) {
    std::size_t closest = copy.ndim() - 2;
    for (std::size_t axis = 0; axis + 1 < copy.ndim(); ++axis)
        if (magnitude(copy.source_strides[axis]) < magnitude(copy.source_strides[closest]))
            closest = axis;
    return closest;
}

/// The axes that the kernel needs, in its order.
constexpr affine_copy arranged(affine_copy const& copy, copy_kernel kernel) {
    switch (kernel) {
    case copy_kernel::transposed:
    case copy_kernel::convert_transposed:
        return with_second_last(copy, contiguous_source_axis(copy));
    case copy_kernel::strided: {
        affine_copy const square = with_axes(copy, 2);
        return with_second_last(square, closest_source_axis(square));
    }
    default: return with_axes(copy, 1);
    }
}

/// True if the kernel counts in bits.
constexpr bool counts_bits(copy_kernel kernel) {
    return kernel == copy_kernel::packed || kernel == copy_kernel::convert_strided;
}

inline bool is_streaming(index_t bytes, stores stores) {
    return stores == stores::streaming ||
           (stores == stores::by_size && bytes >= streaming_threshold);
}

/// A copy of whole bytes that changes no type: its elements may be taken for wider ones.
inline void prepare_bytes(prepared_copy& ready, affine_copy const& fused, index_t size) {
    affine_copy const wide = with_wider_elements(fused, size);
    ready.kernel = choose(wide, {data_type::u8});
    ready.loop = scaled(arranged(wide, ready.kernel), {size, size});
    ready.sizes = {size, size};
}

RESHARD_DECL prepared_copy prepare(affine_copy const& copy, element_conversion const& conversion,
                                   stores stores) {
    affine_copy const fused = fuse(copy);
    if (!conversion.chain.empty()) {
        BOOST_ASSERT(conversion.kernels);
        return conversion.kernels->prepare(fused, conversion, stores);
    }
    prepared_copy ready;
    ready.kernel = choose(fused, conversion);
    if (ready.kernel == copy_kernel::nothing)
        return ready;
    index_t const size = bits(conversion.source);
    ready.streaming = is_streaming(byte_count(element_count(fused), conversion.source), stores);
    if (ready.kernel == copy_kernel::packed) {
        ready.sizes = {size, size};
        ready.loop = scaled(arranged(fused, ready.kernel), ready.sizes);
    } else {
        prepare_bytes(ready, fused, size / 8);
    }
    return ready;
}

/// Prepares a copy that casts.
inline prepared_copy prepare_conversion(affine_copy const& fused,
                                        element_conversion const& conversion, stores stores) {
    if (is_complex(conversion.source))
        return prepare_conversion(fuse(by_parts(fused)), by_parts(conversion), stores);
    prepared_copy ready;
    ready.kernel = choose(fused, conversion);
    ready.conversion = detail::conversion(conversion.source, conversion.chain.steps());
    ready.kernels = conversion.kernels;
    if (ready.kernel == copy_kernel::nothing)
        return ready;
    ready.streaming = is_streaming(byte_count(element_count(fused), conversion.target()), stores);
    index_t const unit = counts_bits(ready.kernel) ? 1 : 8;
    ready.sizes = {bits(conversion.source) / unit, bits(conversion.target()) / unit};
    ready.loop = scaled(arranged(fused, ready.kernel), ready.sizes);
    return ready;
}

/// Runs a copy that casts.
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

RESHARD_DECL void run(prepared_copy const& ready, void const* source, void* target) {
    memory const at{static_cast<unsigned char const*>(source), static_cast<unsigned char*>(target),
                    ready.streaming};
    switch (ready.kernel) {
    case copy_kernel::nothing: return;
    case copy_kernel::contiguous:
    case copy_kernel::rows: copy_rows(ready.loop, ready.sizes.source, at); break;
    case copy_kernel::transposed: copy_transposed(ready.loop, ready.sizes.source, at); break;
    case copy_kernel::strided: copy_strided(ready.loop, ready.sizes.source, at); break;
    case copy_kernel::packed: copy_packed(ready.loop, ready.sizes.source, at); break;
    default: ready.kernels->run(ready, at);
    }
    if (ready.streaming)
        streaming_fence();
}

} // namespace reshard::detail

#endif
