// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/group/bytes.hpp>

#include <reshard/plan/options.hpp>

#include "support/archives.hpp"

#include <limits>
#include <map>
#include <optional>
#include <reshard/core/vector.hpp>

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

BOOST_AUTO_TEST_SUITE(serialization_bytes)

BOOST_AUTO_TEST_CASE(bytes_are_mark_form_version_value_and_mark) {
    // 4 + 1 + 1 in front, 4 + 1 + 4 + 1 of the options, a network, 4 at the end.
    std::string const bytes = to_bytes(plan_options{4, true, 8});
    BOOST_TEST(bytes.size() == 20u + 4 + 3 * 4 * 8 + 4 + 2 * 8);
    BOOST_TEST((from_bytes<plan_options>(bytes) == plan_options{4, true, 8}));
}

BOOST_AUTO_TEST_CASE(bytes_are_the_same_on_every_machine) {
    // Behind the choice of senders the ranks of a node, 8, and 8e9, which is 0x41fdcd6500000000.
    std::string const begin("dhsr\7\15\4\0\0\0\1\10\0\0\0\0\10\0\0\0\0\0\0\0\x65\xcd\xfd\x41", 28);
    std::string const bytes = to_bytes(plan_options{4, true, 8});
    BOOST_TEST(bytes.starts_with(begin));
    BOOST_TEST(bytes.ends_with("dhsr"));
    BOOST_TEST((from_bytes<plan_options>(bytes) == plan_options{4, true, 8}));
}

BOOST_AUTO_TEST_CASE(numbers_texts_and_lists_have_the_lowest_byte_and_their_length_first) {
    std::string const text("a\0b", 3);
    reshard::vector<std::string> const texts{text, ""};
    std::string const bytes = list_to_bytes(texts);
    BOOST_TEST(bytes == std::string("\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0a\0b\0\0\0\0\0\0\0\0", 27));
    BOOST_TEST(list_from_bytes<std::string>(bytes) == texts);
    reshard::vector<index_vector> const numbers{{-1, std::numeric_limits<index_t>::max()}, {}};
    BOOST_TEST(list_to_bytes(numbers).size() == 8u + 1 + 2 * 8 + 1);
    BOOST_TEST((list_from_bytes<index_vector>(list_to_bytes(numbers)) == numbers));
    reshard::vector<std::optional<std::uint16_t>> const some{513, std::nullopt};
    BOOST_TEST(list_to_bytes(some) == std::string("\2\0\0\0\0\0\0\0\1\1\2\0", 12));
    BOOST_TEST((list_from_bytes<std::optional<std::uint16_t>>(list_to_bytes(some)) == some));
}

BOOST_AUTO_TEST_CASE(maps_come_back_and_are_in_order) {
    using numbers = std::map<std::string, int>;
    numbers const all_numbers{{"a", -1}, {"b", 2}};
    std::string bytes = detail::content_bytes(all_numbers);
    BOOST_TEST((detail::content_from<numbers>(bytes, "map") == all_numbers));
    bytes[bytes.find('a')] = 'c';
    BOOST_TEST(said([&] { detail::content_from<numbers>(bytes, "map"); }) ==
               "corrupt_file: the archive has a set whose elements are out of order");
}

BOOST_AUTO_TEST_CASE(another_version_is_refused_with_both_numbers) {
    for (int const version : {1, 2, 3, 4, 5, 6, 7, 8, 9}) {
        auto const bytes =
            posing_as<plan_options>(plan_options{}, static_cast<std::uint8_t>(version));
        BOOST_TEST(said([&] { from_bytes<plan_options>(bytes); }) ==
                   "unsupported: the archive holds a set of options of version " +
                       std::to_string(version) + ", but this library reads version 13");
    }
}

BOOST_AUTO_TEST_CASE(what_is_no_archive_is_refused) {
    for (std::string const& bytes : {std::string(), std::string("{}"), std::string(1000, 'x')}) {
        BOOST_TEST(said([&] {
                       from_bytes<plan_options>(bytes);
                   }).starts_with("corrupt_file: the archive "));
    }
    BOOST_TEST(said([] { from_bytes<plan_options>(to_bytes(plan_options{}) + "xyz"); }) ==
               "corrupt_file: the archive of a set of options has 3 bytes after its end");
}

BOOST_AUTO_TEST_SUITE_END()
