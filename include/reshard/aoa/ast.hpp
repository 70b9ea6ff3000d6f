// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_AST_HPP
#define RESHARD_AOA_AST_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>

#include <cstdint>
#include <optional>
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

/// A part of a name that has to be expanded.
struct segment {
    enum class kind_type : std::uint8_t {
        text,        ///< the text itself
        star,        ///< `*`: all existing numbers, each of one or more digits
        placeholder, ///< `$LAYER_ID` or another `$NAME`, optionally with `+ k` or `- k`; or
                     ///< `${2*N + 1}`
        array,       ///< `[a:b]`: the numbers from a to b - 1 after `_`
        anything,    ///< `**`: any text, also an empty one
    };

    kind_type kind = kind_type::text;
    std::string text;    ///< the text, or the placeholder's name without `$`
    index_t first = 0;   ///< for an array: `a`; for a placeholder: the shift of its number
    index_t last = 0;    ///< for an array: `b`
    index_t factor = 1;  ///< for a placeholder: its number is multiplied by that,
    index_t divisor = 1; ///< and divided by that, which must leave no remainder, before the shift

    bool operator==(segment const&) const = default;
};

/// A tensor's name in a statement. The statement's program has the text of the name.
struct name {
    enum class kind_type : std::uint8_t {
        nothing, ///< `_`
        text,    ///< a tensor; equal numbers are equal texts
        fresh,   ///< a temporary that a macro made; no text in a program can name it
        pattern, ///< segments; `expand` leaves none
    };

    kind_type kind = kind_type::nothing;
    bool transposed = false; ///< `^T` follows it
    std::uint32_t id = 0;
    text_span where; ///< position in the text that the user wrote
};

/// A word after the names, with its value if it has one.
struct attribute {
    using value_type = std::variant<std::monostate, index_t, std::string>;

    std::string word;
    value_type value; ///< a number that is not an integer is the text as it was written
    char quote = '"'; ///< the quotes around a text; 0 for a number
    text_span where;

    /// Whether the value is a text in quotes.
    bool is_quoted() const { return std::holds_alternative<std::string>(value) && quote != 0; }

    /// The value as a number; std::nullopt for a text in quotes, and without a value.
    ///
    /// \post an infinity if the number exceeds f64
    std::optional<double> number() const;

    /// Compares content; position and quotes do not count.
    bool operator==(attribute const& other_attribute) const {
        return word == other_attribute.word && value == other_attribute.value;
    }
};

/// The attribute with this word, or null.
RESHARD_DECL attribute const* find_attribute(std::span<attribute const> list,
                                             std::string_view word);

/// The origin of a statement: written by the user, or made by a macro from another statement.
struct origin {
    std::string macro;        ///< empty: written by the user
    std::uint32_t parent = 0; ///< the origin of the statement that was expanded
    text_span where;          ///< the user's statement
    bool is_broken = false;   ///< it had an error: it only lists the names that have no value
    index_t blocks = 0;       ///< number of parts in the fused tensor that it makes or takes apart:
                              ///< parts of ranks or, if `fused_qkv` takes the tensor apart, of
                              ///< heads; 0 for other statements
    std::string attributes{}; ///< for a fused tensor made from another: its attributes
    bool is_axis_assumed = false; ///< the statement has no axis, so the macro uses its default

    bool operator==(origin const&) const = default;
};

/// `left -> right, attributes`. The program stores the names and the attributes. A statement is
/// seven numbers, so that a program of a hundred thousand statements can be copied, not rebuilt.
struct statement {
    std::uint32_t names = 0; ///< index of its first name; the right names follow the left names
    std::uint32_t left = 0;
    std::uint32_t right = 0;
    std::uint32_t attributes = 0; ///< index of its list
    std::uint32_t origin = 0;
    text_span where; ///< position in the text that the user wrote

    /// True if two statements of one program are the same statement.
    bool operator==(statement const&) const = default;
};

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/ast.ipp>
#endif

#endif
