// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_MACRO_CONTEXT_HPP
#define RESHARD_AOA_MACRO_CONTEXT_HPP

#include <reshard/aoa/budget.hpp>
#include <reshard/aoa/expand.hpp>
#include <reshard/core/config.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

/// \file
/// What every macro works on.

namespace reshard::aoa::detail {

/// A key with each run of digits replaced by one `0`.
RESHARD_DECL void append_outline(std::string& outline, std::string_view text);

/// The outline of all keys that a name with open numbers may mean.
RESHARD_DECL std::string outline_of(std::vector<segment> const& segments);

} // namespace reshard::aoa::detail

namespace reshard::aoa {

namespace detail {

class name_chain;

} // namespace detail

namespace detail {

/// How many characters a name has, about.
RESHARD_DECL std::size_t name_length(program const& code, name const& one);

/// What a macro throws: a statement, and its error.
struct failed_statement {
    statement about;
    statement_error problem;
};

} // namespace detail

/// Throws what is wrong with a statement; `attempt` makes a finding of it.
[[noreturn]] inline void fail_in(statement const& about, statement_error problem) {
    throw detail::failed_statement{about, std::move(problem)};
}

/// A name with open numbers that a broken statement would have read or bound.
struct lost_name {
    name open;
    bool is_read;
};

/// The program that is being expanded and what it is expanded for.
struct macro_context {
    program& code;
    catalog const* left;  ///< the tensors that names on the left mean; null: unknown
    catalog const* right; ///< and names on the right
    expand_options const& options;
    std::vector<finding>& findings;
    detail::name_chain const* chain = nullptr; ///< null where no macro asks for it
    budget names{options.max_names, "names after expansion", "max_names"};
    budget characters{options.max_characters, "characters after expansion", "max_characters"};
    budget steps{options.max_steps, "steps of expansion", "max_steps"};
    std::optional<errc> first_error = {}; ///< of the first finding that is an error
    std::vector<lost_name> lost = {};
    std::unordered_set<std::string> lost_outlines = {}; ///< of those that would have been bound
    int searches_left = 32; ///< for what was meant; each looks at all keys

    /// Whether a name with open numbers may mean what a broken statement would have made.
    bool is_lost(std::vector<segment> const& open) const;

    /// ` (did you mean 'l.0.w'?)`: a key of a side that is near to a name with open numbers;
    /// nothing once it has been asked too often.
    std::string near(catalog const* keys, std::vector<segment> const& open);

    /// What a statement that `macro` makes of `parent` has in common with it.
    statement derive(statement const& parent, std::string_view macro) const;

    /// Counts what is about to be made, or done, for a statement.
    ///
    /// \throws failed_statement with errc::limit_exceeded when the program grows too large
    void spend(statement const& about, budget& of, std::size_t amount) const;

    /// The same for names, and for the characters that all of them have.
    void count(statement const& about, std::size_t new_names, std::size_t new_characters);

    /// A statement of these names, otherwise like `like`.
    statement make(std::span<name const> from, std::span<name const> to, statement const& like);

    /// Adds a warning about a statement: a `finding::code`, the tensor, a sentence.
    void warn(statement const& about, std::string kind, std::string key, std::string message);
};

namespace detail {

/// What people call the tensors that names of a side mean.
inline std::string_view side_name(macro_context const& context, bool left) {
    return left != context.options.reverse ? "source" : "target";
}

} // namespace detail

/// The first attribute of that word, or null.
RESHARD_DECL attribute const* find_attribute(program const& code, statement const& one,
                                             std::string_view word);

namespace detail {

/// Whether a name has a segment of that kind.
RESHARD_DECL bool has_segment(program const& code, name const& one, segment::kind_type kind);

/// Whether any name of a statement has a segment of that kind.
RESHARD_DECL bool has_segment(program const& code, statement const& one, segment::kind_type kind);

} // namespace detail

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/macro/impl/context.ipp>
#endif

#endif
