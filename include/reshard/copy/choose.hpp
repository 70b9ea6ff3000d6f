// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_COPY_CHOOSE_HPP
#define RESHARD_COPY_CHOOSE_HPP

#include <reshard/copy/affine_copy.hpp>
#include <reshard/core/step_chain.hpp>

#include <cstdint>

/// \file
/// Chooses the kernel for a copy from its strides and data types.

namespace reshard {

class device;

} // namespace reshard

namespace reshard::detail {

struct conversion_kernels;
struct element_scales;
struct prepared_copy;

/// The devices that hold the ends of a copy, and the function that lets them make it.
struct device_ends {
    device* source = nullptr; ///< null if the elements are in host memory
    device* target = nullptr; ///< null if the results are
    void (*run)(prepared_copy const& ready, void const* source, void* target) = nullptr;

    constexpr bool any() const { return source || target; }

    constexpr bool operator==(device_ends const&) const = default;
};

/// How a copy converts elements: the source's data type, and the steps in order.
struct element_conversion {
    data_type source;
    step_chain chain = {};
    conversion_kernels const* kernels = nullptr; ///< the functions that run the steps, if any
    element_scales const* scales = nullptr;      ///< set if the chain dequantizes
    std::uintptr_t first = 0;                    ///< with scales: the address of their element 0
    device_ends devices = {};

    constexpr data_type target() const { return result(source, chain); }

    /// The same conversion, from host memory to host memory.
    constexpr element_conversion on_host() const { return {source, chain, kernels, scales, first}; }

    constexpr bool operator==(element_conversion const&) const = default;
};

/// The kernels, and the copies for which they are used.
enum class copy_kernel : std::uint8_t {
    nothing,            ///< no elements
    contiguous,         ///< one run of bytes
    rows,               ///< runs of bytes
    transposed,         ///< whole bytes; source and target have different fastest axes
    strided,            ///< whole bytes, any strides
    packed,             ///< elements smaller than a byte
    convert_rows,       ///< casts of contiguous runs
    convert_transposed, ///< casts; source and target have different fastest axes
    convert_strided,    ///< all other casts
    convert_scaled,     ///< casts and products with scales, any strides
    on_device,          ///< a device makes the copy
};

/// The name of a kernel, for reports.
constexpr std::string_view name(copy_kernel kernel) {
    constexpr std::string_view names[] = {
        "nothing",         "contiguous",     "rows",         "transposed",
        "strided",         "packed",         "convert_rows", "convert_transposed",
        "convert_strided", "convert_scaled", "on_device",
    };
    return names[static_cast<std::size_t>(kernel)];
}

/// The first axis, except the last, along which the source is contiguous, or `copy.ndim()`.
constexpr std::size_t contiguous_source_axis(affine_copy const& copy) {
    for (std::size_t axis = 0; axis + 1 < copy.ndim(); ++axis)
        if (copy.source_strides[axis] == 1)
            return axis;
    return copy.ndim();
}

/// True if the last axis is contiguous on both sides, or if there is a single element.
constexpr bool has_rows(affine_copy const& copy) {
    return copy.ndim() == 0 ||
           (copy.source_strides.end()[-1] == 1 && copy.target_strides.end()[-1] == 1);
}

/// True if the last axis is contiguous in the target, and another axis is contiguous in the source.
constexpr bool is_transposed(affine_copy const& copy) {
    return copy.ndim() >= 2 && copy.target_strides.end()[-1] == 1 &&
           contiguous_source_axis(copy) < copy.ndim();
}

/// Converts a copy of complex numbers to a copy of their real and imaginary parts.
///
/// \throws error with errc::limit_exceeded if the copy already has `max_ndim` axes
constexpr affine_copy by_parts(affine_copy copy) {
    if (copy.ndim() == max_ndim)
        fail(errc::limit_exceeded, "a cast of complex numbers supports at most ", max_ndim - 1,
             " axes that cannot be merged, not ", max_ndim, "; cast in a separate step");
    copy.source_offset *= 2;
    copy.target_offset *= 2;
    for (std::size_t axis = 0; axis < copy.ndim(); ++axis) {
        copy.source_strides[axis] *= 2;
        copy.target_strides[axis] *= 2;
    }
    push_axis(copy, {2, 1, 1});
    return copy;
}

/// Converts casts of complex numbers to casts of their real and imaginary parts.
///
/// \pre    the source is complex, so that no step computes
/// \throws error as `check_castable`
constexpr element_conversion by_parts(element_conversion const& conversion) {
    element_conversion parts{part_of(conversion.source), {}, conversion.kernels};
    for (chain_step const& step : conversion.chain.steps()) {
        check_castable(conversion.source, step.dtype);
        parts.chain = appended(parts.chain, parts.source, {part_of(step.dtype)});
    }
    return parts;
}

/// Chooses the kernel for a copy.
///
/// \pre `copy` is fused
constexpr copy_kernel choose(affine_copy const& copy, element_conversion const& conversion) {
    if (element_count(copy) == 0)
        return copy_kernel::nothing;
    if (conversion.devices.any())
        return copy_kernel::on_device;
    bool const is_packed = bits(conversion.source) < 8 || bits(conversion.target()) < 8;
    if (conversion.chain.empty())
        return is_packed ? copy_kernel::packed
               : !has_rows(copy)
                   ? is_transposed(copy) ? copy_kernel::transposed : copy_kernel::strided
               : copy.ndim() <= 1 ? copy_kernel::contiguous
                                  : copy_kernel::rows;
    if (conversion.chain.dequantizes())
        return copy_kernel::convert_scaled;
    return is_packed             ? copy_kernel::convert_strided
           : has_rows(copy)      ? copy_kernel::convert_rows
           : is_transposed(copy) ? copy_kernel::convert_transposed
                                 : copy_kernel::convert_strided;
}

} // namespace reshard::detail

#endif
