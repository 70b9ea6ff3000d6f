// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_SERIALIZATION_CORE_HPP
#define RESHARD_SERIALIZATION_CORE_HPP

#include <reshard/core/axis_joins.hpp>
#include <reshard/core/cast_chain.hpp>
#include <reshard/core/flat_range.hpp>
#include <reshard/core/permutation.hpp>
#include <reshard/serialization/archive.hpp>

#include <limits>

/// \file
/// Index vectors, boxes, ranges, data types and orders of axes in archives.

namespace reshard {

template <>
inline constexpr stored_form form_of<index_vector>{"list of extents"};
template <>
inline constexpr stored_form form_of<box>{"box"};
template <>
inline constexpr stored_form form_of<flat_range>{"flat range"};
template <>
inline constexpr stored_form form_of<cast_chain>{"chain of casts"};

/// How many numbers, then the numbers.
template <class Archive>
void write_to(Archive& archive, index_vector const& numbers) {
    archive << static_cast<std::uint8_t>(numbers.size());
    for (index_t const number : numbers)
        archive << number;
}

/// \throws error with errc::corrupt_file for more axes than a tensor has
template <class Archive>
void read_from(Archive& archive, index_vector& numbers) {
    numbers = {};
    auto const count = detail::read_below<std::uint8_t>(archive, max_ndim + 1, "a number of axes");
    while (numbers.size() < count)
        numbers.push_back(detail::read_number<index_t>(archive));
}

/// A box as it is: whether it is one, only the tensor can tell that it belongs to.
template <class Archive>
void write_to(Archive& archive, box const& region) {
    archive << region.offset << region.shape;
}

template <class Archive>
void read_from(Archive& archive, box& region) {
    archive >> region.offset >> region.shape;
}

/// A range as it is: whether it lies in a region, only the shard can tell.
template <class Archive>
void write_to(Archive& archive, flat_range const& range) {
    archive << range.begin << range.end;
}

template <class Archive>
void read_from(Archive& archive, flat_range& range) {
    archive >> range.begin >> range.end;
}

namespace detail {

/// A data type by its number, which later versions keep.
template <class Archive>
void write_dtype(Archive& archive, data_type dtype) {
    archive << static_cast<std::uint8_t>(dtype);
}

/// \throws error with errc::corrupt_file for a number of no data type
template <class Archive>
data_type read_dtype(Archive& archive) {
    return static_cast<data_type>(
        read_below<std::uint8_t>(archive, data_type_count, "the data type"));
}

/// \throws error with errc::corrupt_file for anything but 0 and 1
template <class Archive>
bool read_bool(Archive& archive) {
    return read_below<std::uint8_t>(archive, 2, "the truth value") == 1;
}

/// An order as the axes that it names. How many there are, only the boxes around it know.
///
/// \pre `order` names each of `ndim` axes once
template <class Archive>
void write_order(Archive& archive, permutation order, std::size_t ndim) {
    archive << axes_of(order, ndim);
}

/// \throws error with errc::shape_mismatch unless each axis is named once
template <class Archive>
permutation read_order(Archive& archive, std::size_t ndim) {
    index_vector axes;
    archive >> axes;
    return permutation::of(axes, ndim);
}

/// True where the box has as many extents as offsets, all of them sound numbers: none is negative,
/// and the ends fit 64 bits.
constexpr bool is_sound(box const& region) {
    if (region.offset.size() != region.shape.size())
        return false;
    for (std::size_t axis = 0; axis < region.ndim(); ++axis)
        if (region.offset[axis] < 0 || region.shape[axis] < 0 ||
            region.offset[axis] > std::numeric_limits<index_t>::max() - region.shape[axis])
            return false;
    return true;
}

/// Two numbers, the bits of either side.
template <class Archive>
void write_joins(Archive& archive, axis_joins joins) {
    archive << joins.source << joins.target;
}

/// True where factors of these extents may be joined like that.
constexpr bool are_joins(std::uint8_t joins, index_vector const& extents) {
    bool const have_axes = !is_joined(joins, 0);
    bool const all_joined = joins == (1u << extents.size()) - 1;
    return joins >> extents.size() == 0 &&
           (have_axes || (all_joined && element_count(extents) == 1));
}

/// Joins of the factors of a box.
///
/// \throws error with errc::overflow where the factors have too many elements,
///         errc::corrupt_file where the bits are not those of so many factors
template <class Archive>
axis_joins read_joins(Archive& archive, index_vector const& extents, permutation order) {
    axis_joins joins;
    archive >> joins.source >> joins.target;
    if (!is_sound(whole(extents)))
        refuse_archive("has factors " + to_string(extents) + " that are no extents");
    bool const is_none = element_count(extents) == 0; // the product has to fit
    if ((joins.any() && is_none) || !are_joins(joins.target, extents) ||
        !are_joins(joins.source, order.undo(extents)))
        refuse_archive("has factors " + to_string(extents) + " that are joined to no axes");
    return joins;
}

} // namespace detail

/// How many data types, then each.
template <class Archive>
void write_to(Archive& archive, cast_chain const& chain) {
    archive << chain.count;
    for (data_type const dtype : chain.steps())
        detail::write_dtype(archive, dtype);
}

/// \throws error with errc::corrupt_file for more casts than a chain has
template <class Archive>
void read_from(Archive& archive, cast_chain& chain) {
    chain = {};
    auto const count =
        detail::read_below<std::uint8_t>(archive, std::size(chain.values) + 1, "a number of casts");
    for (; chain.count < count; ++chain.count)
        chain.values[chain.count] = detail::read_dtype(archive);
}

} // namespace reshard

#endif
