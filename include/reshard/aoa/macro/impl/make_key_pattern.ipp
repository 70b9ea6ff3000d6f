// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_MAKE_KEY_PATTERN_IPP
#define RESHARD_AOA_MACRO_IMPL_MAKE_KEY_PATTERN_IPP

#include <reshard/aoa/macro/make_key_pattern.hpp>

#include <boost/assert.hpp>

#include <utility>
#include <variant>

namespace reshard::aoa {

namespace detail {

RESHARD_DECL std::string quoted_name(std::string_view text) {
    if (is_plain(text))
        return std::string(text);
    bool const literal = text.find_first_of("$*\"") != std::string_view::npos &&
                         text.find('\'') == std::string_view::npos;
    char const quote = literal ? '\'' : '"';
    return quote + std::string(text) + quote;
}

/// Whether the text `behind` a placeholder would be parsed as the placeholder's shift.
constexpr bool is_shift(std::string_view behind) {
    std::size_t const sign = behind.find_first_not_of(" \t");
    if (sign == std::string_view::npos || (behind[sign] != '+' && behind[sign] != '-'))
        return false;
    std::size_t const digit = behind.find_first_not_of(" \t", sign + 1);
    return digit != std::string_view::npos && is_digit(behind[digit]);
}

/// Whether the text `behind` a placeholder would be parsed as a part of its name, or as its shift.
constexpr bool goes_on(std::string_view placeholder, std::string_view behind) {
    auto const is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
    if (is_shift(behind))
        return true;
    if (placeholder == "EXPERT_ID" || placeholder == "LAYER_ID_OFFSET" || behind.empty())
        return false;
    if (placeholder == "LAYER_ID")
        return behind.starts_with("_OFFSET");
    bool const is_word = behind[0] == '_' && behind.size() > 1 && is_capital(behind[1]);
    return is_digit(behind[0]) || is_capital(behind[0]) || is_word;
}

/// The shift of a placeholder as text. It is `+0` if the text `behind` would otherwise continue the
/// name. It has nine digits if that text would continue the number.
inline std::string shift_text(segment const& placeholder, std::string_view behind) {
    index_t const shift = placeholder.first;
    if (shift == 0 && !goes_on(placeholder.text, behind))
        return {};
    bool const adjoins = !behind.empty() && is_digit(behind[0]);
    std::string const digits = std::to_string(shift < 0 ? -shift : shift);
    std::size_t const zeros = adjoins && digits.size() < 9 ? 9 - digits.size() : 0;
    return (shift < 0 ? '-' : '+') + std::string(zeros, '0') + digits;
}

/// For example `${2*N + 1}`.
inline std::string formula_text(segment const& placeholder) {
    index_t const shift = placeholder.first;
    std::string text = "${";
    if (placeholder.factor != 1)
        text += std::to_string(placeholder.factor) + '*';
    text += placeholder.text;
    if (placeholder.divisor != 1)
        text += '/' + std::to_string(placeholder.divisor);
    if (shift != 0)
        text += (shift < 0 ? " - " : " + ") + std::to_string(shift < 0 ? -shift : shift);
    return text + '}';
}

/// A segment as a program has to spell it before the text `behind`, without quotes around the name.
inline std::string segment_text(segment const& segment, std::string_view behind) {
    switch (segment.kind) {
    case segment::kind_type::text: return segment.text;
    case segment::kind_type::star: return "*";
    case segment::kind_type::anything: return "**";
    case segment::kind_type::placeholder:
        if (segment.factor != 1 || segment.divisor != 1)
            return formula_text(segment);
        return '$' + segment.text + shift_text(segment, behind);
    case segment::kind_type::array: break;
    }
    return '[' + std::to_string(segment.first) + ':' + std::to_string(segment.last) + ']';
}

RESHARD_DECL std::string pattern_text(vector<segment> const& segments) {
    std::string inside, array;
    bool plain = true;
    for (std::size_t i = 0; i < segments.size(); ++i) {
        segment const& segment = segments[i];
        bool const has_next = i + 1 < segments.size();
        (segment.kind == segment::kind_type::array ? array : inside) +=
            segment_text(segment, has_next ? std::string_view(segments[i + 1].text) : "");
        plain = plain && (segment.kind != segment::kind_type::text ||
                          std::ranges::all_of(segment.text, is_plain_char));
    }
    bool const starts_plain =
        !inside.empty() && inside[0] != '.' && (inside[0] < '0' || inside[0] > '9');
    bool const only_text = segments.front().kind == segment::kind_type::text &&
                           (segments.size() == 1 || segments[1].kind == segment::kind_type::array);
    if (only_text)
        return quoted_name(segments.front().text) + array;
    return (plain && starts_plain ? inside : '"' + inside + '"') + array;
}

RESHARD_DECL std::string attribute_text(attribute const& attribute) {
    if (auto const* const number = std::get_if<index_t>(&attribute.value))
        return attribute.word + '=' + std::to_string(*number);
    if (auto const* const text = std::get_if<std::string>(&attribute.value))
        return attribute.is_quoted()
                   ? attribute.word + '=' + attribute.quote + *text + attribute.quote
                   : attribute.word + '=' + *text;
    return attribute.word;
}

RESHARD_DECL std::string bare_name_text(program const& whole_program, name const& name) {
    switch (name.kind) {
    case name::kind_type::pattern: return pattern_text(whole_program.pattern(name));
    case name::kind_type::nothing: return "_";
    default: return quoted_name(whole_program.text(name));
    }
}

} // namespace detail

RESHARD_DECL std::string print(program const& whole_program, statement const& statement) {
    return detail::statement_text(whole_program, statement, [&](name const& each) {
        return detail::bare_name_text(whole_program, each);
    });
}

} // namespace reshard::aoa

