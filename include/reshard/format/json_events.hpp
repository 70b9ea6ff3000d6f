// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_JSON_EVENTS_HPP
#define RESHARD_FORMAT_JSON_EVENTS_HPP

#include <boost/json/basic_parser_impl.hpp>
#include <boost/system/error_code.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// JSON as a sequence of events. Events show facts that a document loses, such as duplicate keys.

namespace reshard::detail {

/// The kind of a number.
enum class json_number {
    integer,  ///< without fraction and exponent, and within 64 bits
    real,     ///< any other finite number
    infinite, ///< larger than the largest double
};

/// Takes the events of a JSON text. Each function returns false to refuse an event; `refusal()`
/// then says why.
///
/// Numbers are passed as they are written in the text.
template <class T>
concept json_handler = requires(T& handler, std::string_view text, json_number kind) {
    { handler.object_begin() } -> std::same_as<bool>;
    { handler.object_end() } -> std::same_as<bool>;
    { handler.array_begin() } -> std::same_as<bool>;
    { handler.array_end() } -> std::same_as<bool>;
    { handler.key(text) } -> std::same_as<bool>;
    { handler.string(text) } -> std::same_as<bool>;
    { handler.number(text, kind) } -> std::same_as<bool>;
    { handler.literal(text) } -> std::same_as<bool>;
    { handler.refusal() } -> std::convertible_to<std::string>;
};

/// The position at which a JSON text becomes invalid, and the reason.
struct json_fault {
    std::size_t position = 0; ///< bytes from the beginning of the text
    std::string text;
};

/// The handler that Boost.JSON's parser calls. It joins the parts of long strings and passes on
/// whole strings.
template <json_handler Handler>
struct json_adapter {
    static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
    static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
    static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
    static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

    using text_view = boost::json::string_view;
    using code = boost::system::error_code;

    explicit json_adapter(Handler& target) : handler(target) {}

    bool on_document_begin(code&) { return true; }
    bool on_document_end(code&) { return true; }
    bool on_object_begin(code& ec) { return pass(handler.object_begin(), ec); }
    bool on_object_end(std::size_t, code& ec) { return pass(handler.object_end(), ec); }
    bool on_array_begin(code& ec) { return pass(handler.array_begin(), ec); }
    bool on_array_end(std::size_t, code& ec) { return pass(handler.array_end(), ec); }
    bool on_key_part(text_view text, std::size_t, code&) { return keep(text); }
    bool on_key(text_view text, std::size_t, code& ec) {
        return pass(handler.key(joined(text)), ec);
    }
    bool on_string_part(text_view text, std::size_t, code&) { return keep(text); }
    bool on_string(text_view text, std::size_t, code& ec) {
        return pass(handler.string(joined(text)), ec);
    }
    bool on_number_part(text_view text, code&) { return keep(text); }
    bool on_int64(std::int64_t, text_view text, code& ec) {
        return number(text, json_number::integer, ec);
    }
    bool on_uint64(std::uint64_t, text_view text, code& ec) {
        return number(text, json_number::integer, ec);
    }
    bool on_double(double value, text_view text, code& ec) {
        return number(text, std::isinf(value) ? json_number::infinite : json_number::real, ec);
    }
    bool on_bool(bool value, code& ec) {
        return pass(handler.literal(value ? "true" : "false"), ec);
    }
    bool on_null(code& ec) { return pass(handler.literal("null"), ec); }
    bool on_comment_part(text_view, code&) { return true; }
    bool on_comment(text_view, code&) { return true; }

    Handler& handler;
    std::string kept;
    bool taken = false;

private:
    bool number(text_view text, json_number kind, code& ec) {
        return pass(handler.number(joined(text), kind), ec);
    }

    bool keep(text_view text) {
        if (taken)
            kept.clear();
        taken = false;
        kept.append(text.data(), text.size());
        return true;
    }

    /// The whole text. It is copied only if it arrived in several pieces.
    std::string_view joined(text_view text) {
        if (taken || kept.empty())
            return {text.data(), text.size()};
        keep(text);
        taken = true;
        return kept;
    }

    static bool pass(bool accepted, code& ec) {
        if (!accepted)
            ec = boost::json::error::syntax;
        return accepted;
    }
};

/// The position of the last character before `position` that is not white space, or `npos`.
inline std::size_t before_space(std::string_view text, std::size_t position) {
    return text.substr(0, position).find_last_not_of(" \t\r\n");
}

/// The fault in a text that is not JSON. It explains the most frequent mistakes.
inline json_fault syntax_fault(std::string_view text, std::size_t position) {
    position = std::min(text.find_first_not_of(" \t\r\n", position), text.size());
    std::size_t const last = before_space(text, position);
    char const index = position < text.size() ? text[position] : '\0';
    char const before = last < text.size() ? text[last] : '\0';
    bool const ends_list = index == ']' || index == '}';
    std::string const shown = "'" + std::string(1, index) + "'";
    if (before == ',' && ends_list)
        return {last, "the comma before " + shown + " has nothing after it; remove it"};
    if (before == ',' && index == ',')
        return {position, "there are two commas with nothing between them; remove one"};
    if (index == '\'')
        return {position, "names and strings need double quotes, not single ones"};
    if (index == '/' || index == '#')
        return {position, "JSON has no comments; remove it"};
    bool const is_value_before =
        before == '"' || before == ']' || before == '}' || (before >= '0' && before <= '9');
    bool const begins_value = index == '"' || index == '[' || index == '{' || index == '-' ||
                              (index >= '0' && index <= '9');
    if (is_value_before && begins_value)
        return {position, "a comma or a colon is missing before " + shown};
    if (index == ':')
        return {position, "':' is not allowed here in JSON; is a bracket missing before it?"};
    if (index > ' ' && index < 0x7F)
        return {position, shown + " is not allowed here in JSON"};
    return {position, "this is not JSON"};
}

inline std::string sentence(boost::system::error_code ec) {
    if (ec == boost::json::error::too_deep)
        return "arrays and objects are nested too deeply";
    if (ec == boost::json::error::incomplete)
        return "the JSON text ends too early";
    return "JSON " + ec.message();
}

/// Sends the events of `text` to `handler`; returns the fault of the text, or std::nullopt.
///
/// \par Units  `max_depth` in nested arrays and objects
/// \par Source RFC 8259, without any extension: no comment, no trailing comma, no lone surrogate,
///             UTF-8 only
template <json_handler Handler>
std::optional<json_fault> send_json_events(std::string_view text, Handler& handler,
                                           std::size_t max_depth) {
    boost::json::parse_options options;
    options.max_depth = max_depth;
    boost::json::basic_parser<json_adapter<Handler>> parser(options, handler);
    boost::system::error_code ec;
    std::size_t const read = parser.write_some(false, text.data(), text.size(), ec);
    if (ec) {
        std::string const refusal = handler.refusal();
        if (refusal.empty() && ec == boost::json::error::syntax)
            return syntax_fault(text, read);
        return json_fault{read, refusal.empty() ? sentence(ec) : refusal};
    }
    if (read < text.size())
        return json_fault{read, "something follows the end of the JSON text"};
    return std::nullopt;
}

} // namespace reshard::detail

#endif
