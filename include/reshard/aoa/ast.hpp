// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_AST_HPP
#define RESHARD_AOA_AST_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

/// \file
/// The parts of a program: names, attributes, statements, and their origins.

namespace reshard::aoa {

namespace detail {

using namespace reshard::detail;

} // namespace detail

/// The bytes `[first, last)` of a program's text.
struct text_span {
    std::uint32_t first = 0;
    std::uint32_t last = 0;

    constexpr bool operator==(text_span const&) const = default;
};

/// A piece of a name that has yet to be expanded.
struct segment {
    enum class kind_type : std::uint8_t {
        text,        ///< itself
        star,        ///< `*`: one or more digits, all that exist
        placeholder, ///< `$LAYER_ID` or any other `$NAME`, perhaps `+ k` or `- k`
        array,       ///< `[a:b]`: the numbers from a to b - 1 after `_`
    };

    kind_type kind = kind_type::text;
    std::string text;  ///< the text, or the placeholder's name without `$`
    index_t first = 0; ///< of an array; for a placeholder, the shift of the number
    index_t last = 0;  ///< of an array

    bool operator==(segment const&) const = default;
};

/// A tensor's name in a statement. The program that it belongs to knows its text.
struct name {
    enum class kind_type : std::uint8_t {
        nothing, ///< `_`
        text,    ///< a tensor; equal numbers are equal texts
        fresh,   ///< a temporary that a macro made; no text can name it
        pattern, ///< segments; `expand` leaves none
    };

    kind_type kind = kind_type::nothing;
    bool transposed = false; ///< `^T` follows it
    std::uint32_t id = 0;
    text_span where; ///< in the text that the user wrote
};

/// A word after the names, with its value if it has one.
struct attribute {
    using value_type = std::variant<std::monostate, index_t, std::string>;

    std::string word;
    value_type value;
    char quote = '"'; ///< quotes around a text
    text_span where;

    /// Compares content; position and quotes do not count.
    bool operator==(attribute const& other_attribute) const {
        return word == other_attribute.word && value == other_attribute.value;
    }
};

/// The attribute of that word, or null.
RESHARD_DECL attribute const* find_attribute(std::span<attribute const> list,
                                             std::string_view word);

/// The origin of a statement: written by the user, or made by a macro from another statement.
struct origin {
    std::string macro;        ///< empty: written by the user
    std::uint32_t parent = 0; ///< the origin of the statement that was expanded
    text_span where;          ///< the user's statement
    bool is_broken = false;   ///< it had an error: it only says which names have no value
    index_t blocks = 0;       ///< of ranks, in the fused tensor that it makes or takes apart, or of
                              ///< heads in one that `fused_qkv` takes apart; or 0
    std::string attributes{}; ///< of a statement that makes a fused tensor from a fused tensor
    bool is_axis_assumed = false; ///< the statement names none, and the macro has one of its own

    bool operator==(origin const&) const = default;
};

/// `left -> right, attributes`. Its program has the names and the attributes. A statement is seven
/// numbers, so that a program of a hundred thousand statements can be copied, not rebuilt.
struct statement {
    std::uint32_t names = 0; ///< the first of its names; the right ones follow the left ones
    std::uint32_t left = 0;
    std::uint32_t right = 0;
    std::uint32_t attributes = 0; ///< which list
    std::uint32_t origin = 0;
    text_span where; ///< in the text that the user wrote

    /// True if two statements of one program are the same statement.
    bool operator==(statement const&) const = default;
};

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/ast.ipp>
#endif

#endif
