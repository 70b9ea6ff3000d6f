// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_LOWER_CONTEXT_IPP
#define RESHARD_AOA_IMPL_LOWER_CONTEXT_IPP

#include <reshard/aoa/lower_context.hpp>

#include <reshard/core/config.hpp>

#include <utility>

namespace reshard::aoa::detail {

RESHARD_DECL lower_context::lower_context(program const& lowered, catalog const& sources,
                                          catalog const* targets, lower_options const& chosen)
    : code(lowered),
      target(targets),
      options(chosen),
      suffixes(with_scales(lowered.state_suffixes(), lowered)),
      source(sources, suffixes),
      names(lowered, source),
      result{mapping(sources), {}, {}} {}

RESHARD_DECL void lower_context::report(errc problem, finding found) {
    if (!result.first_error)
        result.first_error = problem;
    result.findings.push_back(std::move(found));
}

RESHARD_DECL void lower_context::note_idle(statement const& one) {
    result.idle.push_back(static_cast<std::uint32_t>(&one - code.statements().data()));
}

RESHARD_DECL void lower_context::drop(name const& one, bool is_reported) {
    binding const& bound = names[one];
    result.dropped.push_back({std::string(code.text(one)), bound.where, bound.origin,
                              names.value(bound.value).tensor, is_reported});
}

RESHARD_DECL void lower_context::warn(statement const& one, std::string kind, std::string key,
                                      std::string message) {
    result.findings.push_back({reshard::detail::severity::warning, std::move(kind), std::move(key),
                               std::move(message), one.where, one.origin});
}

RESHARD_DECL void lower_context::check_bindable(name const& one) const {
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

RESHARD_DECL void lower_context::warn_overwritten(statement const& one, name const& bound_again) {
    binding const& bound = names[bound_again];
    bool const is_lost = bound_again.kind == name::kind_type::text &&
                         bound.value != binding::none && bound.uses == 0;
    if (!is_lost && !bound.is_added)
        return;
    std::string const key(code.text(bound_again));
    if (bound.is_added && bound.value == binding::none)
        warn(one, "no_effect", key,
             "'" + key + "' is made here, so the earlier statement that adds it has no effect");
    if (!is_lost)
        return;
    drop(bound_again, true);
    result.findings.push_back({reshard::detail::severity::warning, "overwritten", key,
                               "'" + key +
                                   "' is made again, and nothing reads what the "
                                   "statement at " +
                                   place_text(code, bound.where) +
                                   " made of it; give one of the two another name",
                               bound_again.where, one.origin});
}

RESHARD_DECL void lower_context::warn_replaced() {
    for (std::uint32_t id = 0; id < code.text_count(); ++id) {
        name const one{name::kind_type::text, false, id, {}};
        binding const& bound = names[one];
        if (bound.value == binding::none || bound.uses > 0 || bound.is_removed || bound.is_shadow ||
            bound.source_value != source_names::none || names.source(one) == source_names::none)
            continue;
        std::string const key(code.text(one));
        result.findings.push_back(
            {reshard::detail::severity::warning, "replaced", key,
             "'" + key +
                 "' is made here, and nothing has read the source's tensor of that name, which "
                 "is lost",
             bound.where, bound.origin});
    }
}

RESHARD_DECL index_vector const* lower_context::wanted_shape(std::string_view key) const {
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

} // namespace reshard::aoa::detail

#endif
