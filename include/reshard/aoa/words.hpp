// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_WORDS_HPP
#define RESHARD_AOA_WORDS_HPP

#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

/// \file
/// The words of the language: all attributes of statements, and the lists in their values.

namespace reshard::aoa {

namespace detail {

/// The value after an attribute's word.
enum class value_kind {
    none,   ///< no value: the word alone, for example `fused_ffn`
    number, ///< an integer, for example `axis=1`
    real,   ///< any number, for example `scale=0.5`
    text,   ///< a quoted text, for example `dtype="float32"`
};

/// A word of the language.
struct attribute_word {
    std::string_view word;
    value_kind value;
    bool reserved; ///< a tensor with this name has to be quoted
};

/// All words of the language.
///
/// \par Source the ten words of PaddlePaddle 3.3.1 and `reshape` are reserved there; the other
///             words are this library's own, and tensors may still have these names
inline constexpr attribute_word attribute_words[] = {
    {"axis", value_kind::number, true},
    {"permute", value_kind::text, true},
    {"dtype", value_kind::text, true},
    {"src_dtype", value_kind::text, true},
    {"dst_dtype", value_kind::text, true},
    {"reshape", value_kind::text, true},
    {"fused_ffn", value_kind::none, true},
    {"fused_qkv", value_kind::none, true},
    {"fused_qkv_old", value_kind::none, true},
    {"num_heads", value_kind::number, true},
    {"num_key_value_groups", value_kind::number, true},
    {"num_q_heads", value_kind::number, false},
    {"num_kv_heads", value_kind::number, false},
    {"sizes", value_kind::text, false},
    {"slice", value_kind::text, false},
    {"resize", value_kind::text, false},
    {"scales", value_kind::text, false},
    {"blocks", value_kind::text, false},
    {"copy_of", value_kind::text, false},
    {"fused", value_kind::none, false},
    {"add", value_kind::real, false},
    {"scale", value_kind::real, false},
    {"squeeze", value_kind::number, false},
    {"unsqueeze", value_kind::number, false},
    {"stack", value_kind::number, false},
    {"unstack", value_kind::number, false},
    {"dequantize", value_kind::none, false},
    {"quantize", value_kind::text, false},
};

/// The word with this text, or null.
constexpr attribute_word const* find_attribute_word(std::string_view text) {
    for (attribute_word const& word : attribute_words)
        if (word.word == text)
            return &word;
    return nullptr;
}

} // namespace detail

/// Whether a character may be in a name without quotes, and has no special meaning.
constexpr bool is_plain_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

namespace detail {

/// Whether a text ends with the quoted value of an attribute, for example `dtype="float32"`.
constexpr bool ends_in_quoted_value(std::string_view text) {
    if (text.empty() || (text.back() != '"' && text.back() != '\''))
        return false;
    std::size_t const open = text.substr(0, text.size() - 1).rfind(text.back());
    std::string_view const before = text.substr(0, open == text.npos ? 0 : open);
    std::size_t const last = before.find_last_not_of(" \t");
    return last != before.npos && before[last] == '=';
}

/// Whether a line begins with names and `->`.
constexpr bool begins_with_statement(std::string_view line) {
    line = line.substr(0, line.find_first_of("\r\n\v"));
    std::string_view const names = line.substr(0, line.find("->"));
    bool const begins_name =
        !names.empty() &&
        (is_plain_char(names[0]) || names[0] == '$' || names[0] == '"' || names[0] == '\'') &&
        names[0] != '.' && (names[0] < '0' || names[0] > '9');
    return begins_name && names.size() < line.size() && names.find_first_of("=#;") == names.npos;
}

/// Whether a tensor with this name has to be quoted.
constexpr bool is_reserved(std::string_view text) {
    attribute_word const* const word = find_attribute_word(text);
    return word != nullptr && word->reserved;
}

/// Whether a word computes with each element.
constexpr bool is_arithmetic(std::string_view word) { return word == "add" || word == "scale"; }

/// Whether a word changes the values of elements, other than by a cast.
constexpr bool changes_values(std::string_view word) {
    return is_arithmetic(word) || word == "dequantize" || word == "quantize";
}

/// Whether a name with this text, after other names, could be parsed as a word.
constexpr bool may_be_word(std::string_view text) {
    attribute_word const* const word = find_attribute_word(text);
    return word != nullptr && (word->reserved || word->value == value_kind::none);
}

/// Takes the integer at the beginning of a text; std::nullopt if there is none, or if it exceeds 64
/// bits.
constexpr std::optional<index_t> take_integer(std::string_view& text) {
    bool const is_negative = text.starts_with('-');
    std::size_t const first = is_negative ? 1 : 0;
    std::size_t last = first;
    index_t negated = 0; // negative, because the lowest integer has no positive counterpart
    for (; last < text.size() && text[last] >= '0' && text[last] <= '9'; ++last)
        if (__builtin_mul_overflow(negated, 10, &negated) ||
            __builtin_sub_overflow(negated, text[last] - '0', &negated))
            return std::nullopt;
    if (last == first || (!is_negative && negated == std::numeric_limits<index_t>::min()))
        return std::nullopt;
    text.remove_prefix(last);
    return is_negative ? negated : -negated;
}

/// The length of the number with a fraction or an exponent at the beginning of a text, as `1.5` or
/// `-2e-3`; 0 for an integer and for any other text.
constexpr std::size_t real_length(std::string_view text) {
    auto const digits_from = [text](std::size_t first) {
        std::size_t last = first;
        while (last < text.size() && text[last] >= '0' && text[last] <= '9')
            ++last;
        return last - first;
    };
    std::size_t const sign = text.starts_with('-') ? 1 : 0;
    std::size_t end = sign + digits_from(sign);
    bool const has_digits = end > sign;
    bool is_real = has_digits && text.substr(end).starts_with('.');
    if (is_real)
        end += 1 + digits_from(end + 1);
    if (has_digits && end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
        std::size_t const first =
            end + 1 +
            (text.substr(end + 1).starts_with('-') || text.substr(end + 1).starts_with('+'));
        if (std::size_t const exponent = digits_from(first)) {
            end = first + exponent;
            is_real = true;
        }
    }
    return is_real ? end : 0;
}

constexpr void skip_blanks(std::string_view& text) {
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t\r\n")));
}

/// Takes `wanted` and the blanks before it; false if another character comes next.
constexpr bool take(std::string_view& text, char wanted) {
    skip_blanks(text);
    bool const is_next = text.starts_with(wanted);
    text.remove_prefix(is_next ? 1 : 0);
    return is_next;
}

/// Reads the entries of a list in brackets; a comma after the last entry is allowed.
///
/// \param take_entry takes an entry from the beginning of a text, or returns std::nullopt
/// \return           false for any other text
template <class Entry, class TakeEntry>
constexpr bool read_list(std::string_view text, TakeEntry const& take_entry,
                         vector<Entry>& entries) {
    if (!take(text, '['))
        return false;
    while (!take(text, ']')) {
        std::optional<Entry> const entry = take_entry(text);
        if (!entry || (!take(text, ',') && !text.starts_with(']')))
            return false;
        entries.push_back(*entry);
    }
    skip_blanks(text);
    return text.empty();
}

/// The extent at the beginning of a text; for `*`, an optional without a value.
constexpr std::optional<std::optional<index_t>> take_extent(std::string_view& text) {
    if (take(text, '*'))
        return std::optional<index_t>();
    if (auto const number = take_integer(text))
        return std::optional<std::optional<index_t>>(std::in_place, number);
    return std::nullopt;
}

/// The shape of a tensor with shape `old` after a reshape to `list`.
///
/// It is `list` itself. A list of three extents or more is also the grouped form: there, the tensor
/// has the list's shape, or that shape with the first two axes merged and all other axes merged.
/// The result is the one of these two shapes that the target has.
///
/// \param wanted the target's shape, or null
/// \throws       error with errc::overflow if a product exceeds 64 bits
/// \par Source   section 4.7 of the description of AOA (PaddlePaddle flex_checkpoint), which has
///               only the grouped form
constexpr index_vector reshaped_shape(index_vector const& old, index_vector const& list,
                                      index_vector const* wanted) {
    if (!wanted || list.size() < 3)
        return list;
    index_vector const grouped{reshard::detail::checked_multiply(list[0], list[1]),
                               element_count(index_vector(list.begin() + 2, list.end()))};
    auto const is_either = [&](index_vector const& shape) {
        return shape == list || shape == grouped;
    };
    return is_either(old) && is_either(*wanted) ? *wanted : list;
}

} // namespace detail

} // namespace reshard::aoa

#endif
