// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_RESHAPE_TEXT_HPP
#define RESHARD_AOA_RESHAPE_TEXT_HPP

#include <reshard/aoa/ast.hpp>
#include <reshard/core/config.hpp>

#include <optional>
#include <vector>

/// \file
/// The shape that a `reshape` or a `resize` asks for.

namespace reshard::aoa::detail {

/// The extents with what is left of `count` elements in the place of the one that is not said.
RESHARD_DECL index_vector filled_in(std::vector<std::optional<index_t>> const& extents,
                                    index_t count, attribute const& one);

/// The shape that a tensor of `shape` has after `reshape="[...]"`.
///
/// It is the list that is written; one `*` is what is left. A list of three extents or more is, as
/// in the original, the grouped form as well: a tensor that has the list's shape, or the one with
/// the first two axes and all others merged, gets whichever of the two the target wants.
///
/// \param wanted of the target, or null
/// \throws       statement_error with errc::syntax or errc::shape_mismatch
/// \par Source   4.7 of the description of AOA (PaddlePaddle flex_checkpoint), which has the
///               grouped form only
RESHARD_DECL index_vector reshaped_shape(index_vector const& shape, attribute const& one,
                                         index_vector const* wanted);

/// The shape that a tensor of `shape` has after `resize="[...]"`: the list, with the tensor's own
/// extents for `*`.
///
/// \throws statement_error with errc::syntax
RESHARD_DECL index_vector resized_shape(index_vector const& shape, attribute const& one);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/reshape_text.ipp>
#endif

#endif
