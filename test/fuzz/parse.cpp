// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

/// \file
/// Any text: it is a program, which prints as itself, or there is a message for people.

#include <reshard/aoa/parse.hpp>
#include <reshard/aoa/print.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace reshard;

void check_program(std::string_view text) {
    aoa::program const written = aoa::parse(text);
    std::string const printed = print(written);
    aoa::program const again = aoa::parse(printed);
    if (!(again == written) || print(again) != printed)
        std::abort();
}

/// A message has a position, says what was expected, and shows no type of the parser.
void check_message(std::string_view text, error const& problem) {
    std::string_view const message = problem.what();
    bool const is_syntax = problem.code() == errc::syntax && message.starts_with("program:") &&
                           message.find("expected") != std::string_view::npos;
    bool const is_direction = problem.code() == errc::unsupported &&
                              text.find("aoa_config_reverse") != std::string_view::npos;
    bool const shows_type = message.find("N5boost") != std::string_view::npos &&
                            text.find("N5boost") == std::string_view::npos;
    if ((!is_syntax && !is_direction) || shows_type)
        std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string_view const text(reinterpret_cast<char const*>(data), size);
    try {
        check_program(text);
    } catch (error const& problem) {
        check_message(text, problem);
    }
    return 0;
}
