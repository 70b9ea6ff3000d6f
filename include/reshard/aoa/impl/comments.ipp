// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_COMMENTS_IPP
#define RESHARD_AOA_IMPL_COMMENTS_IPP

#include <reshard/aoa/comments.hpp>

#include <algorithm>

namespace reshard::aoa::detail {

/// `text` without the blanks around it.
constexpr std::string_view trimmed(std::string_view text) {
    text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
    return text.substr(std::min(text.size(), text.find_first_not_of(" \t\r\n")));
}

/// The rest of the line that begins with a text, and takes it off, with its end.
constexpr std::string_view take_line(std::string_view& text) {
    std::size_t const end = std::min(text.size(), text.find_first_of("\r\n"));
    std::string_view const line = text.substr(0, end);
    text.remove_prefix(end);
    text.remove_prefix(text.starts_with("\r\n") ? 2 : !text.empty());
    return line;
}

RESHARD_DECL std::size_t end_of_statement(std::string_view text, std::vector<std::string>& inside) {
    std::size_t end = 0;
    std::vector<std::string> open; // comments behind which nothing of the statement has come yet
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '#') {
            std::size_t const last = std::min(text.size(), text.find_first_of("\r\n", i));
            open.emplace_back(trimmed(text.substr(i, last - i)));
            i = last - 1;
        } else if (std::string_view(" \t\r\n").find(text[i]) == std::string_view::npos) {
            bool const quote = text[i] == '"' || text[i] == '\'';
            i = quote ? std::min(text.size() - 1, text.find(text[i], i + 1)) : i;
            end = i + 1;
            inside.insert(inside.end(), open.begin(), open.end());
            open.clear();
        }
    }
    return end;
}

RESHARD_DECL std::vector<std::string> comment_lines(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        bool const is_whole = text.find_first_of("\r\n") != std::string_view::npos;
        std::string_view const line = trimmed(take_line(text));
        if (!line.empty() || (is_whole && (lines.empty() || !lines.back().empty())))
            lines.emplace_back(line);
    }
    return lines;
}

RESHARD_DECL statement_comments comments_of(std::string_view text) {
    statement_comments found;
    text.remove_prefix(end_of_statement(text, found.inside));
    found.behind = trimmed(take_line(text));
    found.below = comment_lines(text);
    return found;
}

} // namespace reshard::aoa::detail

#endif
