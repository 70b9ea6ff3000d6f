// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_GROUP_WIRE_HPP
#define RESHARD_GROUP_WIRE_HPP

#include <reshard/group/bytes.hpp>

#include <boost/archive/archive_exception.hpp>
#include <boost/serialization/array_wrapper.hpp>
#include <boost/serialization/level.hpp>
#include <boost/serialization/serialization.hpp>
#include <boost/serialization/tracking.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

/// \file
/// Stores values in archives of Boost.Serialization, and thus in messages of Boost.MPI. An archive
/// has the number of bytes of a value, then the bytes. A text archive writes the bytes as numbers.

namespace reshard::detail {

template <class T>
std::string archived_bytes(T const& value) {
    if constexpr (storable_alone<T>)
        return to_bytes(value);
    else
        return content_bytes(value);
}

template <class T>
T from_archived_bytes(std::string const& bytes) {
    if constexpr (storable_alone<T>)
        return from_bytes<T>(bytes);
    else
        return content_from<T>(bytes, form_of<T>.name);
}

/// \par Units bytes; the text grows with the bytes that were read, even if the archive states a
///            larger length
std::string read_bytes(auto& archive) {
    std::uint64_t left = 0;
    archive >> left;
    std::string text;
    for (char some[256]; left > 0;) {
        auto const next = static_cast<std::size_t>(std::min<std::uint64_t>(left, sizeof some));
        archive >> boost::serialization::make_array(some, next);
        text.append(some, next);
        left -= next;
    }
    return text;
}

} // namespace reshard::detail

namespace boost::serialization {

template <reshard::detail::storable T>
struct implementation_level_impl<T const> {
    using tag = mpl::integral_c_tag;
    using type = mpl::int_<object_serializable>;
    static constexpr int value = object_serializable;
};

template <reshard::detail::storable T>
struct tracking_level_impl<T const> {
    using tag = mpl::integral_c_tag;
    using type = mpl::int_<track_never>;
    static constexpr int value = track_never;
};

/// Implements `archive << value` and `archive >> value`. Boost passes a `version_type`, so this
/// function is a better match than Boost's function for all types.
///
/// \throws reshard::error when reading, as `from_bytes`; the value does not change then
template <class Archive, reshard::detail::storable T>
void serialize(Archive& archive, T& value, version_type) {
    if constexpr (Archive::is_saving::value) {
        std::string const bytes = reshard::detail::archived_bytes<std::remove_cv_t<T>>(value);
        std::uint64_t const size = bytes.size();
        archive << size << make_array(bytes.data(), bytes.size());
    } else {
        std::string bytes;
        try {
            bytes = reshard::detail::read_bytes(archive);
        } catch (boost::archive::archive_exception const& problem) {
            reshard::detail::refuse_archive("of a " +
                                            std::string(reshard::detail::form_of<T>.name) +
                                            " cannot be read to its end: " + problem.what());
        }
        value = reshard::detail::from_archived_bytes<T>(bytes);
    }
}

} // namespace boost::serialization

#endif
