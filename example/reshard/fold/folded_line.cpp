// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "fold/folded_line.hpp"
#include "report.hpp"

#include <reshard/aoa/macro/make_key_pattern.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/aoa/words.hpp>

#include <algorithm>
#include <string_view>

namespace tool {

using namespace reshard;

namespace {

std::string text_of(aoa::attribute const& attribute) {
    return ", " + aoa::detail::attribute_text(attribute);
}

/// Whether a name needs no quotes. `$LAYER_ID - 1` needs none, either.
bool is_plain(std::string_view name) {
    if (name.find_first_of(" +-") != name.npos && name.find('$') == name.npos)
        return false;
    return std::ranges::all_of(name, [](char c) {
        return aoa::is_plain_char(c) ||
               std::string_view("$*^ +-").find(c) != std::string_view::npos;
    });
}

std::string text_of(name_list const& names) {
    std::string text;
    for (std::string const& name : names)
        text += (text.empty() ? "" : ", ") + (is_plain(name) ? name : '"' + name + '"');
    return text;
}

std::string text_of(aoa::program const& code, aoa::name const& name) {
    if (name.kind == aoa::name::kind_type::nothing)
        return "_";
    return std::string(code.text(name)) + (name.transposed ? "^T" : "");
}

template <class Names>
name_list names_of(aoa::program const& code, Names const& names) {
    name_list texts;
    for (aoa::name const& name : names)
        texts.push_back(text_of(code, name));
    return texts;
}

} // namespace

reshard::vector<folded_line> lines_of(name_list const& texts) {
    aoa::program const code = aoa::parse(joined_lines(texts));
    reshard::vector<folded_line> lines;
    for (aoa::statement const& statement : code.statements()) {
        lines.push_back(
            {names_of(code, code.left(statement)), names_of(code, code.right(statement)), {}});
        for (aoa::attribute const& each : code.attributes(statement))
            lines.back().attributes += text_of(each);
    }
    return lines;
}

name_list texts_of(reshard::vector<folded_line> const& lines) {
    name_list texts;
    for (folded_line const& line : lines)
        texts.push_back(text_of(line.left) + " -> " + text_of(line.right) + line.attributes);
    return texts;
}

} // namespace tool
