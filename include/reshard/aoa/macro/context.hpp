// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_CONTEXT_HPP
#define RESHARD_AOA_MACRO_CONTEXT_HPP

#include <reshard/aoa/budget.hpp>
#include <reshard/aoa/diagnostic.hpp>
#include <reshard/aoa/macro/chain.hpp>
#include <reshard/aoa/state_suffix.hpp>
#include <reshard/shard/catalog.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// \file
/// What every macro works on, and how a macro of one statement becomes one of a program.

namespace reshard::aoa {

/// What to do with a statement whose placeholder matches no key.
enum class on_no_match { ignore, warn, error };

/// What `expand` may be told.
struct expand_options {
    on_no_match no_match = on_no_match::warn;
    std::vector<state_suffix> state_suffixes = default_state_suffixes(); ///< in the order tried
    bool reverse = false; ///< the program will run backwards: the source has the names on the right
    std::size_t max_names = 4'194'304; ///< in all statements together, those in between included
    std::size_t max_characters = 268'435'456; ///< of their names and attributes, counted likewise
    std::size_t max_steps =
        16'777'216; ///< keys compared with patterns, statements followed to tell
                    ///< how a tensor is cut
};

/// How many characters a name has, about.
inline std::size_t name_length(program const& code, name const& one) {
    if (one.kind != name::kind_type::pattern)
        return code.text(one).size();
    std::size_t length = 0;
    for (segment const& part : code.pattern(one))
        length += part.text.size() + 1;
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

/// The program that is being expanded and what it is expanded for.
struct macro_context {
    program& code;
    catalog const* left;  ///< the tensors that names on the left mean; null: unknown
    catalog const* right; ///< and names on the right
    expand_options const& options;
    std::vector<finding>& findings;
    name_chain const* chain = nullptr; ///< null where no macro asks for it
    budget names{options.max_names, "names after expansion", "max_names"};
    budget characters{options.max_characters, "characters after expansion", "max_characters"};
    budget steps{options.max_steps, "steps of expansion", "max_steps"};

    /// What a statement that `macro` makes of `parent` has in common with it.
    statement derive(statement const& parent, std::string_view macro) const {
        statement made = parent;
        made.origin = code.make_origin({std::string(macro), parent.origin, parent.where});
        return made;
    }

    /// Counts what is about to be made, or done, for a statement.
    ///
    /// \throws error with errc::limit_exceeded when the program grows too large
    void spend(statement const& about, budget& of, std::size_t amount) const {
        if (!of.take(amount))
            fail_in(code, about, {errc::limit_exceeded, of.refusal(), {}});
    }

    /// The same for names, and for the characters that all of them have.
    void count(statement const& about, std::size_t new_names, std::size_t new_characters) {
        spend(about, names, new_names);
        spend(about, characters, new_characters);
    }

    /// A statement of these names, otherwise like `like`.
    statement make(std::span<name const> from, std::span<name const> to, statement const& like) {
        std::size_t length = attribute_length(code, like);
        for (std::span<name const> const side : {from, to})
            for (name const& one : side)
                length += name_length(code, one);
        count(like, from.size() + to.size(), length);
        return code.make_statement(from, to, like);
    }

    /// Adds a warning about a statement: a `finding::code`, the tensor, a sentence.
    void warn(statement const& about, std::string kind, std::string key, std::string message) {
        findings.push_back({severity::warning, std::move(kind), std::move(key), std::move(message),
                            about.where, about.origin});
    }
};

/// What people call the tensors that names of a side mean.
inline std::string_view side_name(macro_context const& context, bool left) {
    return left != context.options.reverse ? "source" : "target";
}

/// A macro that looks at one statement at a time, as one that looks at them all.
template <void (*Macro)(macro_context&, statement const&, std::vector<statement>&)>
void each(macro_context& context, std::vector<statement>& statements) {
    std::vector<statement> expanded;
    expanded.reserve(statements.size());
    for (statement const& one : statements)
        Macro(context, one, expanded);
    statements = std::move(expanded);
}

/// The first attribute of that word, or null.
inline attribute const* find_attribute(program const& code, statement const& one,
                                       std::string_view word) {
    for (attribute const& candidate : code.attributes(one))
        if (candidate.word == word)
            return &candidate;
    return nullptr;
}

namespace detail {

/// Whether a name has a segment of that kind.
inline bool has_segment(program const& code, name const& one, segment::kind_type kind) {
    return one.kind == name::kind_type::pattern &&
           std::ranges::any_of(code.pattern(one), [&](segment const& s) { return s.kind == kind; });
}

/// Whether any name of a statement has a segment of that kind.
inline bool has_segment(program const& code, statement const& one, segment::kind_type kind) {
    return std::ranges::any_of(code.names(one),
                               [&](name const& n) { return has_segment(code, n, kind); });
}

} // namespace detail

} // namespace reshard::aoa

#endif
