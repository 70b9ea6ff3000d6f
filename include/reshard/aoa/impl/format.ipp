// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_FORMAT_IPP
#define RESHARD_AOA_IMPL_FORMAT_IPP

#include <reshard/aoa/print.hpp>

#include <reshard/aoa/macro/make_key_pattern.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace reshard::aoa {

namespace detail {

/// `text` without the blanks around it.
constexpr std::string_view trimmed(std::string_view text) {
    text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
    return text.substr(std::min(text.size(), text.find_first_not_of(" \t\r\n")));
}

/// Removes the first line and its line break from a text, and returns the line.
constexpr std::string_view take_line(std::string_view& text) {
    std::size_t const end = std::min(text.size(), text.find_first_of("\r\n"));
    std::string_view const line = text.substr(0, end);
    text.remove_prefix(end);
    text.remove_prefix(text.starts_with("\r\n") ? 2 : !text.empty());
    return line;
}

RESHARD_DECL std::size_t end_of_statement(std::string_view text, vector<std::string>& inside) {
    std::size_t end = 0;
    vector<std::string> open; // comments after the last token of the statement
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

RESHARD_DECL vector<std::string> comment_lines(std::string_view text) {
    vector<std::string> lines;
    while (!text.empty()) {
        bool const is_whole = text.find_first_of("\r\n") != std::string_view::npos;
        std::string_view const line = trimmed(take_line(text));
        if (!line.empty() || (is_whole && (lines.empty() || !lines.back().empty())))
            lines.emplace_back(line);
    }
    return lines;
}

RESHARD_DECL statement_comments comments_of(std::string_view text) {
    statement_comments comments;
    text.remove_prefix(end_of_statement(text, comments.inside));
    comments.behind = trimmed(take_line(text));
    comments.below = comment_lines(text);
    return comments;
}

/// The maximum number of columns of a line that can be broken.
inline constexpr std::size_t page_width = 100;

/// The maximum number of columns before an arrow that is aligned with other arrows.
inline constexpr std::size_t left_width = 56;

RESHARD_DECL std::string spread_statement::joined(vector<std::string> const& pieces) {
    std::string text;
    for (std::string const& piece : pieces)
        text += (text.empty() ? "" : " ") + piece;
    return text;
}

RESHARD_DECL std::string spread_statement::before_arrow() const {
    std::string const text = joined(left);
    return text.substr(0, text.size() - 3);
}

RESHARD_DECL std::size_t spread_statement::width() const {
    return characters(joined(left)) + characters(joined(right)) + 1;
}

RESHARD_DECL bool spread_statement::can_align() const {
    return width() <= page_width && characters(before_arrow()) <= left_width;
}

RESHARD_DECL spread_statement spread(program const& whole_program, statement const& statement) {
    spread_statement result;
    for (std::size_t i = 0; i < whole_program.names(statement).size(); ++i) {
        name const& each = whole_program.names(statement)[i];
        std::string text = bare_name_text(whole_program, each) + (each.transposed ? "^T" : "");
        bool const is_last = i + 1 == whole_program.names(statement).size() &&
                             whole_program.attributes(statement).empty();
        text += i + 1 == statement.left ? " ->" : is_last ? "" : ",";
        (i < statement.left ? result.left : result.right).push_back(std::move(text));
    }
    for (attribute const& each : whole_program.attributes(statement))
        result.right.push_back(attribute_text(each) +
                               (&each == &whole_program.attributes(statement).back() ? "" : ","));
    return result;
}

/// Adds words to a text, and breaks lines at the page width.
inline void add_filled(std::string& text, vector<std::string> const& pieces, std::size_t column) {
    for (std::string const& piece : pieces) {
        bool const fits = column + 1 + characters(piece) <= page_width;
        text += column == 0 ? "" : fits ? " " : "\n    ";
        column = characters(piece) + (column == 0 ? 0 : fits ? column + 1 : 4);
        text += piece;
    }
}

RESHARD_DECL std::string formatted(spread_statement const& statement, std::size_t arrow) {
    std::string const left = statement.before_arrow(),
                      right = spread_statement::joined(statement.right);
    std::string text;
    if (statement.can_align() && arrow + 4 + characters(right) <= page_width) {
        text = left + std::string(arrow - characters(left), ' ') + " -> " + right;
    } else if (statement.width() <= page_width) {
        text = left + " -> " + right;
    } else {
        add_filled(text, statement.left, 0);
        text += "\n    " + statement.right.front();
        add_filled(text, {statement.right.begin() + 1, statement.right.end()},
                   4 + characters(statement.right.front()));
    }
    return text + (statement.comments.behind.empty() ? "" : "  " + statement.comments.behind) +
           '\n';
}

/// The column of the arrows in consecutive statements.
inline std::size_t arrow_column(vector<spread_statement> const& statements, std::size_t first,
                                std::size_t last) {
    std::size_t column = 0;
    for (std::size_t i = first; i < last; ++i)
        if (statements[i].can_align())
            column = std::max(column, characters(statements[i].before_arrow()));
    return column;
}

RESHARD_DECL vector<spread_statement> spread(program const& whole_program,
                                             vector<std::string>& above) {
    std::string_view const text = whole_program.source_text();
    auto const& statements = whole_program.statements();
    vector<spread_statement> spread_statements;
    for (std::size_t i = 0; i < statements.size(); ++i) {
        std::size_t const first = statements[i].where.first;
        std::size_t const next =
            i + 1 < statements.size() ? statements[i + 1].where.first : text.size();
        spread_statements.push_back(spread(whole_program, statements[i]));
        spread_statements.back().comments = comments_of(text.substr(first, next - first));
    }
    above =
        comment_lines(spread_statements.empty() ? text : text.substr(0, statements[0].where.first));
    return spread_statements;
}

} // namespace detail

RESHARD_DECL std::string format(program const& written) {
    vector<std::string> above;
    vector<detail::spread_statement> const statements = detail::spread(written, above);
    std::string text;
    auto const add_lines = [&](vector<std::string> const& lines) {
        for (std::string const& line : lines)
            text += text.empty() && line.empty() ? "" : line + '\n';
    };
    add_lines(above);
    std::size_t block_end = 0, arrow = 0;
    for (std::size_t i = 0; i < statements.size(); ++i) {
        if (i == block_end) {
            while (++block_end < statements.size() &&
                   statements[block_end - 1].comments.below.empty() &&
                   statements[block_end].comments.inside.empty())
                continue;
            arrow = detail::arrow_column(statements, i, block_end);
        }
        add_lines(statements[i].comments.inside);
        text += detail::formatted(statements[i], arrow);
        add_lines(statements[i].comments.below);
    }
    while (text.ends_with("\n\n"))
        text.pop_back();
    return text;
}

} // namespace reshard::aoa

#endif
