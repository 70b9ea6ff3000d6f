// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_TYPED_READER_HPP
#define RESHARD_AOA_TYPED_READER_HPP

#include <reshard/aoa/place.hpp>
#include <reshard/aoa/typed_text.hpp>
#include <reshard/core/vector.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string_view>

/// \file
/// Reads a text that is a template argument: the grammar without macros, for the compiler.

namespace reshard::aoa::detail {

/// A text without the quotes around it.
constexpr std::string_view without_quotes(std::string_view text) {
    for (char const quote : {'"', '\''}) {
        text.remove_prefix(std::min(text.size(), text.find_first_not_of(quote)));
        text = text.substr(0, text.find_last_not_of(quote) + 1);
    }
    return text;
}

/// The words of the language, in a table for fast search.
inline constexpr auto word_keys = [] {
    std::array<hashed_key, std::size(attribute_words)> keys;
    std::ranges::transform(attribute_words, keys.begin(),
                           [](attribute_word const& word) { return hashed_key(word.word); });
    return typed_keys(keys);
}();

/// The word with this text, or null.
constexpr attribute_word const* find_word(hashed_key const& key) {
    std::size_t const number = word_keys.find(key);
    return number < word_keys.size() ? attribute_words + number : nullptr;
}

/// Reads statements as `grammar.hpp` defines them, without macros, up to the first fault.
///
/// Compilers limit the steps of a constant expression: 4 KB of the shortest names take half of
/// clang's limit. So this class compares characters, with a zero at the end, and hashes each name
/// once.
class text_reader {
public:
    /// \pre a zero follows the text
    constexpr explicit text_reader(std::string_view text) : text_reader(text, most_of(text)) {
        if (text.size() > most_bytes)
            at_ = end_, refuse(refusal::too_long, text.data());
        for (next_line(true); at_ != end_ && read_statement();)
            next_line(true);
    }

    constexpr text_counts counts() const {
        return {statements_.size(), names_.size(), attributes_.size(), keys_.all().size()};
    }
    constexpr text_content content() const {
        return {statements_, names_, attributes_, keys_.all(), fault_};
    }

private:
    constexpr text_reader(std::string_view text, text_counts const& most)
        : text_(text), at_(text.data()), end_(text.data() + text.size()) {
        statements_.reserve(most.statements);
        names_.reserve(most.names);
        attributes_.reserve(most.attributes);
    }

    /// Upper bounds: a name or an attribute follows each comma, and names surround each arrow.
    static constexpr text_counts most_of(std::string_view text) {
        std::size_t arrows = 0, commas = 0;
        for (char const c : text)
            if (c == '>')
                ++arrows;
            else if (c == ',')
                ++commas;
        return {arrows, commas + 2 * arrows, commas, commas + 2 * arrows};
    }

    static constexpr bool is_in_word(char c) {
        return is_plain_char(c) || c == '$' || c == '*' || c == '^';
    }

    /// Whether a name or a word may begin with a character.
    static constexpr bool begins_word(char c) {
        return is_plain_char(c) && c != '.' && (c < '0' || c > '9');
    }

    constexpr std::size_t offset(char const* at) const {
        return static_cast<std::size_t>(at - text_.data());
    }
    static constexpr std::string_view between(char const* first, char const* last) {
        return {first, static_cast<std::size_t>(last - first)};
    }

    constexpr bool refuse(refusal reason, char const* at) {
        fault_ = {reason, statements_.size() + 1, offset(at)};
        return false;
    }

    /// Refuses the next character or, if none follows, the end of the text.
    constexpr bool refuse_next(refusal reason, char const* at) {
        std::size_t next = text_.find_first_not_of(" \t", offset(at));
        if (next == text_.npos)
            next = text_.find_last_not_of(" \t\r\n\v") + 1;
        return refuse(reason, text_.data() + next);
    }

    /// Skips blanks and a comment.
    constexpr void skip() {
        while (*at_ == ' ' || *at_ == '\t')
            ++at_;
        if (*at_ == '#')
            while (at_ != end_ && !ends_statement(*at_))
                ++at_;
    }

    /// Skips ends of lines or statements with blanks before them, and blanks at the end of the
    /// text.
    constexpr void next_line(bool may_end_statement) {
        char const* begin = at_;
        for (skip(); may_end_statement ? ends_statement(*at_) : ends_line(*at_); skip())
            begin = ++at_;
        at_ = at_ != end_ ? begin : at_;
    }

    constexpr bool take(char wanted) {
        char const* const before = at_;
        skip();
        bool const is_next = *at_ == wanted;
        at_ = is_next ? at_ + 1 : before;
        return is_next;
    }

    /// The next word, or an empty text.
    constexpr std::string_view word() const {
        char const* last = at_;
        if (begins_word(*at_))
            while (is_in_word(*last))
                ++last;
        return between(at_, last);
    }

    constexpr bool is_macro() const {
        return *at_ == '*' || (*at_ == '$' && (at_[1] == '{' || (at_[1] >= 'A' && at_[1] <= 'Z')));
    }
    constexpr bool is_transpose() const {
        return *at_ == '^' && at_[1] == 'T' && !is_in_word(at_[2]);
    }

