// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_SERIALIZATION_LAYOUT_HPP
#define RESHARD_SERIALIZATION_LAYOUT_HPP

#include <reshard/serialization/descriptor.hpp>
#include <reshard/layout/layout.hpp>

/// \file
/// Layouts in archives.

namespace reshard {

template <>
inline constexpr stored_form form_of<shard_table>{"table of shards"};
template <>
inline constexpr stored_form form_of<tensor_layout>{"tensor"};
template <>
inline constexpr stored_form form_of<layout>{"layout", 1, 1};

/// The number of axes, then holder, region and flat range of each shard.
template <class Archive>
void write_to(Archive& archive, shard_table const& table) {
    archive << static_cast<std::uint8_t>(table.ndim());
    detail::write_count(archive, table.size());
    for (std::size_t i = 0; i < table.size(); ++i) {
        archive << table.holder(i) << table.region(i);
        detail::write_flat(archive, table.flat(i));
    }
}

/// \throws error with errc::corrupt_file where a shard has other axes than the table
template <class Archive>
void read_from(Archive& archive, shard_table& table) {
    std::size_t const ndim =
        detail::read_below<std::uint8_t>(archive, max_ndim + 1, "a number of axes");
    table = shard_table(ndim);
    for (auto left = detail::read_number<std::uint64_t>(archive); left > 0; --left) {
        auto const holder = detail::read_number<holder_t>(archive);
        box region;
        archive >> region;
        if (region.offset.size() != ndim || region.shape.size() != ndim)
            detail::refuse_archive("has the shard " + to_string(region.shape) + " at offset " +
                                   to_string(region.offset) + " among shards of " +
                                   std::to_string(ndim) + " axes");
        auto const flat = detail::read_flat(archive);
        if (flat && flat->begin < 0)
            detail::refuse_archive("has the flat range " + to_string(*flat));
        table.push_back(holder, region, flat);
    }
}

/// Key, data type, global shape, shards.
template <class Archive>
void write_to(Archive& archive, tensor_layout const& tensor) {
    detail::write_text(archive, tensor.key);
    detail::write_dtype(archive, tensor.dtype);
    archive << tensor.shape << tensor.shards;
}

/// A tensor as it is; the layout checks it.
template <class Archive>
void read_from(Archive& archive, tensor_layout& tensor) {
    tensor.key = detail::read_text(archive);
    tensor.dtype = detail::read_dtype(archive);
    archive >> tensor.shape >> tensor.shards;
}

namespace detail {

/// \throws error with errc::bad_layout or errc::overflow where there can be no such tensor
inline void check_tensor(std::string const& key, data_type dtype, index_vector const& shape) {
    check(shard_descriptor{key, dtype, shape, whole(shape), {}});
}

/// \throws error where shards are not parts of their tensor, or of holders that there are not
inline void check_stored(tensor_layout const& tensor, holder_t holders) {
    check_tensor(tensor.key, tensor.dtype, tensor.shape);
    if (tensor.shards.ndim() != tensor.shape.size())
        refuse_archive("has shards of " + std::to_string(tensor.shards.ndim()) + " axes for '" +
                       tensor.key + "', shape " + to_string(tensor.shape));
    for (std::size_t i = 0; i < tensor.shards.size(); ++i) {
        check(descriptor_of(tensor, i));
        if (tensor.shards.holder(i) >= holders)
            refuse_archive("has a shard of '" + tensor.key + "' on rank " +
                           std::to_string(tensor.shards.holder(i)) + " of " +
                           std::to_string(holders));
    }
}

/// Refuses keys out of order, so also a key that stands twice.
template <class List>
void check_sorted(List const& list) {
    for (std::size_t i = 1; i < list.size(); ++i)
        if (!(list[i - 1].key < list[i].key))
            refuse_archive("has '" + list[i].key + "' behind '" + list[i - 1].key + "'");
}

} // namespace detail

/// The number of holders, then each tensor.
template <class Archive>
void write_to(Archive& archive, layout const& all) {
    archive << all.holders;
    detail::write_list(archive, all.tensors);
}

/// \throws error with errc::corrupt_file or errc::bad_layout where the invariants of a layout do
///         not hold
template <class Archive>
void read_from(Archive& archive, layout& all) {
    archive >> all.holders;
    all.tensors = detail::read_list<tensor_layout>(archive);
    detail::check_sorted(all.tensors);
    for (tensor_layout const& tensor : all.tensors)
        detail::check_stored(tensor, all.holders);
}

} // namespace reshard

#endif