namespace reshard::aoa::detail {

RESHARD_DECL bool match(key_pattern const& pattern, std::string_view key,
                        std::span<index_t> numbers) {
    BOOST_ASSERT(numbers.size() == pattern.captures);
    std::size_t at = 0;
    for (std::size_t i = 0; i < pattern.pieces.size(); ++i) {
        pattern_piece const& piece = pattern.pieces[i];
        if (!key.substr(at).starts_with(piece.text))
            return false;
        at += piece.text.size();
        if (!piece.has_number)
            continue;
        bool const last = i + 1 == pattern.pieces.size();
        std::size_t const fixed = last ? 0 : digits_at(pattern.pieces[i + 1].text, 0);
        std::size_t const run = digits_at(key, at);
        if (run <= fixed || run - fixed > 18)
            return false;
        index_t number = 0;
        for (std::size_t const end = at + run - fixed; at < end; ++at)
            number = 10 * number + (key[at] - '0');
        if (piece.capture)
            numbers[*piece.capture] = number;
    }
    return at == key.size();
}

/// The number that is added to a placeholder's value: the written shift, and -1 for the only
/// placeholder with a shift of its own, on the right.
inline index_t shift_of(segment const& placeholder, bool on_right) {
    return placeholder.first - (on_right && placeholder.text == "LAYER_ID_OFFSET" ? 1 : 0);
}

RESHARD_DECL std::optional<index_t> value_for(segment const& placeholder, index_t number,
                                              bool on_right) {
    index_t value = 0;
    if (__builtin_sub_overflow(number, shift_of(placeholder, on_right), &value) ||
        __builtin_mul_overflow(value, placeholder.divisor, &value) ||
        value % placeholder.factor != 0)
        return std::nullopt;
    return value / placeholder.factor;
}

RESHARD_DECL std::optional<index_t> number_of(segment const& placeholder, index_t value,
                                              bool on_right) {
    index_t number = 0;
    if (__builtin_mul_overflow(value, placeholder.factor, &number) ||
        number % placeholder.divisor != 0)
        return std::nullopt;
    number /= placeholder.divisor;
    if (__builtin_add_overflow(number, shift_of(placeholder, on_right), &number))
        return std::nullopt;
    return number;
}

/// The search of `match_name`. Each place of a segment in the key is tried once, unless a
/// placeholder occurs twice, as its first place then decides about the second.
class name_matcher {
public:
    name_matcher(vector<segment> const& segments, std::string_view key, bool on_right)
        : segments_(segments),
          key_(key),
          on_right_(on_right),
          failed_(has_repeats() ? 0 : segments.size() * (key.size() + 1), false) {}

