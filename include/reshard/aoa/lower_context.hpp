// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_LOWER_CONTEXT_HPP
#define RESHARD_AOA_LOWER_CONTEXT_HPP

#include <reshard/aoa/budget.hpp>
#include <reshard/aoa/diagnostic.hpp>
#include <reshard/aoa/scale_suffix.hpp>
#include <reshard/aoa/scope.hpp>
#include <reshard/expr/mapping.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// What `lower` takes, gives, and works on.

namespace reshard::aoa {

/// Which data types a target may have that a program gives another one.
enum class dtype_policy {
    equal, ///< none: the program has to cast
    widen, ///< one that holds every value of the program's
};

/// What `lower` may be told.
struct lower_options {
    std::vector<state_suffix> state_suffixes = default_state_suffixes(); ///< in the order tried
    dtype_policy policy = dtype_policy::equal;
    std::size_t max_pieces = 8'388'608; ///< of all values together, those in between included
};

/// A mapping, and what there is to say of the program.
struct lowering {
    mapping map;
    std::vector<finding> findings;
    std::optional<errc> first_error; ///< of the first finding that is an error
};

/// The first error among the findings, or null.
inline finding const* first_error_of(lowering const& of) {
    for (finding const& one : of.findings)
        if (one.level == severity::error)
            return &one;
    return nullptr;
}

namespace detail {

/// `lower` at work: what it works on, and what it has so far.
struct lower_context {
    lower_context(program const& lowered, catalog const& sources, catalog const* targets,
                  lower_options const& chosen)
        : code(lowered),
          target(targets),
          options(chosen),
          suffixes(with_scales(chosen.state_suffixes, lowered)),
          source(sources, suffixes),
          names(lowered, source),
          result{mapping(sources), {}, {}} {}

    lower_context(lower_context const&) = delete;
    lower_context& operator=(lower_context const&) = delete;

    /// Adds a finding that is an error of that code.
    void report(errc problem, finding found) {
        if (!result.first_error)
            result.first_error = problem;
        result.findings.push_back(std::move(found));
    }

    /// Adds a warning about a statement: a `finding::code`, the tensor, a sentence.
    void warn(statement const& one, std::string kind, std::string key, std::string message) {
        result.findings.push_back({severity::warning, std::move(kind), std::move(key),
                                   std::move(message), one.where, one.origin});
    }

    program const& code;
    catalog const* target; ///< null: unknown
    lower_options const& options;
    std::vector<state_suffix> suffixes; ///< of the options, and of the program
    source_names source;
    scope names;
    budget pieces{options.max_pieces, "pieces in all tensors that it makes", "max_pieces"};
    lowering result;
};

} // namespace detail

} // namespace reshard::aoa

#endif
