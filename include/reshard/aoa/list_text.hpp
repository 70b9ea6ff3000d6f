// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_LIST_TEXT_HPP
#define RESHARD_AOA_LIST_TEXT_HPP

#include <reshard/aoa/finding.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>
#include <vector>

/// \file
/// The numbers in the text of an attribute, as in `permute="[1, 0]"`.

namespace reshard::aoa {

/// The integers of `[1, 0]`; blanks do not count.
///
/// \throws     statement_error with errc::syntax for anything else
/// \par Source there any text is evaluated, and `1, 0` or `(1, 0)` change the shape and move
///             nothing
inline std::vector<index_t> parse_list(attribute const& of) {
    std::string_view text = std::get<std::string>(of.value);
    auto const refuse = [&] {
        throw statement_error{errc::syntax,
                              of.word + "=\"" + std::get<std::string>(of.value) +
                                  "\" is no list of integers in brackets, as in " + of.word +
                                  "=\"[1, 0]\"",
                              of.where};
    };
    auto const skip = [&] {
        text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t\r\n")));
    };
    auto const take = [&](char wanted) {
        skip();
        bool const found = text.starts_with(wanted);
        text.remove_prefix(found);
        return found;
    };
    std::vector<index_t> numbers;
    if (!take('['))
        refuse();
    while (!take(']')) {
        index_t number = 0;
        auto const [last, problem] =
            std::from_chars(text.data(), text.data() + text.size(), number);
        if (problem != std::errc{})
            refuse();
        text.remove_prefix(static_cast<std::size_t>(last - text.data()));
        numbers.push_back(number);
        skip();
        if (!take(',') && !text.starts_with(']'))
            refuse();
    }
    skip();
    if (!text.empty())
        refuse();
    return numbers;
}

} // namespace reshard::aoa

#endif
