// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_SERIALIZATION_ARCHIVE_HPP
#define RESHARD_SERIALIZATION_ARCHIVE_HPP

#include <reshard/core/error.hpp>

#include <boost/archive/archive_exception.hpp>
#include <boost/serialization/array_wrapper.hpp>
#include <boost/serialization/level.hpp>
#include <boost/serialization/serialization.hpp>
#include <boost/serialization/tracking.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// How values of this library stand in an archive of Boost.Serialization, and how they are read
/// with suspicion.
///
/// A type takes part by its `form_of` and by two functions beside it: `write_to(archive, value)`
/// and `read_from(archive, value)`. Only numbers reach the archive itself: it keeps no table of
/// classes, and what it reads cannot make it allocate more than it was given.

namespace reshard {

/// What is written in front of a value, so that it is not taken for another.
struct stored_form {
    std::string_view name;    ///< for messages; empty for types that cannot be stored
    std::uint8_t number = 0;  ///< 0: a part of other values, with nothing in front
    std::uint8_t version = 0; ///< goes up when what follows changes
};

template <class T>
inline constexpr stored_form form_of{};

/// A type that has a place in archives.
template <class T>
concept storable = !form_of<std::remove_cv_t<T>>.name.empty();

/// A type that can stand in an archive alone.
template <class T>
concept storable_alone = storable<T> && form_of<std::remove_cv_t<T>>.number != 0;

namespace detail {

/// Stands in front of a value and behind it: a text that lost its last digit still lacks the mark.
inline constexpr std::uint32_t archive_mark = 0x72736864;

[[noreturn]] inline void refuse_archive(std::string const& text) {
    fail(errc::corrupt_file, "the archive " + text);
}

template <class Number, class Archive>
Number read_number(Archive& archive) {
    Number number{};
    archive >> number;
    return number;
}

/// A number that has to be less than `limit`.
template <class Number, class Archive>
Number read_below(Archive& archive, std::size_t limit, std::string_view what) {
    auto const number = read_number<Number>(archive);
    if (number >= limit)
        refuse_archive("has " + std::string(what) + " " + std::to_string(number) + " of " +
                       std::to_string(limit));
    return number;
}

template <class Archive>
void write_count(Archive& archive, std::size_t count) {
    archive << std::uint64_t{count};
}

template <class Archive>
void write_text(Archive& archive, std::string_view text) {
    write_count(archive, text.size());
    archive << boost::serialization::make_array(text.data(), text.size());
}

/// \par Units the text grows by what was read, whatever its length is said to be
template <class Archive>
std::string read_text(Archive& archive) {
    std::string text;
    char some[256];
    for (auto left = read_number<std::uint64_t>(archive); left > 0;) {
        auto const next = static_cast<std::size_t>(std::min<std::uint64_t>(left, sizeof some));
        archive >> boost::serialization::make_array(some, next);
        text.append(some, next);
        left -= next;
    }
    return text;
}

template <class Archive, class List>
void write_list(Archive& archive, List const& list) {
    write_count(archive, list.size());
    for (auto const& element : list)
        archive << element;
}

template <class Element, class Archive>
std::vector<Element> read_list(Archive& archive) {
    std::vector<Element> list;
    for (auto left = read_number<std::uint64_t>(archive); left > 0; --left) {
        Element element{};
        archive >> element;
        list.push_back(std::move(element));
    }
    return list;
}

template <class Archive>
void check_mark(Archive& archive, stored_form const& form) {
    if (read_number<std::uint32_t>(archive) != archive_mark)
        refuse_archive("does not hold a " + std::string(form.name) + ", or is damaged");
}

template <class Archive>
void check_head(Archive& archive, stored_form const& form) {
    check_mark(archive, form);
    if (read_number<std::uint8_t>(archive) != form.number)
        refuse_archive("holds something else than a " + std::string(form.name));
    if (auto const version = read_number<std::uint8_t>(archive); version != form.version)
        fail(errc::unsupported, "the archive holds a " + std::string(form.name) + " of version " +
                                    std::to_string(version) + ", and this library reads version " +
                                    std::to_string(form.version));
}

/// Reads with `read`, and says of whatever goes wrong that the archive is to blame.
template <class Read>
auto blame_archive(std::string_view name, Read&& read) {
    try {
        return std::forward<Read>(read)();
    } catch (boost::archive::archive_exception const& problem) {
        refuse_archive("of a " + std::string(name) +
                       " cannot be read to its end: " + problem.what());
    } catch (error const& problem) {
        if (problem.code() == errc::corrupt_file || problem.code() == errc::unsupported)
            throw;
        refuse_archive("of a " + std::string(name) + " contradicts itself: " + problem.what());
    }
}

} // namespace detail

} // namespace reshard

namespace boost::serialization {

template <reshard::storable T>
struct implementation_level_impl<T const> {
    using tag = mpl::integral_c_tag;
    using type = mpl::int_<object_serializable>;
    static constexpr int value = object_serializable;
};

template <reshard::storable T>
struct tracking_level_impl<T const> {
    using tag = mpl::integral_c_tag;
    using type = mpl::int_<track_never>;
    static constexpr int value = track_never;
};

/// `archive << value` and `archive >> value`. Boost passes a `version_type`, so this is a better
/// match than its own function for all types.
///
/// \throws reshard::error on reading, with errc::corrupt_file for an archive that ends too early or
///         contradicts itself, with errc::unsupported for one of another version; the value is left
///         alone
template <class Archive, reshard::storable T>
void serialize(Archive& archive, T& value, version_type) {
    constexpr reshard::stored_form form = reshard::form_of<T>;
    if constexpr (Archive::is_saving::value) {
        if constexpr (form.number != 0)
            archive << reshard::detail::archive_mark << form.number << form.version;
        write_to(archive, value);
        if constexpr (form.number != 0)
            archive << reshard::detail::archive_mark;
    } else if constexpr (form.number == 0) {
        read_from(archive, value);
    } else {
        value = reshard::detail::blame_archive(form.name, [&] {
            T result{};
            reshard::detail::check_head(archive, form);
            read_from(archive, result);
            reshard::detail::check_mark(archive, form);
            return result;
        });
    }
}

} // namespace boost::serialization

#endif
