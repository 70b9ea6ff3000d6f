// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/chunk_digests.hpp>

#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(format_chunk_digests)

namespace {

using namespace reshard;
using namespace reshard::detail;

std::vector<std::byte> bytes(std::size_t count) {
    std::vector<std::byte> bytes(count);
    for (std::size_t i = 0; i < count; ++i)
        bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
    return bytes;
}

using sizes = std::vector<std::uint64_t>;

} // namespace

BOOST_AUTO_TEST_CASE(the_digest_is_xxh3) {
    // The test vector of XXH3 for no bytes and no seed.
    BOOST_TEST(digest_of_bytes({}) == 0x2d06800538d394c2u);
    BOOST_TEST(hex_text(0x2d06800538d394c2u) == "2d06800538d394c2");
    BOOST_TEST(hex_text(255) == "00000000000000ff");
}

BOOST_AUTO_TEST_CASE(a_tensor_has_a_digest_for_each_chunk) {
    auto const data = bytes(10);
    auto const digests = digests_of(data, 4);
    BOOST_TEST_REQUIRE(digests.size() == 3u);
    BOOST_TEST(digests[0] == digest_of_bytes({data.data(), 4}));
    BOOST_TEST(digests[1] == digest_of_bytes({data.data() + 4, 4}));
    BOOST_TEST(digests[2] == digest_of_bytes({data.data() + 8, 2}));
    BOOST_TEST(digests_of(std::span(data).first(8), 4).size() == 2u);
    BOOST_TEST(digests_of({}, 4).empty());
}

BOOST_AUTO_TEST_CASE(a_changed_byte_changes_the_digest_of_its_chunk_alone) {
    auto data = bytes(12);
    auto const before = digests_of(data, 4);
    for (std::size_t i = 0; i < data.size(); ++i) {
        data[i] ^= std::byte{1};
        auto const after = digests_of(data, 4);
        for (std::size_t chunk = 0; chunk < 3; ++chunk)
            BOOST_TEST((before[chunk] == after[chunk]) == (chunk != i / 4));
        data[i] ^= std::byte{1};
    }
}

BOOST_AUTO_TEST_CASE(the_text_is_sizes_and_digits) {
    chunk_digests const digests{16, {{1, 0xabc}, {}, {0xffffffffffffffff}}};
    std::string const text = "16 00000000000000010000000000000abc,,ffffffffffffffff";
    BOOST_TEST(to_text(digests) == text);
    BOOST_TEST((parse_digests(text, sizes{17, 0, 16}, "f") == digests));
}

BOOST_AUTO_TEST_CASE(unknown_digests_have_the_length_of_known_ones) {
    sizes const tensors{0, 1, 1 << 20, (1 << 20) + 1};
    chunk_digests digests;
    for (std::uint64_t const count : {0u, 1u, 1u, 2u})
        digests.tensors.emplace_back(count, ~std::uint64_t{});
    BOOST_TEST(unknown_digests(tensors).size() == to_text(digests).size());
    BOOST_TEST(unknown_digests({}) == "1048576");
}

BOOST_AUTO_TEST_CASE(a_text_that_does_not_fit_the_tensors_is_refused) {
    std::string const name = "0000000000000001";
    for (std::string const& text :
         {std::string(), "4" + name, "4 " + name + name, "4 " + name + ",",
          "4 " + name + "," + name, "4 000000000000000g," + name + name,
          "0 " + name + "," + name + name, "-4 " + name, "4 " + name + "," + name + name + " ",
          "99999999999999999999 " + name})
        BOOST_CHECK_EXCEPTION(parse_digests(text, sizes{4, 5}, "file"), error,
                              test::mentions(errc::corrupt_file, "file: RESHARD_DIGESTS"));
}

BOOST_AUTO_TEST_CASE(digests_are_read_tensor_by_tensor) {
    digest_reader reader("16 00000000000000010000000000000abc,,ffffffffffffffff", "f");
    BOOST_TEST(reader.chunk_bytes() == 16u);
    BOOST_TEST((reader.next(17) == digest_list{1, 0xabc}));
    BOOST_TEST((reader.next(0) == digest_list{}));
    BOOST_CHECK_EXCEPTION(reader.check_end(), error,
                          test::mentions(errc::corrupt_file, "f: RESHARD_DIGESTS"));
    BOOST_TEST((reader.next(16) == digest_list{~std::uint64_t{}}));
    reader.check_end();
}

BOOST_AUTO_TEST_CASE(the_long_digest_of_texts_is_that_of_all_of_them_behind_one_another) {
    std::string const first(300, 'a'), second, third(1000, 'b');
    std::string const text = first + second + third;
    std::string_view const texts[] = {first, second, third}, one[] = {text};
    BOOST_TEST(long_digest_text_of(texts) == long_digest_text_of(one));
    // The test vector of XXH3 of 128 bits for no bytes and no seed.
    BOOST_TEST(long_digest_text_of({}) == "99aa06d3014798d86001c324468d497f");
}

BOOST_AUTO_TEST_SUITE_END()
