// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_AST_IPP
#define RESHARD_AOA_IMPL_AST_IPP

#include <reshard/aoa/ast.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

namespace reshard::aoa {

RESHARD_DECL std::optional<double> attribute::number() const {
    if (auto const* const integer = std::get_if<index_t>(&value))
        return static_cast<double>(*integer);
    auto const* const text = std::get_if<std::string>(&value);
    if (!text || is_quoted())
        return std::nullopt;
    double number = 0;
    auto const read = std::from_chars(text->data(), text->data() + text->size(), number);
    bool const is_small = text->find("e-") != text->npos || text->find("E-") != text->npos ||
                          text->find_first_not_of("-0") == text->find('.');
    if (read.ec == std::errc::result_out_of_range && !is_small)
        number = std::numeric_limits<double>::infinity();
    return number;
}

RESHARD_DECL attribute const* find_attribute(std::span<attribute const> list,
                                             std::string_view word) {
    auto const position = std::ranges::find(list, word, &attribute::word);
    return position == list.end() ? nullptr : &*position;
}

} // namespace reshard::aoa

#endif
