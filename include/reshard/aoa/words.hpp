// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_WORDS_HPP
#define RESHARD_AOA_WORDS_HPP

#include <cstddef>
#include <string_view>

/// \file
/// The words of the language: every attribute that a statement may have.

namespace reshard::aoa {

namespace detail {

/// The value after an attribute's word.
enum class value_kind {
    none,   ///< none: the word alone, as in `fused_ffn`
    number, ///< an integer, as in `axis=1`
    text,   ///< a quoted text, as in `dtype="float32"`
};

/// A word of the language.
struct attribute_word {
    std::string_view word;
    value_kind value;
    bool reserved; ///< a tensor of that name has to be quoted
};

/// All of them.
///
/// \par Source the ten words of PaddlePaddle 3.3.1 and `reshape` are reserved there; the others are
///             this library's own and do not take a tensor's name away
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
};

/// The word of that text, or null.
constexpr attribute_word const* find_attribute_word(std::string_view text) {
    for (attribute_word const& word : attribute_words)
        if (word.word == text)
            return &word;
    return nullptr;
}

} // namespace detail

/// Whether a character may be in a name without quotes and means itself.
constexpr bool is_plain_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

namespace detail {

/// Whether a text ends with the quoted value of an attribute, as in `dtype="float32"`.
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

/// Whether a tensor of that name has to be quoted.
constexpr bool is_reserved(std::string_view text) {
    attribute_word const* const word = find_attribute_word(text);
    return word != nullptr && word->reserved;
}

/// Whether a name of that text could be taken for a word after other names.
constexpr bool may_be_word(std::string_view text) {
    attribute_word const* const word = find_attribute_word(text);
    return word != nullptr && (word->reserved || word->value == value_kind::none);
}

} // namespace detail

} // namespace reshard::aoa

#endif
