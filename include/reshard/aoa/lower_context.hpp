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
                  lower_options const& chosen)
        : code(lowered),
          target(targets),
          options(chosen),
          suffixes(with_scales(lowered.state_suffixes(), lowered)),
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

    /// Notes that a statement changes nothing.
    void note_idle(statement const& one) {
        result.idle.push_back(static_cast<std::uint32_t>(&one - code.statements().data()));
    }

    /// Notes that nothing uses what a name has been bound to.
    void drop(name const& one, bool is_reported) {
        binding const& bound = names[one];
        result.dropped.push_back({std::string(code.text(one)), bound.where, bound.origin,
                                  names.value(bound.value).tensor, is_reported});
    }

    /// Adds a warning about a statement: a `finding::code`, the tensor, a sentence.
    void warn(statement const& one, std::string kind, std::string key, std::string message) {
        result.findings.push_back({severity::warning, std::move(kind), std::move(key),
                                   std::move(message), one.where, one.origin});
    }

    /// Refuses the state of a tensor of the target: it follows its parameter, no statement makes it.
    void check_bindable(name const& one) const {
        if (one.kind != name::kind_type::text || !target)
            return;
        std::string_view const key = code.text(one);
        std::string_view const parameter = parameter_of(key, suffixes);
        if (parameter.size() < key.size() && target->find(parameter))
            throw statement_error{errc::unknown_key,
                                  "'" + std::string(key) + "' is the state of '" +
                                      std::string(parameter) +
                                      "'; statements name parameters, and their state follows",
                                  one.where, std::string(key)};
    }

    /// Warns of a value that nothing has read and that nothing can read once its name is bound again.
    void warn_overwritten(statement const& one, name const& bound_again) {
        binding const& bound = names[bound_again];
        bool const is_lost = bound_again.kind == name::kind_type::text &&
                             bound.value != binding::none && bound.uses == 0;
        if (!is_lost && !bound.is_added)
            return;
        std::string const key(code.text(bound_again));
        if (bound.is_added && bound.value == binding::none)
            warn(one, "no_effect", key,
                 "'" + key + "' is made here, so adding it before has no effect");
        if (!is_lost)
            return;
        drop(bound_again, true);
        result.findings.push_back({severity::warning, "overwritten", key,
                                   "'" + key +
                                       "' is made again, and nothing reads what the "
                                       "statement at " +
                                       place_text(code, bound.where) +
                                       " made of it; give one of the two another name",
                                   bound_again.where, one.origin});
    }

    /// Warns of each tensor of the source that nothing has read and nothing can read any more: a
    /// statement has bound its name.
    void warn_replaced() {
        for (std::uint32_t id = 0; id < code.text_count(); ++id) {
            name const one{name::kind_type::text, false, id, {}};
            binding const& bound = names[one];
            if (bound.value == binding::none || bound.uses > 0 || bound.is_removed ||
                bound.is_shadow || bound.source_value != source_names::none ||
                names.source(one) == source_names::none)
                continue;
            std::string const key(code.text(one));
            result.findings.push_back(
                {severity::warning, "replaced", key,
                 "'" + key +
                     "' is made here, and nothing has read the source's tensor of that name, which "
                     "is lost",
                 bound.where, bound.origin});
        }
    }

    /// The shape of a key of the target; where it has only the key's states, theirs.
    ///
    /// \par Source 4.7 of the description of AOA; there states of two shapes are an error
    index_vector const* wanted_shape(std::string_view key) const {
        if (!target)
            return nullptr;
        if (catalog_entry const* const wanted = target->find(key))
            return &wanted->shape;
        for (state_suffix const& each_suffix : suffixes)
            if (each_suffix.is_alike())
                if (auto const* state = target->find(std::string(key) + each_suffix.suffix))
                    return &state->shape;
        return nullptr;
    }

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

#endif