    constexpr bool read_statement() {
        skip();
        text_statement statement{offset(at_), names_.size(), 0, 0, attributes_.size(), 0};
        if (!read_name(refusal::no_statement))
            return false;
        while (take(','))
            if (next_line(false); !read_name(refusal::no_name))
                return false;
        char const* const before = at_;
        if (!take('-') || *at_++ != '>')
            return refuse_next(refusal::no_arrow, before);
        statement.left = names_.size() - statement.first_name;
        next_line(false);
        if (!read_name(refusal::no_name))
            return false;
        for (bool in_names = true; take(',');) {
            next_line(false);
            in_names = in_names && !is_attribute_next();
            if (!(in_names ? read_name(refusal::no_name_or_attribute) : read_attribute()))
                return false;
        }
        statement.right = names_.size() - statement.first_name - statement.left;
        statement.attributes = attributes_.size() - statement.first_attribute;
        if (!read_end())
            return false;
        statements_.push_back(statement);
        return true;
    }

    /// Whether a statement ends here. Another statement may follow directly after a quoted value.
    constexpr bool read_end() {
        char const* const before = at_;
        skip();
        if (at_ == end_ || ends_statement(*at_))
            return true;
        at_ = before;
        bool const is_joined = ends_in_quoted_value(between(text_.data(), at_)) &&
                               begins_with_statement(between(at_, end_));
        return is_joined || refuse_next(refusal::no_end, before);
    }

    constexpr bool read_name(refusal otherwise) {
        char const* const before = at_;
        skip();
        char const* const begin = at_;
        bool const is_quoted = *at_ == '"' || *at_ == '\'';
        if (is_quoted ? at_[1] == *at_ : !begins_word(*at_))
            return is_macro() ? refuse(refusal::run_time, begin) : refuse_next(otherwise, before);
        if (!(is_quoted ? read_quoted_name() : read_plain_name()))
            return fault_.reason != refusal::none ? false : refuse(refusal::run_time, begin);
        std::string_view const text = is_quoted ? between(begin + 1, at_ - 1) : between(begin, at_);
        hashed_key const key(text);
        if (attribute_word const* const row = is_quoted ? nullptr : find_word(key))
            if (row->reserved)
                return refuse_next(otherwise, before);
        if (char const* const last = at_; skip(), *at_ == '[' || (at_ == last && is_transpose()))
            return refuse(refusal::run_time, begin);
        else
            at_ = last;
        names_.push_back({text, offset(begin), keys_.add(key), !is_quoted && text == "_"});
        return true;
    }

    /// Returns false for a macro.
    constexpr bool read_plain_name() {
        for (;; ++at_) {
            while (is_plain_char(*at_))
                ++at_;
            if (is_macro())
                return false;
            if (*at_ != '$' && (*at_ != '^' || is_transpose()))
                return true;
        }
    }

    /// Returns false for a macro, or after a fault.
    constexpr bool read_quoted_name() {
        char const quote = *at_;
        for (++at_; at_ != end_ && *at_ != quote && !ends_statement(*at_); ++at_)
            if (quote == '"' && is_macro())
                return false;
        if (*at_ != quote)
            return refuse_next(quote == '"' ? refusal::open_double : refusal::open_single, at_);
        ++at_;
        return true;
    }

    constexpr bool is_attribute_next() {
        char const* const before = at_;
        skip();
        std::string_view const next = word();
        at_ += next.size();
        bool is_next = !next.empty() && take('=');
        if (!is_next)
            if (attribute_word const* const row = find_word(hashed_key(next)))
                is_next = row->value == value_kind::none;
        at_ = before;
        return is_next;
    }

    constexpr bool read_attribute() {
        char const* const before = at_;
        skip();
        text_attribute attribute{word(), offset(at_)};
        attribute.row = find_word(hashed_key(attribute.word));
        if (attribute.row != nullptr && attribute.row->value == value_kind::none)
            return refuse(refusal::run_time, at_);
        at_ += attribute.word.size();
        if (attribute.word.empty() || !take('='))
            return refuse_next(refusal::no_attribute, before);
        if (char const* const value = at_; !read_value(attribute))
            return refuse_next(refusal::no_value, value);
        attributes_.push_back(attribute);
        return true;
    }

    constexpr bool read_value(text_attribute& attribute) {
        skip();
        std::string_view remainder = between(at_, end_);
        if (*at_ == '"' || *at_ == '\'') {
            std::size_t const last = remainder.find(*at_, 1);
            attribute.value = value_kind::text;
            attribute.text = without_quotes(remainder.substr(0, last + (last != text_.npos)));
            at_ += last != text_.npos ? last + 1 : 0;
            return last != text_.npos;
        }
        if (std::size_t const length = real_length(remainder)) {
            attribute.value = value_kind::real;
            at_ += length;
            return true;
        }
        auto const number = take_integer(remainder);
        attribute.number = number.value_or(0);
        at_ = end_ - remainder.size();
        return number.has_value();
    }

    std::string_view text_;
    char const* at_;
    char const* end_;
    program_fault fault_;
    vector<text_statement> statements_;
    vector<text_name> names_;
    vector<text_attribute> attributes_;
    key_numbers<most_bytes / 2> keys_;
};

} // namespace reshard::aoa::detail

#endif
