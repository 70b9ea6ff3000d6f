// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/pickle/named_values.hpp>

#include "memory_file.hpp"
#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(format_named_values)

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace std::string_literals;

using texts = std::vector<std::string>;

/// The content of a pickle in which True is a tensor.
std::vector<named_value> values_of(std::string const& codes) {
    std::string const text = "\x80\x04" + codes + ".";
    reshard::test::memory_file const file(text);
    pickle const read(file, "p", {0, text.size()}, {});
    BOOST_TEST((read.end() == text.size()));
    return named_values(
        read, file, [](pickle_value value) { return value.type == pickle_value::kind::boolean; });
}

texts names_of(std::string const& codes) {
    texts names;
    for (named_value const& value : values_of(codes))
        names.push_back(value.key);
    return names;
}

/// Codes of a text of any length.
std::string text(std::string const& value) {
    std::string codes = "X";
    for (int i = 0; i < 4; ++i)
        codes += static_cast<char>(value.size() >> 8 * i & 0xff);
    return codes + value;
}

/// A dict that has the value before it, on the stack, twice.
std::string twice(std::string const& first, std::string const& second) {
    // Keep it as 0, drop it, and take it again for each key.
    return "q\0"s + "0}(" + text(first) + "h\0"s + text(second) + "h\0"s + "u";
}

/// Dicts each of which has the one before it twice.
std::string doubled(int times, std::string const& first, std::string const& second) {
    std::string codes = "\x88";
    for (int i = 0; i < times; ++i)
        codes += twice(first, second);
    return codes;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_value_is_there_as_often_as_it_stands_in_others) {
    BOOST_TEST(names_of(doubled(2, "a", "b")) == (texts{"a.a", "a.b", "b.a", "b.b"}),
               boost::test_tools::per_element());
    BOOST_TEST(names_of(doubled(14, "a", "b")).size() == 1u << 14);
}

BOOST_AUTO_TEST_CASE(an_empty_key_is_not_the_name_of_a_file_that_is_one_value) {
    BOOST_TEST(names_of("\x88") == texts{""}, boost::test_tools::per_element());
    BOOST_TEST(names_of("}(" + text("") + "\x88" + text("a") + "\x88u") == (texts{"''", "a"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_is_out_of_proportion_to_the_file_is_refused) {
    // 2^40 values of 40 dicts, in a pickle that is long enough for their names; and 2^12 names of 13
    // KB each.
    std::string many;
    for (int i = 0; i < 8; ++i)
        many += text(std::string(4000, ' ')) + "0";
    many += doubled(40, "", "a");
    BOOST_CHECK_EXCEPTION(
        values_of(many), error,
        test::mentions(errc::limit_exceeded, "p: more than " +
                                                 std::to_string((1 << 16) + many.size() + 3) +
                                                 " values, counting a shared value"));
    std::string const first(1000, 'a');
    BOOST_CHECK_EXCEPTION(values_of(doubled(12, first, "b" + first)), error,
                          test::mentions(errc::limit_exceeded, " bytes of names, counting a"));
}

BOOST_AUTO_TEST_CASE(bytes_that_stay_in_the_file_allow_no_more) {
    std::string const bytes = "B\0\0\0\1"s + std::string(1 << 24, ' ') + "0";
    std::string const many = doubled(40, "", "a");
    BOOST_CHECK_EXCEPTION(
        values_of(bytes + many), error,
        test::mentions(errc::limit_exceeded,
                       "for a pickle of " + std::to_string(many.size() + 9) + " bytes"));
}

BOOST_AUTO_TEST_CASE(elements_of_lists_have_a_limit_of_their_own) {
    std::string const numbers = "](" + std::string(1 << 16, 'N') + "e";
    // The same list 3 times is more than the file has; 2^12 times is 2^28 elements.
    auto const times = [&](std::size_t count) {
        std::string codes = numbers + "q\0"s + "0}(";
        for (std::size_t i = 0; i < count; ++i)
            codes += text(std::to_string(i)) + "h\0"s;
        return codes + "u";
    };
    BOOST_TEST(names_of(times(3)) == (texts{"0", "1", "2"}), boost::test_tools::per_element());
    BOOST_CHECK_EXCEPTION(values_of(times(1 << 12)), error,
                          test::mentions(errc::limit_exceeded, " elements of lists, counting a"));
}

BOOST_AUTO_TEST_CASE(a_long_name_is_read_from_the_file) {
    std::string const a(5000, 'a'), b(5000, 'b');
    BOOST_TEST(names_of("}(" + text(a) + "\x88" + text(b) + "\x88u") == (texts{a, b}),
               boost::test_tools::per_element());
    BOOST_TEST(names_of("}(" + text(std::string(65536, 'a')) + "\x88u").at(0).size() == 65536u);
    // Behind the codes of the protocol, of the dict, of the mark and of the text.
    BOOST_CHECK_EXCEPTION(values_of("}(" + text(std::string(65537, 'a')) + "\x88u"), error,
                          test::says(errc::limit_exceeded,
                                     "p: byte 9 begins a name of 65537 bytes; names of more than "
                                     "65536 are not read"));
}

BOOST_AUTO_TEST_CASE(values_within_themselves_are_not_entered) {
    BOOST_TEST(names_of("}q\0("s + text("a") + "h\0"s + text("b") + "\x88u") == (texts{"a", "b"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(at_most_64_dicts_are_entered) {
    std::string codes = "\x88";
    for (int i = 0; i < 70; ++i)
        codes = "}" + text("a") + codes + "s";
    BOOST_TEST(names_of(codes).at(0).size() == 2u * 64 - 1);
}

BOOST_AUTO_TEST_CASE(endless_and_deep_values_are_opaque) {
    auto const reason = [](std::string const& codes) {
        std::string const text = "\x80\x04" + codes + ".";
        pickle const read(reshard::test::memory_file(text), "p", {0, text.size()}, {});
        return opaque_search(read).reason(read.root());
    };
    auto const nested = [](std::size_t depth) {
        return std::string(depth, ']') + std::string(depth - 1, 'a');
    };
    BOOST_TEST(reason(nested(64)) == "");
    BOOST_TEST(reason(nested(65)) ==
               "has values nested 65 levels deep; at most 64 levels are read");
    BOOST_TEST(reason(nested(1000000)).find("1000000 levels deep") != std::string::npos);
    // A tuple of a list of that tuple, and twice the same list beside it, which is not one.
    BOOST_TEST(reason("]q\0(h\0\x85h\0e"s) == "has a value that contains itself");
    BOOST_TEST(reason("](]q\0h\0h\0e"s) == "");
}

BOOST_AUTO_TEST_SUITE_END()
