// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_IMPL_CONTEXT_IPP
#define RESHARD_AOA_MACRO_IMPL_CONTEXT_IPP

#include <reshard/aoa/macro/context.hpp>

#include <reshard/aoa/macro/make_key_pattern.hpp>
#include <reshard/core/key_index.hpp>

#include <algorithm>
#include <cstddef>
#include <variant>

namespace reshard::aoa::detail {

RESHARD_DECL void append_outline(std::string& outline, std::string_view text) {
    for (std::size_t at = 0; at < text.size(); at += digits_at(text, at)) {
        std::size_t const digit = next_digit(text, at);
        outline += text.substr(at, digit - at);
        at = digit;
        if (at < text.size() && !outline.ends_with('0'))
            outline += '0';
    }
}

RESHARD_DECL std::string outline_of(std::vector<segment> const& segments) {
    std::string outline;
    for (segment const& one : segments)
        append_outline(outline, one.kind == segment::kind_type::text    ? one.text
                                : one.kind == segment::kind_type::array ? "_0"
                                                                        : "0");
    return outline;
}

} // namespace reshard::aoa::detail

namespace reshard::aoa {

namespace detail {

RESHARD_DECL std::size_t name_length(program const& code, name const& one) {
    if (one.kind != name::kind_type::pattern)
        return code.text(one).size();
    std::size_t length = 0;
    for (segment const& each_segment : code.pattern(one))
        length += each_segment.text.size() + 1;
    return length;
}

/// How many characters the attributes of a statement have, about.
inline std::size_t attribute_length(program const& code, statement const& one) {
    std::size_t length = 0;
    for (attribute const& each_attribute : code.attributes(one)) {
        auto const* const text = std::get_if<std::string>(&each_attribute.value);
        length += each_attribute.word.size() + (text ? text->size() : 1);
    }
    return length;
}

} // namespace detail

RESHARD_DECL bool macro_context::is_lost(std::vector<segment> const& open) const {
    return !lost_outlines.empty() && lost_outlines.contains(detail::outline_of(open));
}

RESHARD_DECL std::string macro_context::near(catalog const* keys,
                                             std::vector<segment> const& open) {
    if (!keys || searches_left == 0)
        return {};
    --searches_left;
    std::string const wanted = detail::outline_of(open);
    std::string outline;
    detail::nearest_text search(wanted, true);
    for (catalog_entry const& entry : *keys) {
        outline.clear();
        detail::append_outline(outline, entry.key);
        search.look_at(outline, entry.key);
    }
    return search.question();
}

RESHARD_DECL statement macro_context::derive(statement const& parent,
                                             std::string_view macro) const {
    statement made = parent;
    made.origin = code.make_origin({std::string(macro), parent.origin, parent.where});
    return made;
}

RESHARD_DECL void macro_context::spend(statement const& about, budget& of,
                                       std::size_t amount) const {
    if (!of.take(amount))
        fail_in(about, {errc::limit_exceeded, of.refusal(), {}});
}

RESHARD_DECL void macro_context::count(statement const& about, std::size_t new_names,
                                       std::size_t new_characters) {
    spend(about, names, new_names);
    spend(about, characters, new_characters);
}

RESHARD_DECL statement macro_context::make(std::span<name const> from, std::span<name const> to,
                                           statement const& like) {
    std::size_t length = detail::attribute_length(code, like);
    for (std::span<name const> const side : {from, to})
        for (name const& one : side)
            length += detail::name_length(code, one);
    count(like, from.size() + to.size(), length);
    return code.make_statement(from, to, like);
}

RESHARD_DECL void macro_context::warn(statement const& about, std::string kind, std::string key,
                                      std::string message) {
    findings.push_back({detail::severity::warning, std::move(kind), std::move(key),
                        std::move(message), about.where, about.origin});
}

RESHARD_DECL attribute const* find_attribute(program const& code, statement const& one,
                                             std::string_view word) {
    for (attribute const& candidate : code.attributes(one))
        if (candidate.word == word)
            return &candidate;
    return nullptr;
}

namespace detail {

RESHARD_DECL bool has_segment(program const& code, name const& one, segment::kind_type kind) {
    return one.kind == name::kind_type::pattern &&
           std::ranges::any_of(code.pattern(one), [&](segment const& s) { return s.kind == kind; });
}

RESHARD_DECL bool has_segment(program const& code, statement const& one, segment::kind_type kind) {
    return std::ranges::any_of(code.names(one),
                               [&](name const& n) { return has_segment(code, n, kind); });
}

} // namespace detail

} // namespace reshard::aoa

#endif
