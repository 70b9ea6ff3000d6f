// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_SCALE_FORMS_IPP
#define RESHARD_EXPR_IMPL_SCALE_FORMS_IPP

#include <reshard/expr/block_scales.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

/// \file
/// How scales of a given shape correspond to a tensor.

namespace reshard::detail {

/// The form that relates scales of a given shape to a tensor. The scales may have more or fewer
/// axes of extent 1 than `form`; std::nullopt if they differ otherwise.
inline std::optional<block_form> with_axes_of(block_form form, index_vector const& shape,
                                              index_vector const& scales) {
    std::size_t used = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        block_form const block_form{{form.block[axis]},
                                    {std::max(form.count_of(axis), index_t{1})}};
        index_t const wanted = scale_counts({shape[axis]}, block_form)[0];
        if (form.count.empty())
            form.count = index_vector::filled(shape.size(), 1);
        bool const exists = used < scales.size() && scales[used] == wanted;
        if (!exists && wanted != 1)
            return std::nullopt;
        used += exists;
        form.count[axis] = exists ? block_form.count[0] : 0;
        form.block[axis] = exists ? form.block[axis] : 0;
    }
    return used == scales.size() ? std::optional(form) : std::nullopt;
}

/// Whether a tensor has one scale.
inline bool is_one_scale(block_form const& form) {
    for (std::size_t axis = 0; axis < form.ndim(); ++axis)
        if (form.count_of(axis) > 1 || (form.count_of(axis) == 1 && form.block[axis] != 0))
            return false;
    return true;
}

/// Gives a single scale along an axis a block of all elements there. Tensors whose scales have such
/// a form may be joined along that axis.
inline block_form in_whole_blocks(block_form form, index_vector const& shape) {
    bool const is_one = is_one_scale(form);
    for (std::size_t axis = 0; axis < form.ndim(); ++axis)
        if (form.block[axis] == 0 && form.count_of(axis) > 1)
            return form; // these scales belong to the whole tensor
    for (std::size_t axis = 0; axis < form.ndim(); ++axis)
        if (form.block[axis] == 0 && (is_one || form.count_of(axis) == 1)) {
            form.block[axis] = std::max(shape[axis], index_t{1});
            if (!form.count.empty())
                form.count[axis] = 1;
        }
    return form;
}

/// The extents of scales that have every axis of their tensor.
inline index_vector scales_of_all_axes(block_form form, index_vector const& shape) {
    for (index_t& count : form.count)
        count = std::max(count, index_t{1});
    return scale_counts(shape, form);
}

/// The result of reading scales of one form as scales of another form.
enum class scales_read : std::uint8_t {
    right,        ///< correct, or each scale applies to all elements of its axis
    other_blocks, ///< other blocks of the same axes
    other_axes,
};

/// \pre both forms are for scales of that shape
inline scales_read how_read(block_form const& form, block_form const& read,
                            index_vector const& scales) {
    auto match = scales_read::right;
    if (std::ranges::find(scales, index_t{0}) != scales.end())
        return match;
    for (std::size_t i = 0; i < scales.size(); ++i) {
        std::size_t const axis = axis_of_scales(read, i);
        if (scales[i] == 1 || read.block[axis] == 0)
            continue;
        if (axis != axis_of_scales(form, i))
            return scales_read::other_axes;
        if (read.block[axis] != form.block[axis] || read.count_of(axis) != form.count_of(axis))
            match = scales_read::other_blocks;
    }
    return match;
}

} // namespace reshard::detail

#endif
