// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_LOWER_CONTEXT_HPP
#define RESHARD_AOA_LOWER_CONTEXT_HPP

#include <reshard/aoa/budget.hpp>
#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/scale_suffix.hpp>
#include <reshard/aoa/scope.hpp>
#include <reshard/expr/mapping.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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
    dtype_policy policy = dtype_policy::equal;
    std::size_t max_pieces = 8'388'608; ///< of all values together, those in between included
    bool leave_unexpected = false; ///< a key of the target that nothing yields is no error: the
                                   ///< mapping lacks it, and `lowering::unexpected` has it
};

/// A value that a statement has made and that nothing reads: no statement, and no target.
struct dropped_value {
    std::string key;
    text_span where; ///< of the name that it was bound to
    std::uint32_t origin = 0;
    expression value;
    bool is_reported = false; ///< by a finding: another value took its name
};

/// A mapping, and what there is to say of the program.
struct lowering {
    mapping map;
    std::vector<finding> findings;
    std::optional<errc> first_error = {};     ///< of the first finding that is an error
    std::vector<dropped_value> dropped = {};  ///< of a program with a target that is known
    std::vector<std::uint32_t> idle = {};     ///< statements that change nothing, by number
    std::vector<std::string> unexpected = {}; ///< keys of the target that nothing yields
};

namespace detail {

/// `lower` at work: what it works on, and what it has so far.
struct lower_context {
    lower_context(program const& lowered, catalog const& sources, catalog const* targets,
                  lower_options const& chosen);

    lower_context(lower_context const&) = delete;
    lower_context& operator=(lower_context const&) = delete;

    /// Adds a finding that is an error of that code.
    void report(errc problem, finding found);

    /// Notes that a statement changes nothing.
    void note_idle(statement const& one);

    /// Notes that nothing uses what a name has been bound to.
    void drop(name const& one, bool is_reported);

    /// Adds a warning about a statement: a `finding::code`, the tensor, a sentence.
    void warn(statement const& one, std::string kind, std::string key, std::string message);

    /// Refuses the state of a tensor of the target: it follows its parameter, no statement makes
    /// it.
    void check_bindable(name const& one) const;

    /// Warns of a value that nothing has read and that nothing can read once its name is bound
    /// again.
    void warn_overwritten(statement const& one, name const& bound_again);

    /// Warns of each tensor of the source that nothing has read and nothing can read any more: a
    /// statement has bound its name.
    void warn_replaced();

    /// The shape of a key of the target; where it has only the key's states, theirs.
    ///
    /// \par Source 4.7 of the description of AOA; there states of two shapes are an error
    index_vector const* wanted_shape(std::string_view key) const;

    program const& code;
    catalog const* target; ///< null: unknown
    lower_options const& options;
    std::vector<state_suffix> suffixes; ///< of the options, and of the program
    scale_places declared{code};        ///< what the program adds to them
    source_names source;
    scope names;
    budget pieces{options.max_pieces, "pieces in all tensors that it makes", "max_pieces"};
    lowering result;
};

} // namespace detail

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/lower_context.ipp>
#endif

#endif
