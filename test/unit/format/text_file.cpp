// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/error.hpp>
#include <reshard/format/text_file.hpp>

#include "temporary_directory.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(format_text_file)

namespace {

using namespace reshard;
using namespace reshard::detail;

template <class Call>
errc refusal(Call call) {
    try {
        call();
    } catch (error const& thrown) {
        return thrown.code();
    }
    return errc::usage;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_file_is_read_whole_or_from_its_beginning) {
    test::temporary_directory const directory;
    std::string const long_text(3'000'001, 'x');
    auto const path = directory.write("f", long_text);
    BOOST_TEST((read_text_file(path) == long_text));
    open_file file = open_to_read(*files_of_system(), path);
    BOOST_TEST(file.bytes == 3'000'001u);
    BOOST_TEST(read_bytes(file, 3) == "xxx");
    BOOST_TEST(read_bytes(file, 0) == "");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_is_an_error) {
    test::temporary_directory const directory;
    auto const path = directory.write("f", "1234");
    BOOST_TEST((refusal([&] { read_text_file(directory.path() / "g"); }) == errc::missing_file));
    BOOST_TEST((refusal([&] { read_text_file(directory.path()); }) == errc::corrupt_file));
    BOOST_TEST((refusal([&] { read_text_file(path, 3); }) == errc::limit_exceeded));
    // A length that the file claims but does not have: no memory is taken for it.
    open_file file = open_to_read(*files_of_system(), path);
    BOOST_TEST((refusal([&] { read_bytes(file, std::uint64_t{1} << 60); }) == errc::corrupt_file));
}

BOOST_AUTO_TEST_CASE(a_byte_that_is_no_character_is_found_wherever_it_stands) {
    for (std::size_t size = 0; size < 40; ++size) {
        std::string const plain(size, 'x');
        BOOST_TEST(find_invalid_utf8(plain) == size);
        for (std::size_t i = 0; i < size; ++i) {
            std::string text = plain;
            text[i] = '\x80';
            BOOST_TEST(find_invalid_utf8(text) == i);
            text = plain;
            text.replace(i, 1, "\xc3\xa9"); // one character of two bytes
            BOOST_TEST(find_invalid_utf8(text) == size + 1);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