    std::optional<name_match> match() {
        return matches_from(0, 0) ? std::optional(std::move(match_)) : std::nullopt;
    }

private:
    bool has_repeats() const {
        for (std::size_t i = 0; i < segments_.size(); ++i)
            for (std::size_t k = 0; k < i; ++k)
                if (segments_[i].kind == segment::kind_type::placeholder &&
                    segments_[k].kind == segment::kind_type::placeholder &&
                    segments_[i].text == segments_[k].text)
                    return true;
        return false;
    }

    /// Whether the segments from number `i` on match the key from `at` on.
    bool matches_from(std::size_t i, std::size_t at) {
        if (i == segments_.size())
            return at == key_.size();
        std::size_t const index = i * (key_.size() + 1) + at;
        if (!failed_.empty() && failed_[index])
            return false;
        bool const is_match = segments_[i].kind == segment::kind_type::text ? has_text(i, at)
                              : segments_[i].kind == segment::kind_type::anything
                                  ? has_any(i, at)
                                  : has_number(i, at);
        if (!is_match && !failed_.empty())
            failed_[index] = true;
        return is_match;
    }

    bool has_text(std::size_t i, std::size_t at) {
        std::string const& text = segments_[i].text;
        return key_.substr(at).starts_with(text) && matches_from(i + 1, at + text.size());
    }

    bool has_any(std::size_t i, std::size_t at) {
        for (std::size_t end = at; end <= key_.size(); ++end) {
            match_.texts.push_back(key_.substr(at, end - at));
            if (matches_from(i + 1, end))
                return true;
            match_.texts.pop_back();
        }
        return false;
    }

    bool has_number(std::size_t i, std::size_t at) {
        std::size_t const digits = digits_at(key_, at);
        bool const is_whole = digits > 0 && digits <= 18 && (at == 0 || !is_digit(key_[at - 1]));
        if (segments_[i].kind != segment::kind_type::placeholder || !is_whole)
            return false;
        index_t number = 0;
        for (char const digit : key_.substr(at, digits))
            number = 10 * number + (digit - '0');
        auto const value = value_for(segments_[i], number, on_right_);
        if (!value)
            return false;
        auto const [position, is_new] = match_.values.try_emplace(segments_[i].text, *value);
        if (position->second == *value && matches_from(i + 1, at + digits))
            return true;
        if (is_new)
            match_.values.erase(position);
        return false;
    }

    vector<segment> const& segments_;
    std::string_view key_;
    bool on_right_;
    vector<bool> failed_; ///< by segment and position in the key
    name_match match_;
};

RESHARD_DECL std::optional<name_match> match_name(vector<segment> const& segments,
                                                  std::string_view key, bool on_right) {
    return name_matcher(segments, key, on_right).match();
}

RESHARD_DECL std::optional<std::string> fill_name(vector<segment> const& segments,
                                                  name_match const& match, bool on_right) {
    std::string text;
    auto matched = match.texts.begin();
    for (segment const& segment : segments)
        if (segment.kind == aoa::segment::kind_type::text) {
            text += segment.text;
        } else if (segment.kind == aoa::segment::kind_type::anything) {
            text += *matched++;
        } else {
            auto const number = number_of(segment, match.values.at(segment.text), on_right);
            if (!number || *number < 0)
                return std::nullopt;
            text += std::to_string(*number);
        }
    return text;
}

} // namespace reshard::aoa::detail

#endif
