// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_JSON_HPP
#define RESHARD_TOOL_JSON_HPP

#include "command.hpp"

#include <reshard/aoa/finding.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <string>
#include <string_view>

/// \file
/// Converts values of the library to JSON.

namespace tool {

inline boost::json::string_view json_text(std::string_view text) {
    return {text.data(), text.size()};
}

inline boost::json::array json_list(reshard::index_vector const& numbers) {
    return boost::json::array(numbers.begin(), numbers.end());
}

template <class Texts>
boost::json::array json_texts(Texts const& texts) {
    boost::json::array list;
    for (auto const& text : texts)
        list.emplace_back(json_text(text));
    return list;
}

/// The statements of a program without macros; `lines` are their printed forms.
inline boost::json::array json_statements(reshard::aoa::program const& code,
                                          reshard::vector<std::string> const& lines) {
    boost::json::array list;
    reshard::aoa::text_span where;
    std::size_t line = 1;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        reshard::aoa::statement const& statement = code.statements()[i];
        if (statement.where != where) // most statements come from the same line as the previous one
            line = code.place_at(statement.where.first).line;
        where = statement.where;
        list.push_back({{"statement", lines[i]},
                        {"line", line},
                        {"chain", json_texts(reshard::aoa::macro_chain(code, statement.origin))}});
    }
    return list;
}

/// One document on a line. Bytes that are not UTF-8, for example in file names, become a
/// replacement character.
outcome json_outcome(boost::json::value const& document, int status = done);

} // namespace tool

#endif
