// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "aoa/language.hpp"
#include "growth/steps.hpp"

#include <reshard/aoa/parse.hpp>
#include <reshard/aoa/print.hpp>

#include <functional>
#include <string>
#include <string_view>

using namespace reshard;

aoa::program reshard::test::parsed(std::string_view text, std::string_view file) {
    return aoa::parse(text, file);
}

BOOST_AUTO_TEST_SUITE(growth_parse)

namespace {

/// `piece` that many times.
std::string repeated(std::string_view piece, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i)
        text += piece;
    return text;
}

/// Parses and prints `before`, `size` times `piece`, `after`; other texts are refused.
void check_text(std::string const& before, std::string const& piece, std::string const& after) {
    test::check_linear((before + '(' + piece + ")*" + after).c_str(), [&](std::size_t size) {
        std::string const text = before + repeated(piece, size) + after;
        return [text] {
            try {
                print(aoa::parse(text));
            } catch (error const&) {
                return;
            }
        };
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(many_statements_are_parsed_in_linear_time) {
    check_text("", "a -> b\n", "");
    check_text("", "a.b_c.$LAYER_ID.d^T, \"e f\" -> w[0:3], axis=0 # why\n", "");
    check_text("", "\n \r\n", "a -> b");
}

BOOST_AUTO_TEST_CASE(a_long_line_is_parsed_in_linear_time) {
    check_text("a", ", layer.b", " -> c, axis=0");
    check_text("a -> b", ", layer.c", ", axis=0");
    check_text("a -> b", ", axis=0", "");
    check_text("a -> b", ", dtype='f'", "");
    check_text("a,", "\n", "b -> c");
    check_text("a", " ", "-> b");
    check_text("a -> b #", " # ", "");
    check_text("w[", " \n", "0:1] -> b");
}

BOOST_AUTO_TEST_CASE(a_long_name_is_parsed_in_linear_time) {
    for (char const* piece : {"x", "x.", "$", "^", "^T", "$a", "$A", "$LAYER_ID", "$A_", "$A + 1",
                              "*", "*.", "$A*", "_", "axis"})
        for (char const* quote : {"", "\"", "'"})
            check_text(quote + std::string("x"), piece, quote + std::string(" -> y"));
    check_text("$", "A", " -> b");
    check_text("$", "A_", " -> b");
    check_text("\"$A", " ", "\" -> b");
    check_text("a -> b, dtype='", "x\n", "'");
}

BOOST_AUTO_TEST_CASE(what_is_no_program_is_refused_in_linear_time) {
    check_text("a -> b, dtype='", "x", "");
    check_text("\"", "x ", " -> y");
    check_text("a", ", b", "");
    check_text("a -> ", "b, ", "\n");
    check_text("", "a -> b\n", "oops");
    check_text("a -> b", ", c", " oops");
    check_text("w[0:", "9", "] -> a");
    check_text("a -> b, axis=", "9", "");
    check_text("", "(", "");
}

BOOST_AUTO_TEST_SUITE_END()
