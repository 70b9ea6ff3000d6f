// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_ARCHIVES_HPP
#define RESHARD_TEST_SUPPORT_ARCHIVES_HPP

#include <reshard/group/wire.hpp>

#include <boost/archive/text_iarchive.hpp>
#include <boost/archive/text_oarchive.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <sstream>
#include <string>

/// \file
/// What every value that can be stored has to do.

namespace reshard::test {

using namespace reshard::detail;

/// The value as an archive of text gives it back.
template <class T>
T through_archive(T const& value) {
    std::stringstream stream;
    {
        boost::archive::text_oarchive archive(stream);
        archive << value;
    }
    boost::archive::text_iarchive archive(stream);
    T result{};
    archive >> result;
    return result;
}

/// True if bytes and archives give the value back.
template <class T>
bool comes_back(T const& value) {
    return from_bytes<T>(to_bytes(value)) == value && through_archive(value) == value;
}

/// The bytes of something else that is laid out as a `T` is, posing as one.
template <class T, class Other>
std::string posing_as(Other const& content, std::uint8_t version = wire_version) {
    detail::byte_writer to;
    to.add(detail::wire_mark);
    to.add(form_of<T>.number);
    to.add(version);
    to.add(content);
    to.add(detail::wire_mark);
    return to.take();
}

/// The code's name and the sentence of what `read` throws.
template <class Read>
std::string said(Read&& read) {
    try {
        read();
    } catch (error const& problem) {
        return std::string(name(problem.code())) + ": " + problem.what();
    }
    return "nothing was thrown";
}

/// How many of the archives that lack some bytes at the end are not refused as corrupt.
template <class T>
int cut_archives_that_pass(T const& value) {
    auto const is_refused = [](auto&& read) {
        return said(read).starts_with("corrupt_file: the archive ");
    };
    int passed = 0;
    std::string const bytes = to_bytes(value);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        passed += !is_refused([&] { from_bytes<T>(bytes.substr(0, size)); });
    return passed;
}

/// Reads the bytes with each one changed in several ways, and counts the values that are read none
/// the less.
///
/// A changed number may be another legal one; each value that comes back can be written and read
/// again.
template <class T>
int damaged_archives_that_pass(T const& value) {
    int passed = 0;
    std::string const bytes = to_bytes(value);
    for (std::size_t i = 0; i < bytes.size(); ++i)
        for (int const change : {0x01, 0x80, 0xff}) {
            std::string damaged = bytes;
            damaged[i] = static_cast<char>(damaged[i] ^ change);
            try {
                T const other_value = from_bytes<T>(damaged);
                BOOST_TEST(comes_back(other_value));
                ++passed;
            } catch (error const&) {
            }
        }
    return passed;
}

/// `bytes` with the number `from`, of which there has to be one, replaced by `to`.
template <class Number>
std::string replaced(std::string bytes, Number from, Number to) {
    auto const raw = [](Number const& number) {
        return std::string(reinterpret_cast<char const*>(&number), sizeof(Number));
    };
    std::size_t const index = bytes.find(raw(from));
    BOOST_TEST_REQUIRE(index != std::string::npos);
    BOOST_TEST_REQUIRE(bytes.find(raw(from), index + 1) == std::string::npos);
    return bytes.replace(index, sizeof(Number), raw(to));
}

} // namespace reshard::test

#endif
