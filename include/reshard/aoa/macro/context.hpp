// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

// Before the guard: in header-only mode, a later body includes this header.
#include <reshard/aoa/expand.hpp>
#include <reshard/core/vector.hpp>

#ifndef RESHARD_AOA_MACRO_CONTEXT_HPP
#define RESHARD_AOA_MACRO_CONTEXT_HPP

#include <reshard/aoa/macro/make_key_pattern.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/core/key_index.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>

/// \file
/// The data that every macro needs.

namespace reshard::aoa {

namespace detail {

class name_chain;

/// The exception of a macro: a statement and its error.
struct failed_statement {
    statement about;
    statement_error problem;
};

} // namespace detail

/// Throws an error about a statement; `attempt` turns it into a finding.
[[noreturn]] inline void fail_in(statement const& about, statement_error problem) {
    throw detail::failed_statement{about, std::move(problem)};
}

/// A name with open numbers that a broken statement would have read or bound.
struct lost_name {
    name open;
    bool is_read;
};

namespace detail {

/// Appends the outline of a text, in which one `0` replaces each run of digits.
inline void append_outline(std::string& outline, std::string_view text) {
    for (std::size_t at = 0; at < text.size(); at += digits_at(text, at)) {
        std::size_t const digit = next_digit(text, at);
        outline += text.substr(at, digit - at);
        at = digit;
        if (at < text.size() && !outline.ends_with('0'))
            outline += '0';
    }
}

/// The common outline of all keys that a name with open numbers matches.
inline std::string outline_of(vector<segment> const& segments) {
    std::string outline;
    for (segment const& segment : segments)
        append_outline(outline, segment.kind == segment::kind_type::text    ? segment.text
                                : segment.kind == segment::kind_type::array ? "_0"
                                                                            : "0");
    return outline;
}

/// The approximate number of characters in a name.
inline std::size_t name_length(program const& code, name const& name) {
    if (name.kind != name::kind_type::pattern)
        return code.text(name).size();
    std::size_t length = 0;
    for (segment const& each_segment : code.pattern(name))
        length += each_segment.text.size() + 1;
    return length;
}

/// The approximate number of characters in the attributes of a statement.
inline std::size_t attribute_length(program const& code, statement const& statement) {
    std::size_t length = 0;
    for (attribute const& each_attribute : code.attributes(statement)) {
        auto const* const text = std::get_if<std::string>(&each_attribute.value);
        length += each_attribute.word.size() + (text ? text->size() : 1);
    }
    return length;
}

} // namespace detail

/// The program that is expanded, and its two sides.
struct macro_context {
    program& code;
    catalog const* left;  ///< tensors for the names on the left; null: unknown
    catalog const* right; ///< tensors for the names on the right; null: unknown
    expand_options const& options;
    vector<finding>& findings;
    detail::name_chain const* chain = nullptr; ///< null if no macro needs it
    budget names{options.max_names, "names after expansion", "max_names"};
    budget characters{options.max_characters, "characters after expansion", "max_characters"};
    budget steps{options.max_steps, "steps of expansion", "max_steps"};
    std::optional<errc> first_error = {}; ///< code of the first finding that is an error
    vector<lost_name> lost = {};
    std::unordered_set<std::string> lost_outlines = {}; ///< of names that would have been bound
    int searches_left = 32; ///< limits the cost: each search for the intended key compares all keys

    /// Whether a name with open numbers may be a result of a broken statement.
    bool is_lost(vector<segment> const& open) const {
        return !lost_outlines.empty() && lost_outlines.contains(detail::outline_of(open));
    }

    /// For example ` (did you mean 'l.0.w'?)`: the key of a side that is most similar to a name
    /// with open numbers. Empty after too many searches.
    std::string near(catalog const* keys, vector<segment> const& open) {
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

    /// A statement that `macro` makes from `parent`. It shares the names and attributes of
    /// `parent`.
    statement derive(statement const& parent, std::string_view macro) const {
        statement statement = parent;
        statement.origin = code.make_origin({std::string(macro), parent.origin, parent.where});
        return statement;
    }

    /// Takes the cost of the next step for a statement from a budget.
    ///
    /// \throws failed_statement with errc::limit_exceeded if the budget is exceeded
    void spend(statement const& about, budget& of, std::size_t amount) const {
        if (!of.take(amount))
            fail_in(about, {errc::limit_exceeded, of.refusal(), {}});
    }

    /// Takes the cost of new names, and of the characters in them, from the budgets.
    void count(statement const& about, std::size_t new_names, std::size_t new_characters) {
        spend(about, names, new_names);
        spend(about, characters, new_characters);
    }

    /// A statement with these names; its attributes, origin and position are those in `like`.
    statement make(std::span<name const> from, std::span<name const> to, statement const& like) {
        std::size_t length = detail::attribute_length(code, like);
        for (std::span<name const> const side : {from, to})
            for (name const& name : side)
                length += detail::name_length(code, name);
        count(like, from.size() + to.size(), length);
        return code.make_statement(from, to, like);
    }

    /// Adds a warning about a statement: a `finding::code`, the tensor, and a sentence.
    void warn(statement const& about, std::string kind, std::string key, std::string message) {
        findings.push_back({detail::severity::warning, std::move(kind), std::move(key),
                            std::move(message), about.where, about.origin});
    }
};

/// The first attribute with this word, or null.
inline attribute const* find_attribute(program const& code, statement const& statement,
                                       std::string_view word) {
    for (attribute const& candidate : code.attributes(statement))
        if (candidate.word == word)
            return &candidate;
    return nullptr;
}

namespace detail {

/// The word for a side of a statement, `source` or `target`.
inline std::string_view side_name(macro_context const& context, bool left) {
    return left != context.options.reverse ? "source" : "target";
}

/// Says which keys a name refers to although they are unknown, and how to specify them. If the
/// program runs backwards, they are the keys that it read.
inline std::string_view unknown_keys_text(macro_context const& context) {
    return context.options.reverse
               ? "that the program read, which are unknown; give a target that lists them, or "
                 "tensors like those that the program read (option like)"
               : "of the target, but the target is not known";
}

/// Whether a name has a segment of this kind.
inline bool has_segment(program const& code, name const& name, segment::kind_type kind) {
    return name.kind == name::kind_type::pattern &&
           std::ranges::any_of(code.pattern(name),
                               [&](segment const& s) { return s.kind == kind; });
}

/// Whether any name of a statement has a segment of this kind.
inline bool has_segment(program const& code, statement const& statement, segment::kind_type kind) {
    return std::ranges::any_of(code.names(statement),
                               [&](name const& n) { return has_segment(code, n, kind); });
}

} // namespace detail

} // namespace reshard::aoa

#endif
