// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_CONFIG_IPP
#define RESHARD_AOA_IMPL_CONFIG_IPP

#include <reshard/aoa/parse.hpp>
#include <reshard/aoa/place.hpp>
#include <reshard/core/error.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Reads programs from the JSON of PaddlePaddle's `aoa_config`: a list of texts with one statement
/// each.

namespace reshard::aoa::detail {

/// The position after blanks and lines of comments.
inline std::size_t after_comments(std::string_view text, std::size_t at) {
    for (;;) {
        at = std::min(text.find_first_not_of(" \t\r\n", at), text.size());
        if (at == text.size() || text[at] != '#')
            return at;
        at = std::min(text.find_first_of("\r\n", at), text.size());
    }
}

/// Reads such a text. It accepts comments, a comma after the last element, and `\$` for `$`, since
/// people paste them.
///
/// \par Source `aoa_statements` and `aoa_config_reverse` of PaddlePaddle flex_checkpoint, and
///             `enable_traceback`, which does not affect the program
class config_reader {
public:
    config_reader(std::string_view text, std::string_view file) : text_(text), file_(file) {}

    /// The statements, each at its line and column. Statements on the same line are separated by
    /// `between_statements`.
    std::string statements() {
        skip();
        if (next() == '[')
            list();
        else
            object();
        skip();
        if (at_ < text_.size())
            fail_at(at_, "the end of the text");
        if (!has_list_)
            fail_at(0, "a member \"aoa_statements\", a list of statements in quotes");
        return std::move(result_);
    }

private:
    [[noreturn]] void fail_at(std::size_t at, std::string_view expected) const {
        reshard::fail(errc::syntax, place_text(file_, text_, at), ": syntax: expected ", expected,
                      ", found ", found(text_.substr(at)), "\n", excerpt(text_, at));
    }

    char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }

    void skip() { at_ = after_comments(text_, at_); }

    bool takes(std::string_view word) {
        skip();
        bool const is_next = text_.substr(at_).starts_with(word);
        at_ += is_next ? word.size() : 0;
        return is_next;
    }

    void expect(std::string_view word, std::string_view name) {
        if (!takes(word))
            fail_at(at_, name);
    }

    /// Reads a list between brackets. A comma follows each element, except perhaps the last.
    void elements(std::string_view close, auto&& element) {
        while (!takes(close)) {
            element();
            if (!takes(",") && (skip(), !text_.substr(at_).starts_with(close)))
                fail_at(at_, close == "]" ? "',' or ']'" : "',' or '}'");
        }
    }

    void object() {
        expect("{", "'{'");
        elements("}", [this] {
            skip();
            std::size_t const index = at_;
            std::string const key = quoted("a name in quotes");
            expect(":", "':'");
            member(key, index);
        });
    }

    void member(std::string const& key, std::size_t index) {
        if (key == "aoa_config" && !std::exchange(is_inside_, true))
            object();
        else if (key == "aoa_statements")
            list();
        else if (key == "aoa_config_reverse" || key == "enable_traceback")
            flag(key, index);
        else
            fail_at(index, "\"aoa_config\", \"aoa_statements\" or \"aoa_config_reverse\"");
    }

    void flag(std::string const& key, std::size_t index) {
        bool const is_true = takes("true");
        if (!is_true && !takes("false"))
            fail_at(at_, "true or false");
        if (is_true && key == "aoa_config_reverse")
            reshard::fail(errc::unsupported, place_text(file_, text_, index),
                          ": aoa_config_reverse is not supported in a program's text; remove this "
                          "member, and reverse the program when you run it "
                          "(reshard convert --reverse)");
    }

    void list() {
        if (has_list_)
            fail_at(at_, "only one list of statements");
        has_list_ = true;
        expect("[", "'['");
        elements("]", [this] {
            skip();
            std::size_t const index = at_ + 1;
            add(quoted("a statement in quotes"), index);
        });
    }

    /// Adds a statement at its line and column, or in the next line if an earlier statement has
    /// several lines.
    void add(std::string const& statement, std::size_t index) {
        auto const begin = text_.begin();
        line_wanted_ += static_cast<std::size_t>(std::count(begin + read_, begin + index, '\n'));
        read_ = index;
        bool const is_behind = line_ > line_wanted_;
        if (line_ == line_wanted_ && has_statement_)
            result_ += between_statements;
        result_.append(is_behind ? 1 : line_wanted_ - line_, '\n');
        std::size_t const column = index - (text_.substr(0, index).rfind('\n') + 1);
        std::size_t const used = result_.size() - (result_.rfind('\n') + 1);
        if (!is_behind)
            result_.append(std::max(column, used) - used, ' ');
        result_ += statement;
        has_statement_ = true;
        line_ = std::max(line_ + is_behind, line_wanted_) +
                static_cast<std::size_t>(std::ranges::count(statement, '\n'));
    }

    std::string quoted(std::string_view name) {
        skip();
        if (next() != '"')
            fail_at(at_, name);
        std::size_t const open = at_++;
        std::string value;
        while (next() != '"') {
            if (at_ == text_.size() || ends_line(next()))
                fail_at(open, "a closing \" on the same line");
            value += next() == '\\' ? escaped() : std::string(1, text_[at_++]);
        }
        ++at_;
        return value;
    }

    std::string escaped() {
        constexpr std::string_view names = "\"\\/$nrtbf", values = "\"\\/$\n\r\t\b\f";
        std::size_t const index = at_++;
        if (next() == 'u')
            return from_code(index);
        std::size_t const which = at_ < text_.size() ? names.find(text_[at_++]) : names.npos;
        if (which == names.npos)
            fail_at(index, "a JSON escape");
        return std::string(1, values[which]);
    }

    /// The character of `\u0041`, in UTF-8.
    std::string from_code(std::size_t index) {
        std::string_view const digits = text_.substr(at_ + 1, 4);
        unsigned code = 0;
        auto const end = digits.data() + digits.size();
        bool const is_read =
            digits.size() == 4 && std::from_chars(digits.data(), end, code, 16).ptr == end;
        if (!is_read || (code >= 0xd800 && code < 0xe000))
            fail_at(index, "an escape of one character, as in \\u0041");
        at_ += 5;
        auto const byte = [](unsigned bits) { return static_cast<char>(bits); };
        if (code < 0x80)
            return {byte(code)};
        if (code < 0x800)
            return {byte(0xc0 | code >> 6), byte(0x80 | (code & 0x3f))};
        return {byte(0xe0 | code >> 12), byte(0x80 | (code >> 6 & 0x3f)),
                byte(0x80 | (code & 0x3f))};
    }

    std::string_view text_, file_;
    std::size_t at_ = 0;
    bool has_list_ = false;
    bool is_inside_ = false; ///< inside the member `aoa_config`
    std::string result_;
    bool has_statement_ = false;  ///< the result contains a statement
    std::size_t line_ = 1;        ///< number of the result's last line
    std::size_t read_ = 0;        ///< the position of the last statement
    std::size_t line_wanted_ = 1; ///< the line of the last statement
};

RESHARD_DECL bool is_config(std::string_view text) {
    std::size_t const open = after_comments(text, 0);
    if (open == text.size() || (text[open] != '{' && text[open] != '['))
        return false;
    std::size_t const first = after_comments(text, open + 1);
    return first < text.size() && text[first] == '"';
}

} // namespace reshard::aoa::detail

#endif
