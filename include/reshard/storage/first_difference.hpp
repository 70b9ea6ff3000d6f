// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_FIRST_DIFFERENCE_HPP
#define RESHARD_STORAGE_FIRST_DIFFERENCE_HPP

#include <reshard/copy/affine_copy.hpp>
#include <reshard/core/config.hpp>
#include <reshard/tensor/view.hpp>

#include <optional>

/// \file
/// Where two tensors in memory differ.

namespace reshard::detail {

/// Elements in memory, `step` apart.
struct element_row {
    unsigned char const* bytes;
    index_t first;
    index_t step;

    index_t bit(index_t i, int bits) const { return (first + i * step) * bits; }
};

/// The first of `count` elements that differs, or `count`.
RESHARD_DECL index_t first_difference(element_row const& a, element_row const& b, index_t count,
                                      int bits);

/// The place in `b` of the first element that differs, as an offset from its first one, or nothing.
///
/// Both sides are row-major, so that fusing axes keeps the order of elements.
RESHARD_DECL std::optional<index_t>
first_difference(affine_copy const& loop, const_tensor_view const& a, const_tensor_view const& b);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/first_difference.ipp>
#endif

#endif
