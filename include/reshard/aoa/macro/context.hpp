// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_CONTEXT_HPP
#define RESHARD_AOA_MACRO_CONTEXT_HPP

#include <reshard/aoa/diagnostic.hpp>
#include <reshard/aoa/macro/chain.hpp>
#include <reshard/aoa/state_suffix.hpp>
#include <reshard/shard/catalog.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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
};

/// The program that is being expanded and what it is expanded for.
struct macro_context {
    program& code;
    catalog const* left;  ///< the tensors that names on the left mean; null: unknown
    catalog const* right; ///< and names on the right
    expand_options const& options;
    std::vector<finding>& findings;
    name_chain const* chain = nullptr; ///< null where no macro asks for it
    std::size_t names_made = 0;

    /// What a statement that `macro` makes of `parent` has in common with it.
    statement derive(statement const& parent, std::string_view macro) const {
        statement made = parent;
        made.origin = code.make_origin({std::string(macro), parent.origin, parent.where});
        return made;
    }

    /// Counts names that are about to be made.
    ///
    /// \throws error with errc::limit_exceeded when the program grows too large
    void count(statement const& about, std::size_t names) {
        names_made += names;
        if (names_made > options.max_names || names > options.max_names)
            fail_in(code, about,
                    {errc::limit_exceeded,
                     "the program has more than " + std::to_string(options.max_names) +
                         " names after expansion (option max_names)",
                     {}});
    }

    /// A statement of these names, otherwise like `like`.
    statement make(std::span<name const> from, std::span<name const> to, statement const& like) {
        count(like, from.size() + to.size());
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

} // namespace reshard::aoa

#endif
