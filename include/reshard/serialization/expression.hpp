// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_SERIALIZATION_EXPRESSION_HPP
#define RESHARD_SERIALIZATION_EXPRESSION_HPP

#include <reshard/expr/expression.hpp>
#include <reshard/serialization/core.hpp>

/// \file
/// Pieces and expressions in archives.

namespace reshard {

template <>
inline constexpr stored_form form_of<piece>{"piece"};
template <>
inline constexpr stored_form form_of<expression>{"expression"};

/// Source and its data type, the two boxes, casts, order and joins of axes.
template <class Archive>
void write_to(Archive& archive, piece const& part) {
    archive << part.source;
    detail::write_dtype(archive, part.stored);
    archive << part.extent << part.source_offset << part.target_offset << part.casts;
    detail::write_order(archive, part.order, part.extent.size());
    detail::write_joins(archive, part.joins);
}

/// \throws error where the boxes are none, or the order of axes is not one of theirs
template <class Archive>
void read_from(Archive& archive, piece& part) {
    archive >> part.source;
    part.stored = detail::read_dtype(archive);
    archive >> part.extent >> part.source_offset >> part.target_offset >> part.casts;
    part.order = detail::read_order(archive, part.extent.size());
    part.joins = detail::read_joins(archive, part.extent, part.order);
    if (!detail::is_sound(part.target_box()) || !detail::is_sound(part.source_box()) ||
        is_empty(part.target_box()))
        detail::refuse_archive("has a piece of the extents " + to_string(part.extent) + " from " +
                               to_string(part.source_offset) + " to " +
                               to_string(part.target_offset));
}

/// Shape, data type, then each piece.
template <class Archive>
void write_to(Archive& archive, expression const& value) {
    archive << index_vector(value.shape);
    detail::write_dtype(archive, value.dtype);
    detail::write_count(archive, value.pieces.size());
    for (std::size_t i = 0; i < value.pieces.size(); ++i)
        archive << value.pieces[i];
}

/// An expression as it is; the mapping checks that its pieces cover it.
///
/// \throws error where a piece does not have the axes of the tensor
template <class Archive>
void read_from(Archive& archive, expression& value) {
    index_vector shape;
    archive >> shape;
    value.shape = shape;
    value.dtype = detail::read_dtype(archive);
    value.pieces = piece_list(value.shape.size());
    for (auto left = detail::read_number<std::uint64_t>(archive); left > 0; --left) {
        piece part;
        archive >> part;
        if (part.target_offset.size() != value.shape.size())
            detail::refuse_archive("has a piece of the extents " + to_string(part.extent) +
                                   " of a tensor of shape " + to_string(value.shape));
        value.pieces.push_back(part);
    }
}

} // namespace reshard

#endif
