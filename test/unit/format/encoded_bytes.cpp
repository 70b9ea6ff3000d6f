// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/pickle/encoded_bytes.hpp>

#include "memory_file.hpp"
#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(format_encoded_bytes)

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;
using namespace std::string_literals;

/// The text whose characters have the numbers of the bytes, as Python's `decode('latin1')` in UTF-8.
std::string text_of(std::string const& bytes) {
    std::string text;
    for (char const byte : bytes) {
        auto const number = static_cast<unsigned char>(byte);
        if (number >= 128)
            text += number < 192 ? '\xc2' : '\xc3';
        text += static_cast<char>(number < 192 ? number : number - 64);
    }
    return text;
}

std::string random_bytes(std::size_t count, unsigned below) {
    std::mt19937 random(static_cast<unsigned>(count));
    std::string bytes(count, ' ');
    for (char& byte : bytes)
        byte = static_cast<char>(random() % below);
    return bytes;
}

/// A file in which the text begins at byte 3.
struct file_of_text {
    explicit file_of_text(std::string const& text)
        : file("abc" + text + "def"), where{3, 3 + text.size()} {}

    memory_file file;
    byte_run where;
};

std::string read(encoded_bytes const& bytes, memory_file const& file, std::uint64_t position,
                 std::uint64_t count) {
    std::string result(count, '?');
    bytes.read(file, position, std::as_writable_bytes(std::span(result)));
    return result;
}

/// Reads all bytes of a text that does not have that number of bytes.
void refused(std::string const& text, std::uint64_t bytes, std::string const& problem) {
    file_of_text const of(text);
    BOOST_CHECK_EXCEPTION(read(encoded_bytes(of.where, bytes, "f: tensor 'w'"), of.file, 0, bytes),
                          error, mentions(errc::corrupt_file, problem));
}

} // namespace

BOOST_AUTO_TEST_CASE(a_text_in_latin_1_is_its_bytes_and_any_other_is_none) {
    std::string const bytes = random_bytes(1000, 256);
    BOOST_TEST((latin1_bytes(text_of(bytes)) == bytes));
    BOOST_TEST((latin1_bytes("") == ""));
    for (std::string const& text :
         {"\xc4\x80"s, "\xe2\x82\xac"s, "a\xc3"s, "\x80"s, "\xc3\xc3\xbf"s})
        BOOST_TEST(!latin1_bytes(text));
}

BOOST_AUTO_TEST_CASE(bytes_are_the_numbers_of_characters) {
    std::string const text = "\0\1\x7f\x80\xbf\xc0\xff"s;
    file_of_text const of("\0\1\x7f\xc2\x80\xc2\xbf\xc3\x80\xc3\xbf"s);
    encoded_bytes const bytes(of.where, text.size(), "f");
    for (std::size_t begin = 0; begin <= text.size(); ++begin)
        for (std::size_t count = 0; begin + count <= text.size(); ++count)
            BOOST_TEST((read(bytes, of.file, begin, count) == text.substr(begin, count)));
}

BOOST_AUTO_TEST_CASE(any_part_of_a_long_text_is_found) {
    // Steps that end after and within characters: of one byte each, of both kinds, of two.
    for (unsigned const below : {128u, 256u}) {
        std::string const text = random_bytes(300000, below);
        file_of_text const of(text_of(text));
        BOOST_TEST(of.where.size() > 4 * encoded_bytes::step);
        encoded_bytes const bytes(of.where, text.size(), "f");
        std::mt19937 random(5);
        for (int i = 0; i < 300; ++i) {
            std::size_t const begin = random() % text.size();
            std::size_t const count = random() % (i % 3 == 0 ? text.size() : 20);
            BOOST_TEST((read(bytes, of.file, begin, std::min(count, text.size() - begin)) ==
                        text.substr(begin, count)));
        }
    }
    std::string const high(2 * encoded_bytes::step + 1, '\xe9');
    file_of_text const shifted("a" + text_of(high)); // a character lies over each end of a step
    encoded_bytes const bytes(shifted.where, high.size() + 1, "f");
    for (std::uint64_t const begin : {encoded_bytes::step / 2 - 1, encoded_bytes::step / 2,
                                      encoded_bytes::step / 2 + 1, 2 * encoded_bytes::step})
        BOOST_TEST((read(bytes, shifted.file, begin, 2) == "\xe9\xe9"));
}

