// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_IMPL_COPY_ELEMENTS_IPP
#define RESHARD_COPY_IMPL_COPY_ELEMENTS_IPP

#include <reshard/copy/copy_elements.hpp>

#include <reshard/copy/kernel_elements.hpp>

#include <boost/assert.hpp>

#include <cstddef>

namespace reshard::detail {

/// Treats runs of 2, 4 or 8 bytes as single elements, so that short rows can be transposed.
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

/// The axis, except the last, along which the source's elements are closest together.
constexpr std::size_t closest_source_axis(affine_copy const& copy) {
    std::size_t closest = copy.ndim() - 2;
    for (std::size_t axis = 0; axis + 1 < copy.ndim(); ++axis)
        if (magnitude(copy.source_strides[axis]) < magnitude(copy.source_strides[closest]))
            closest = axis;
    return closest;
}

/// Arranges the axes as the kernel expects them.
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

inline bool is_streaming(index_t bytes, stores stores) {
    return stores == stores::streaming ||
           (stores == stores::by_size && bytes >= streaming_threshold);
}

/// Prepares a copy of whole bytes without casts. May treat several elements as one wider element.
inline void prepare_bytes(prepared_copy& ready, affine_copy const& fused, index_t size) {
    affine_copy const wide = with_wider_elements(fused, size);
    ready.kernel = choose(wide, {data_type::u8});
    ready.loop = scaled(arranged(wide, ready.kernel), {size, size});
    ready.sizes = {size, size};
}

/// Prepares a copy that a device makes. Refuses the conversions that the processor refuses.
inline prepared_copy prepare_on_device(affine_copy const& fused,
                                       element_conversion const& conversion) {
    if (!conversion.chain.empty())
        conversion.kernels->prepare(fused, conversion.on_host(), stores::cached);
    prepared_copy ready;
    ready.kernel = choose(fused, conversion);
    ready.loop = fused;
    ready.given = conversion;
    return ready;
}

RESHARD_DECL prepared_copy prepare(affine_copy const& copy, element_conversion const& conversion,
                                   stores stores) {
    affine_copy const fused = fuse(copy);
    if (conversion.devices.any())
        return prepare_on_device(fused, conversion);
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

RESHARD_DECL void run(prepared_copy const& ready, void const* source, void* target) {
    memory const at{static_cast<unsigned char const*>(source), static_cast<unsigned char*>(target),
                    ready.streaming};
    switch (ready.kernel) {
    case copy_kernel::nothing: return;
    case copy_kernel::on_device: return ready.given.devices.run(ready, source, target);
    case copy_kernel::contiguous:
    case copy_kernel::rows: copy_rows(ready.loop, ready.sizes.source, at); break;
    case copy_kernel::transposed: copy_transposed(ready.loop, ready.sizes.source, at); break;
    case copy_kernel::strided: copy_strided(ready.loop, ready.sizes.source, at); break;
    case copy_kernel::packed: copy_packed(ready.loop, ready.sizes.source, at); break;
    default: ready.given.kernels->run(ready, at);
    }
    if (ready.streaming)
        streaming_fence();
}

} // namespace reshard::detail

#endif
