// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/zip/stored_zip.hpp>

#include <reshard/os/file_bytes.hpp>

#include "memory_file.hpp"
#include "temporary_directory.hpp"

#include <boost/test/unit_test.hpp>

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
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
    std::uint32_t said = 0xffffffff; ///< its size there, if not the bytes' size
};

/// An archive as APPNOTE.TXT describes it.
struct archive {
    std::string files;
    std::string directory;
    std::size_t count = 0;

    archive(std::initializer_list<member> members) {
        for (member const& member : members)
            add(member, files.size());
    }

    void add(member const& member, std::uint64_t header) {
        std::string const common =
            number(member.flags, 2) + number(member.method, 2) + number(0, 4) + number(0, 4);
        std::uint64_t const size = member.said == 0xffffffff ? member.bytes.size() : member.said;
        files += "PK\3\4" + number(0, 2) + common + number(member.bytes.size(), 4) +
                 number(member.bytes.size(), 4) + number(member.name.size(), 2) + number(3, 2) +
                 member.name + "pad" + member.bytes;
        directory += "PK\1\2" + number(0, 4) + common + number(size, 4) + number(size, 4) +
                     number(member.name.size(), 2) + number(member.extra.size(), 2) + number(0, 2) +
                     number(0, 8) + number(header, 4) + member.name + member.extra;
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
    auto const zip =
        read_zip(reshard::test::memory_file("before" + text + "behind"), "z", {6, 6 + text.size()});
    BOOST_TEST((zip == std::vector<zip_member>{{"a", {40, 45}}}));
}

BOOST_AUTO_TEST_CASE(sizes_of_64_bits_are_read) {
    archive full_archive{};
    full_archive.add({"a", "12345", 0, 0,
                      number(1, 2) + number(16, 2) + number(5, 8) + number(5, 8), 0xfffffffe},
                     0);
    BOOST_TEST(refusal(full_archive.text()).find("overlaps the directory") != std::string::npos);
    archive large{};
    large.add({"a", "12345", 0, 0, number(1, 2) + number(16, 2) + number(5, 8) + number(5, 8)}, 0);
    large.directory.replace(20, 8, number(0xffffffff, 4) + number(0xffffffff, 4));
    BOOST_TEST((read(large.text()) == std::vector<zip_member>{{"a", {34, 39}}}));
    large.directory.replace(large.directory.size() - 16, 8, number(6, 8));
    BOOST_TEST(refusal(large.text()).find("'a' is stored, but its two sizes differ: ") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(compressed_and_encrypted_members_say_so) {
    auto const packed = read(archive{{"w", "12345", 8}}.text());
    BOOST_TEST_REQUIRE(packed.at(0).packing.has_value());
    BOOST_TEST(packed[0].packing->method == zip_packing::deflated);
    auto const refused = [](zip_member const& member) {
        try {
            check_stored(member, "z");
        } catch (error const& thrown) {
            BOOST_TEST((thrown.code() == errc::unsupported));
            return std::string(thrown.what());
        }
        return std::string("accepted");
    };
    BOOST_TEST(refused(packed[0]) ==
               "z: byte 34: the member 'w' is compressed, but only stored members are supported "
               "here: write the file without compression");
    BOOST_TEST(refused(read(archive{{"w", "12345", 0, 1}}.text()).at(0)) ==
               "z: byte 34: the member 'w' is encrypted");
    BOOST_TEST(refused(read(archive{{"w", "12345"}}.text()).at(0)) == "accepted");
}

namespace {

/// The output of zlib for a text, without a header.
std::string deflated(std::string const& text) {
    z_stream stream{};
    BOOST_TEST_REQUIRE(deflateInit2(&stream, 1, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) ==
                       Z_OK);
    std::string packed(deflateBound(&stream, text.size()), ' ');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    BOOST_TEST_REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return packed;
}

zip_member member_of(std::string const& packed, std::string const& text) {
    return {"w",
            {0, packed.size()},
            zip_packing{zip_packing::deflated, false, text.size(), zip_checksum(text)}};
}

/// An archive with a member of these bytes, of which the directory says what `member` says.
std::string archive_of(std::string const& packed, zip_member const& member) {
    archive archive{};
    archive.add({"w", packed, 8, 0, number(1, 2) + number(8, 2) + number(member.packing->bytes, 8)},
                0);
    archive.directory.replace(16, 12,
                              number(member.packing->checksum, 4) + number(member.bytes.size(), 4) +
                                  number(0xffffffff, 4));
    return archive.text();
}

/// The files of the system, of which a reading fails.
class failing_files : public file_store {
public:
    kind find(std::filesystem::path const& path) const override {
        return files_of_system()->find(path);
    }
    reshard::vector<std::filesystem::path> list(std::filesystem::path const& path) const override {
        return files_of_system()->list(path);
    }
    std::unique_ptr<file> open(std::filesystem::path const& path) const override {
        return std::make_unique<failing_file>(files_of_system()->open(path), until_failure);
    }

    mutable int until_failure = 1 << 30;

private:
    class failing_file : public file {
    public:
        failing_file(std::unique_ptr<file> real, int& until_failure)
            : real_(std::move(real)), until_failure_(until_failure) {}

        identity facts() const override { return real_->facts(); }
        void read(std::uint64_t position, std::span<std::byte> target) const override {
            if (until_failure_-- == 0)
                fail(errc::io, "the disk is away");
            real_->read(position, target);
        }

    private:
        std::unique_ptr<file> real_;
        int& until_failure_;
    };
};

/// A file that is such an archive, and how it is read.
struct inflated {
    explicit inflated(std::string const& packed, zip_member const& member,
                      std::shared_ptr<file_store const> files = files_of_system())
        : store(std::move(files)),
          file(store.open(directory.write("z", archive_of(packed, member)))),
          where(shown_members(*file, "z").at(0).bytes.value()) {}

    std::string read(std::uint64_t position, std::size_t count) const {
        std::string text(count, ' ');
        file->read(where.begin + position, std::as_writable_bytes(std::span(text)));
        return text;
    }

    reshard::test::temporary_directory directory;
    files_with_inflated store;
    std::unique_ptr<file_store::file> file;
    byte_run where;
};

std::string damage(std::string const& packed, zip_member const& member) {
    try {
        inflated const inflated(packed, member);
        inflated.read(0, member.packing->bytes);
    } catch (error const& thrown) {
        BOOST_TEST((thrown.code() == errc::corrupt_file), thrown.what());
        return thrown.what();
    }
    return "accepted";
}

} // namespace

BOOST_AUTO_TEST_CASE(a_deflated_member_is_read_in_windows) {
    std::string text;
    for (std::uint64_t i = 0; text.size() < (9u << 20); ++i) // more than two places that are kept
        text += number(i * i, 8);
    std::string const packed = deflated(text);
    inflated const inflated(packed, member_of(packed, text));
    BOOST_TEST(inflated.read(0, 10) == text.substr(0, 10));
    std::uint64_t const last = text.size() - 7;
    for (std::uint64_t const position :
         {std::uint64_t{1} << 20, last, std::uint64_t{5}, std::uint64_t{(4u << 20) - 3},
          std::uint64_t{8u << 20}, std::uint64_t{0}})
        BOOST_TEST((inflated.read(position, 7) == text.substr(position, 7)));
    BOOST_TEST((inflated.read(0, text.size()) == text));
    std::string start(3, ' ');
    inflated.file->read(0, std::as_writable_bytes(std::span(start)));
    BOOST_TEST(start == "PK\3"); // what is in the file is where it was
}

BOOST_AUTO_TEST_CASE(a_member_is_read_again_after_a_reading_that_failed) {
    std::string text;
    for (std::uint64_t i = 0; text.size() < (1u << 20); ++i)
        text += number(i * i, 8);
    std::string const packed = deflated(text);
    BOOST_TEST_REQUIRE(packed.size() > (1u << 16)); // several pieces of the file
    auto const files = std::make_shared<failing_files const>();
    inflated const inflated(packed, member_of(packed, text), files);
    BOOST_TEST(inflated.read(0, 10) == text.substr(0, 10));
    files->until_failure = 2;
    BOOST_CHECK_THROW(inflated.read(0, text.size()), error);
    BOOST_TEST((inflated.read(10, text.size() - 10) == text.substr(10)));
}

BOOST_AUTO_TEST_CASE(a_deflated_member_that_is_not_what_is_said_is_damaged) {
    std::string const text(100000, 'x');
    std::string const packed = deflated(text);
    zip_member const member = member_of(packed, text);
    BOOST_TEST(damage(packed, member) == "accepted");
    auto const said = [&](std::uint64_t bytes) {
        zip_member zip_member = member;
        zip_member.packing->bytes = bytes;
        return damage(packed, zip_member);
    };
    BOOST_TEST(said(99999).find("should have 99999 bytes, but has more") != std::string::npos);
    BOOST_TEST(said(100001).find("should have 100001 bytes, but has 100000") != std::string::npos);
    BOOST_TEST(said(std::uint64_t{1} << 40).find("deflated bytes cannot contain them") !=
               std::string::npos);
    zip_member zip_member = member;
    zip_member.packing->checksum ^= 1;
    BOOST_TEST(damage(packed, zip_member).find("their checksum does not match") !=
               std::string::npos);
    zip_member = member;
    zip_member.bytes.end += 2;
    BOOST_TEST(damage(packed + "..", zip_member).find("ends 2 bytes before") != std::string::npos);
    zip_member.bytes.end -= 12; // cut short
    BOOST_TEST(damage(packed, zip_member) != "accepted");
    std::string broken = packed;
    broken[0] = '\x07'; // a kind of block that there is not
    BOOST_TEST(damage(broken, member).find("cannot be inflated") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(members_lie_apart_and_before_the_directory) {
    archive shared{{"a", "12345"}};
    shared.add({"b", "1"}, 0); // begins where the first one does
    BOOST_TEST(refusal(shared.text()) == "z: byte 0: the member 'b' overlaps another member");
    BOOST_TEST(refusal(archive{{"a", "12345", 0, 0, {}, 500}}.text()) ==
               "z: byte 34: the member 'a' has 500 bytes and overlaps the directory");
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
               "z: byte 35: the member 'c' has another name in its own header");
}

BOOST_AUTO_TEST_CASE(what_is_cut_off_is_refused) {
    std::string const text = archive{{"a", "12345"}, {"b", "6"}}.text();
    for (std::size_t bytes = 0; bytes < text.size(); ++bytes)
        BOOST_TEST(refusal(text.substr(0, bytes)) != "accepted");
    archive many{{"a", "1"}};
    many.count = 60000;
    BOOST_TEST(refusal(many.text()) ==
               "z: byte 35: a directory of 47 bytes cannot list 60000 members");
}

BOOST_AUTO_TEST_SUITE_END()