BOOST_AUTO_TEST_CASE(a_text_of_other_bytes_is_refused) {
    refused("abc", 4, "f: tensor 'w': 4 bytes are expected, but a string of 3 bytes does not have");
    refused("abcdef", 2, "2 bytes are expected, but a string of 6 bytes does not have that number");
    refused("\xc3\xa9\xc3\xa9", 3,
            "f: tensor 'w': the string from byte 3 to 7 is too short; expected 3 bytes");
    refused("\xc3\xa9g", 1, "the string from byte 3 to 6 is too long");
    refused("a\xc4\x80", 2, "has a character whose number is above 255"); // of number 256
    refused("a\xe4\xb8\xad", 2, "has a character whose number is above 255");
    refused("a\x80g", 2, "has a character whose number is above 255"); // begins with none
    refused("\xc3gg", 2, "has a character whose number is above 255");
}

BOOST_AUTO_TEST_CASE(a_file_has_the_bytes_of_its_texts_behind_its_end) {
    // [text, text] of protocol 2, the second of which is long.
    std::string const small = "a\xff", large = random_bytes(5000, 256);
    std::string const text = text_of(large);
    std::string const length{static_cast<char>(text.size() & 0xff),
                             static_cast<char>(text.size() >> 8), 0, 0};
    std::string const codes = "\x80\x02](X\3\0\0\0"s + text_of(small) + "X" + length + text + "e.";
    class one_file : public file_store {
    public:
        explicit one_file(std::string bytes) : bytes_(std::move(bytes)) {}
        kind find(std::filesystem::path const&) const override { return kind::file; }
        reshard::vector<std::filesystem::path> list(std::filesystem::path const&) const override {
            return {};
        }
        std::unique_ptr<file> open(std::filesystem::path const&) const override {
            return std::make_unique<memory_file>(bytes_);
        }

    private:
        std::string bytes_;
    };
    files_with_encoded_bytes files(std::make_shared<one_file>(codes), "p");
    auto const real = files.open("q");
    pickle const values(*real, "p", {0, real->facts().bytes}, {});
    auto const texts = values.elements(values.root(), "it");
    BOOST_TEST_REQUIRE(texts.size() == 2u);
    BOOST_TEST((texts[1].type == pickle_value::kind::long_text));
    std::uint64_t const first = files.add(values, texts[0], 2, "tensor 'a'");
    std::uint64_t const second = files.add(values, texts[1], large.size(), "tensor 'b'");
    BOOST_TEST(files.add(values, texts[1], large.size(), "tensor 'c'") == second);
    BOOST_CHECK_EXCEPTION(
        files.add(values, texts[0], 3, "tensor 'a'"), error,
        mentions(
            errc::corrupt_file,
            "p: tensor 'a': its elements are a string of 3 bytes, which does not encode 3 bytes"));
    BOOST_CHECK_EXCEPTION(
        files.add(values, texts[1], large.size() - 1, "tensor 'b'"), error,
        mentions(errc::corrupt_file,
                 "tensor 'b': the same string has 4999 bytes here, but in another"));
    auto const file = files.open("p");
    std::string match(large.size(), ' ');
    file->read(second, std::as_writable_bytes(std::span(match)));
    BOOST_TEST((match == large));
    match.resize(2);
    file->read(first, std::as_writable_bytes(std::span(match)));
    BOOST_TEST((match == small));
    file->read(0, std::as_writable_bytes(std::span(match)));
    BOOST_TEST((match == "\x80\x02"));
    BOOST_CHECK_THROW(file->read(first + 1, std::as_writable_bytes(std::span(match))), error);
}

BOOST_AUTO_TEST_SUITE_END()
