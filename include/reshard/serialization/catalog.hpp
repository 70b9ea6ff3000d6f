// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_SERIALIZATION_CATALOG_HPP
#define RESHARD_SERIALIZATION_CATALOG_HPP

#include <reshard/serialization/layout.hpp>
#include <reshard/layout/catalog.hpp>

/// \file
/// Catalogs in archives.

namespace reshard {

template <>
inline constexpr stored_form form_of<catalog_entry>{"entry of a catalog"};
template <>
inline constexpr stored_form form_of<catalog>{"catalog", 2, 1};

/// Key, data type, global shape, parts along each axis, which of them are not equal.
template <class Archive>
void write_to(Archive& archive, catalog_entry const& entry) {
    detail::write_text(archive, entry.key);
    detail::write_dtype(archive, entry.dtype);
    archive << entry.shape << entry.parts << entry.uneven;
}

/// \throws error where there can be no such tensor, or the parts are not those of its axes
template <class Archive>
void read_from(Archive& archive, catalog_entry& entry) {
    entry.key = detail::read_text(archive);
    entry.dtype = detail::read_dtype(archive);
    archive >> entry.shape >> entry.parts;
    entry.uneven = detail::read_number<std::uint8_t>(archive);
    detail::check_tensor(entry.key, entry.dtype, entry.shape);
    if (entry.parts.size() != entry.shape.size() ||
        std::any_of(entry.parts.begin(), entry.parts.end(), [](index_t n) { return n < 1; }) ||
        entry.uneven >> entry.shape.size() != 0)
        detail::refuse_archive("has the parts " + to_string(entry.parts) + " of '" + entry.key +
                               "', shape " + to_string(entry.shape));
}

/// Each entry, in the order of keys.
template <class Archive>
void write_to(Archive& archive, catalog const& all) {
    detail::write_list(archive, all);
}

/// \throws error with errc::corrupt_file where keys are out of order, or one stands twice
template <class Archive>
void read_from(Archive& archive, catalog& all) {
    auto entries = detail::read_list<catalog_entry>(archive);
    detail::check_sorted(entries);
    all = catalog(std::move(entries));
}

} // namespace reshard

#endif
