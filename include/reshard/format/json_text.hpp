// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_JSON_TEXT_HPP
#define RESHARD_FORMAT_JSON_TEXT_HPP

#include <reshard/core/index_vector.hpp>

#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>

#include <string>
#include <string_view>

/// \file
/// Values as JSON text.

namespace reshard::detail {

/// `text` in quotes, escaped.
inline std::string json_quoted(std::string_view text) {
    return boost::json::serialize(boost::json::string(text.data(), text.size()));
}

/// `[2,3]`.
template <class Numbers>
std::string json_list(Numbers const& numbers) {
    std::string text = "[";
    for (auto const number : numbers)
        text += (text.size() > 1 ? "," : "") + std::to_string(number);
    return text + "]";
}

} // namespace reshard::detail

#endif
