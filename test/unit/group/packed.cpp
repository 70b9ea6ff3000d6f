// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/group/packed.hpp>

#include <boost/test/unit_test.hpp>

#include <limits>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(group_packed)

BOOST_AUTO_TEST_CASE(what_was_packed_comes_back_in_its_order) {
    std::string bytes;
    pack(bytes, std::uint64_t{513});
    pack(bytes, std::string_view("a\0b", 3));
    pack(bytes, index_vector{-1, std::numeric_limits<index_t>::max()});
    pack(bytes, std::string_view());
    BOOST_TEST(bytes.size() == 8u + 8 + 3 + 8 + 2 * 8 + 8);
    BOOST_TEST(bytes.substr(0, 8) == std::string("\1\2\0\0\0\0\0\0", 8));
    unpacker parts(bytes);
    BOOST_TEST(parts.number() == 513u);
    BOOST_TEST(parts.text() == std::string_view("a\0b", 3));
    BOOST_TEST((parts.numbers() == index_vector{-1, std::numeric_limits<index_t>::max()}));
    BOOST_TEST(!parts.empty());
    BOOST_TEST(parts.text() == "");
    BOOST_TEST(parts.empty());
}

BOOST_AUTO_TEST_SUITE_END()
