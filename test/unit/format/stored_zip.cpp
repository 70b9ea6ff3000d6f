// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/zip/stored_zip.hpp>

#include "memory_file.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(format_stored_zip)

namespace {

using namespace reshard;
using namespace reshard::detail;

std::string number(std::uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i, value >>= 8)
        text += static_cast<char>(value & 0xff);
    return text;
}

/// A member as it is to be written; what does not fit its bytes is wrong on purpose.
struct member {
    std::string name;
    std::string bytes;
    unsigned method = 0;
    unsigned flags = 0;
    std::string extra{};             ///< of its entry in the directory
    std::uint32_t said = 0xffffffff; ///< its size there, if not that of the bytes
};

/// An archive as APPNOTE.TXT describes it.
struct archive {
    std::string files;
    std::string directory;
    std::size_t count = 0;

    archive(std::initializer_list<member> members) {
        for (member const& one : members)
            add(one, files.size());
    }

    void add(member const& one, std::uint64_t header) {
        std::string const common =
            number(one.flags, 2) + number(one.method, 2) + number(0, 4) + number(0, 4);
        std::uint64_t const size = one.said == 0xffffffff ? one.bytes.size() : one.said;
        files += "PK\3\4" + number(0, 2) + common + number(one.bytes.size(), 4) +
                 number(one.bytes.size(), 4) + number(one.name.size(), 2) + number(3, 2) +
                 one.name + "pad" + one.bytes;
        directory += "PK\1\2" + number(0, 4) + common + number(size, 4) + number(size, 4) +
                     number(one.name.size(), 2) + number(one.extra.size(), 2) + number(0, 2) +
                     number(0, 8) + number(header, 4) + one.name + one.extra;
        ++count;
    }

    std::string end(std::string const& comment = {}) const {
        return "PK\5\6" + number(0, 4) + number(count, 2) + number(count, 2) +
               number(directory.size(), 4) + number(files.size(), 4) + number(comment.size(), 2) +
               comment;
    }

    /// The end of an archive with numbers of 64 bits.
    std::string end64() const {
        return "PK\6\6" + number(44, 8) + number(0, 4) + number(0, 8) + number(count, 8) +
               number(count, 8) + number(directory.size(), 8) + number(files.size(), 8) + "PK\6\7" +
               number(0, 4) + number(files.size() + directory.size(), 8) + number(1, 4) + "PK\5\6" +
               number(0, 4) + number(0xffff, 2) + number(0xffff, 2) + number(0xffffffff, 4) +
               number(0xffffffff, 4) + number(0, 2);
    }

    std::string text() const { return files + directory + end(); }
};

std::vector<zip_member> read(std::string const& text) {
    return read_zip(reshard::test::memory_file(text), "z", {0, text.size()});
}

std::string refusal(std::string const& text, errc code = errc::corrupt_file) {
    try {
        read(text);
    } catch (error const& thrown) {
        BOOST_TEST((thrown.code() == code), thrown.what());
        return thrown.what();
    }
    return "accepted";
}

} // namespace

BOOST_AUTO_TEST_CASE(members_are_where_their_bytes_are) {
    archive const two{{"a", "12345"}, {"bc", ""}};
    // 30 bytes of header, the name and three bytes of padding come before the bytes.
    std::vector<zip_member> const expected{{"a", {34, 39}}, {"bc", {74, 74}}};
    BOOST_TEST((read(two.text()) == expected));
    BOOST_TEST((read(two.files + two.directory + two.end64()) == expected));
    BOOST_TEST((read(two.files + two.directory + two.end("PK\5\6 a comment")) == expected));
}

BOOST_AUTO_TEST_CASE(an_archive_may_be_a_range_of_a_file) {
    std::string const text = archive{{"a", "12345"}}.text();
    auto const found =
        read_zip(reshard::test::memory_file("before" + text + "behind"), "z", {6, 6 + text.size()});
    BOOST_TEST((found == std::vector<zip_member>{{"a", {40, 45}}}));
}

BOOST_AUTO_TEST_CASE(sizes_of_64_bits_are_read) {
    archive all{};
    all.add({"a", "12345", 0, 0, number(1, 2) + number(16, 2) + number(5, 8) + number(5, 8),
             0xfffffffe},
            0);
    BOOST_TEST(refusal(all.text()).find("exceeds what is before the directory") !=
               std::string::npos);
    archive large{};
    large.add({"a", "12345", 0, 0, number(1, 2) + number(16, 2) + number(5, 8) + number(5, 8)}, 0);
    large.directory.replace(20, 8, number(0xffffffff, 4) + number(0xffffffff, 4));
    BOOST_TEST((read(large.text()) == std::vector<zip_member>{{"a", {34, 39}}}));
    large.directory.replace(large.directory.size() - 16, 8, number(6, 8));
    BOOST_TEST(refusal(large.text()).find("'a' is stored, but in another size") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(compressed_and_encrypted_members_are_refused_by_name) {
    BOOST_TEST(
        refusal(archive{{"w", "12345", 8}}.text(), errc::unsupported) ==
        "z: byte 39: the member 'w' is compressed (method 8), and only stored ones are read: "
        "write the file without compression");
    BOOST_TEST(refusal(archive{{"w", "12345", 0, 1}}.text(), errc::unsupported) ==
               "z: byte 39: the member 'w' is encrypted");
}

BOOST_AUTO_TEST_CASE(members_lie_apart_and_before_the_directory) {
    archive shared{{"a", "12345"}};
    shared.add({"b", "1"}, 0); // begins where the first one does
    BOOST_TEST(refusal(shared.text()) == "z: byte 0: the member 'b' lies in another one");
    BOOST_TEST(
        refusal(archive{{"a", "12345", 0, 0, {}, 500}}.text()) ==
        "z: byte 34: the member 'a' has 500 bytes, and exceeds what is before the directory");
    archive apart{{"a", "12345"}};
    apart.add({"b", "1"}, 3);
    BOOST_TEST(refusal(apart.text()).find("byte 3: the member 'b'") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_is_counted_is_what_lies_there) {
    archive const two{{"a", "1"}, {"b", "2"}};
    for (std::size_t count = 0; count < 2; ++count) {
        archive few = two;
        few.count = count;
        BOOST_TEST(refusal(few.text()).find("counts " + std::to_string(count) + " member") !=
                   std::string::npos);
    }
    BOOST_TEST(refusal(archive{{"a", "1"}, {"a", "2"}}.text()).find("has the member 'a' twice") !=
               std::string::npos);
    for (bool const loses_first : {true, false}) {
        archive lost = two;
        lost.count = 1;
        lost.directory = two.directory.substr(loses_first ? 47 : 0, 47);
        BOOST_TEST(refusal(lost.text()).find("begins here that the directory does not list") !=
                   std::string::npos);
    }
    archive renamed = two;
    renamed.directory.back() = 'c';
    BOOST_TEST(refusal(renamed.text()) ==
               "z: byte 35: the member 'c' has another name where it lies");
}

BOOST_AUTO_TEST_CASE(what_is_cut_off_is_refused) {
    std::string const text = archive{{"a", "12345"}, {"b", "6"}}.text();
    for (std::size_t bytes = 0; bytes < text.size(); ++bytes)
        BOOST_TEST(refusal(text.substr(0, bytes)) != "accepted");
    archive many{{"a", "1"}};
    many.count = 60000;
    BOOST_TEST(refusal(many.text()) ==
               "z: byte 35: a directory of 47 bytes is said to have 60000 members");
}

BOOST_AUTO_TEST_SUITE_END()
