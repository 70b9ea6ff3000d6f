// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_ERROR_HPP
#define RESHARD_CORE_ERROR_HPP

#include <charconv>
#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

/// \file
/// The one exception type of the library: a code for programs, a sentence for people.

namespace reshard::detail {

/// How severe a finding is.
enum class severity {
    note,    ///< worth knowing
    warning, ///< probably a mistake
    error,   ///< the program cannot run
};

/// The severity as a word in messages: `note`, `warning`, `error`.
constexpr std::string_view name_of(severity level) {
    constexpr std::string_view names[] = {"note", "warning", "error"};
    return names[static_cast<std::size_t>(level)];
}

} // namespace reshard::detail

namespace reshard {

/// What went wrong, for programs. The text of an `error` is for people and may change.
enum class errc {
    syntax,         ///< a program or a layout file does not follow its grammar
    unknown_key,    ///< a name that is not a source key and that no earlier statement defines
    bad_macro,      ///< a macro that is used in an unsupported form
    shape_mismatch, ///< shapes that do not fit, or an axis that does not exist
    dtype_mismatch, ///< data types differ, but the program has no cast
    not_covered,    ///< elements of a target that nobody holds
    overlap,        ///< shards of one key share elements but are not replicas
    overflow,       ///< a product of extents that does not fit 64 bits
    limit_exceeded, ///< a limit of the library or of its options
    bad_layout,     ///< a layout that contradicts itself
    memory_overlap, ///< source and target tensors share memory
    ranks_disagree, ///< ranks that run different operations, programs or options
    unsupported,    ///< legal, but not possible in this combination
    not_invertible, ///< a program that cannot be reversed: it loses elements that nothing can
                    ///< restore
    usage,          ///< a call or a command line that cannot be understood
    corrupt_file,   ///< a file whose bytes contradict its format, or not a file
    missing_file,   ///< a required file does not exist
    already_exists, ///< the target already exists
    io,             ///< the system refused to read or write
    deadline,       ///< ranks that did not arrive in time
};

/// The name of the code, as in source code and in reports.
constexpr std::string_view name(errc code) {
    constexpr std::string_view names[] = {
        "syntax",
        "unknown_key",
        "bad_macro",
        "shape_mismatch",
        "dtype_mismatch",
        "not_covered",
        "overlap",
        "overflow",
        "limit_exceeded",
        "bad_layout",
        "memory_overlap",
        "ranks_disagree",
        "unsupported",
        "not_invertible",
        "usage",
        "corrupt_file",
        "missing_file",
        "already_exists",
        "io",
        "deadline",
    };
    return names[static_cast<std::size_t>(code)];
}

/// The exception that this library throws for bad input.
class error : public std::runtime_error {
public:
    /// `text` is the sentence: it names key, axis and both numbers, and what to do.
    error(errc code, std::string const& text) : std::runtime_error(text), code_(code) {}

    /// The code, for programs.
    errc code() const noexcept { return code_; }

private:
    errc code_;
};

namespace detail {

/// One word of a message: a reference to a value, and the function that appends its text.
///
/// Many messages have different types of values. With this class, only a list of pairs is compiled
/// for each message.
struct word {
    void const* value;
    void (*append)(std::string& text, void const* value);
};

/// Appends a text unchanged, a number as digits, and an enumerator by name. For any other value,
/// appends the result of `to_string`.
template <class T>
void append_word(std::string& text, void const* value) {
    T const& current_value = *static_cast<T const*>(value);
    if constexpr (std::is_convertible_v<T const&, std::string_view>)
        text += std::string_view(current_value);
    else if constexpr (std::is_same_v<T, char>)
        text += current_value;
    else if constexpr (std::is_arithmetic_v<T>)
        text += std::to_string(current_value);
    else if constexpr (std::is_enum_v<T>)
        text += name(current_value);
    else
        text += to_string(current_value);
}

inline void append_characters(std::string& text, void const* value) {
    text += static_cast<char const*>(value);
}

template <class T>
word word_of(T const& value) {
    return {&value, append_word<T>};
}
inline word word_of(char const* text) { return {text, append_characters}; }

inline std::string joined(std::initializer_list<word> words) {
    std::string text;
    for (word const& word : words)
        word.append(text, word.value);
    return text;
}

/// Makes a text safe to print. Texts from files, especially keys, may contain any bytes. Control
/// characters are written as `\x1b`, so that a terminal does not act on them. Line ends and tabs
/// are kept.
inline std::string printable(std::string const& text) {
    std::string shown;
    for (std::size_t i = 0; i < text.size(); ++i) {
        auto const byte = static_cast<unsigned char>(text[i]);
        auto const next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
        bool const is_c1 = byte == 0xC2 && next >= 0x80 && next < 0xA0; // in UTF-8
        bool const is_control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
        if (!is_control && !is_c1) {
            shown += text[i];
            continue;
        }
        unsigned const code = is_c1 ? next : byte;
        shown += {'\\', 'x', "0123456789abcdef"[code >> 4], "0123456789abcdef"[code & 15]};
        i += is_c1;
    }
    return shown;
}

/// Shortens a text of more than 64 KiB: keeps the beginning and the end.
inline std::string shortened(std::string text) {
    constexpr std::size_t most = std::size_t{1} << 16, kept = most / 2 - 64;
    if (text.size() <= most)
        return text;
    return text.substr(0, kept) + " ... (" + std::to_string(text.size() - 2 * kept) +
           " bytes more) ... " + text.substr(text.size() - kept);
}

[[noreturn, gnu::cold, gnu::noinline]] inline void throw_error(errc code,
                                                               std::initializer_list<word> words) {
    throw error(code, shortened(printable(joined(words))));
}

/// Joins the words of a message; `append_word` writes each word.
template <class... Words>
std::string words(Words const&... all) {
    return joined({word_of(all)...});
}

/// A number with as few digits as represent it exactly: `0.5`, `1e-06`.
inline std::string shortest_text(double number) {
    char text[32];
    return std::string(text, std::to_chars(text, text + sizeof text, number).ptr);
}

/// A number and a noun, in the plural if needed: `1 rank`, `3 ranks`; `1 axis`, `2 axes`.
template <class Count>
std::string counted(Count const& count, std::string_view noun) {
    std::string text = words(count, " ", noun);
    if (count == Count(1))
        return text;
    if (noun == "axis")
        text[text.size() - 2] = 'e';
    return noun == "axis" ? text : text + "s";
}

/// A number of seconds as text: `10 s`, `0.5 s`.
inline std::string seconds_text(double seconds) {
    std::string text = std::to_string(seconds);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.'))
        text.pop_back();
    return text + " s";
}

/// The first of `count` names and the number of further names: `'a' and 2 more`.
inline std::string first_and_more(std::string const& first, std::size_t count) {
    return count > 1 ? first + " and " + std::to_string(count - 1) + " more" : first;
}

/// Converts an ASCII capital to lower case; other characters are unchanged.
constexpr char to_lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

/// The text that follows the first of `count` keys: ` (and 2 more keys)`. Empty for a single key.
inline std::string and_more_keys(std::size_t count) {
    return count > 1 ? " (and " + counted(count - 1, "more key") + ")" : "";
}

} // namespace detail

/// Throws an `error` with that code. The words form the message: texts, numbers, and any value that
/// has a `to_string` or `name`.
///
/// Deliberately not `constexpr`: if a check fails in a constant expression, the call is a compile
/// error.
template <class... Words>
[[noreturn, gnu::always_inline]] inline void fail(errc code, Words const&... words) {
    detail::throw_error(code, {detail::word_of(words)...});
}

} // namespace reshard

#endif
