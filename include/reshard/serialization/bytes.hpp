// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_SERIALIZATION_BYTES_HPP
#define RESHARD_SERIALIZATION_BYTES_HPP

#include <reshard/serialization/archive.hpp>

#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <boost/archive/text_iarchive.hpp>
#include <boost/archive/text_oarchive.hpp>

#include <istream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

/// \file
/// A layout, catalog, mapping or plan as bytes, or as text that every machine reads.

namespace reshard {

namespace detail {

template <class Archive, storable_alone T>
std::string write_all(T const& value) {
    std::ostringstream stream;
    {
        Archive archive(stream, boost::archive::no_header); // ends the text when it ends
        archive << value;
    }
    return std::move(stream).str();
}

template <class Archive, storable_alone T>
T read_all(std::string const& bytes) {
    std::istringstream stream(bytes);
    T value{};
    {
        Archive archive(stream, boost::archive::no_header);
        archive >> value;
    }
    std::string rest(std::istreambuf_iterator<char>(stream), {});
    if (rest.find_first_not_of('\n') != std::string::npos)
        refuse_archive("of a " + std::string(form_of<T>.name) + " has " +
                       std::to_string(rest.size()) + " bytes behind its end");
    return value;
}

} // namespace detail

/// A value as bytes, for this library on machines of this kind.
///
/// \post `from_bytes<T>(to_bytes(value)) == value`
template <storable_alone T>
std::string to_bytes(T const& value) {
    return detail::write_all<boost::archive::binary_oarchive>(value);
}

/// The value that `to_bytes` made bytes of.
///
/// \throws error with errc::corrupt_file for bytes that are cut off, damaged so that they
///         contradict themselves, or of something else; with errc::unsupported for those of another
///         version
template <storable_alone T>
T from_bytes(std::string const& bytes) {
    return detail::read_all<boost::archive::binary_iarchive, T>(bytes);
}

/// A list as bytes, for this library on machines of this kind; its elements may be parts of other
/// values.
template <storable T>
std::string list_to_bytes(std::vector<T> const& list) {
    std::ostringstream stream;
    boost::archive::binary_oarchive archive(stream, boost::archive::no_header);
    detail::write_list(archive, list);
    return std::move(stream).str();
}

/// The list that `list_to_bytes` made bytes of.
///
/// \throws error with errc::corrupt_file for bytes that it did not make
template <storable T>
std::vector<T> list_from_bytes(std::string const& bytes) {
    return detail::blame_archive("list of " + std::string(form_of<T>.name) + "s", [&] {
        std::istringstream stream(bytes);
        boost::archive::binary_iarchive archive(stream, boost::archive::no_header);
        std::vector<T> list = detail::read_list<T>(archive);
        if (stream.peek() != std::istringstream::traits_type::eof())
            detail::refuse_archive("of a list of " + std::string(form_of<T>.name) +
                                   "s has bytes behind its end");
        return list;
    });
}

/// A value as numbers in ASCII, for every machine.
///
/// \post `from_text<T>(to_text(value)) == value`
template <storable_alone T>
std::string to_text(T const& value) {
    return detail::write_all<boost::archive::text_oarchive>(value);
}

/// The value that `to_text` made a text of.
///
/// \throws error as `from_bytes`
template <storable_alone T>
T from_text(std::string const& text) {
    return detail::read_all<boost::archive::text_iarchive, T>(text);
}

} // namespace reshard

#endif
