// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_LOWER_CONTEXT_IPP
#define RESHARD_AOA_IMPL_LOWER_CONTEXT_IPP

#include <reshard/aoa/lower_context.hpp>

#include <reshard/aoa/finding.hpp>
#include <reshard/core/config.hpp>
#include <reshard/expr/expression.hpp>

#include <boost/assert.hpp>

#include <unordered_set>
#include <utility>

namespace reshard::aoa::detail {

RESHARD_DECL key_id bound_value::first_source() const {
    for (std::size_t i = 0; i < tensor.pieces.size(); ++i)
        if (tensor.pieces.source(i) != zero_source)
            return tensor.pieces.source(i);
    BOOST_ASSERT(!sources.empty());
    return sources.front();
}

RESHARD_DECL bool has_source_elements(expression const& tensor) {
    for (std::size_t i = 0; i < tensor.pieces.size(); ++i)
        if (tensor.pieces.source(i) != zero_source)
            return true;
    return false;
}

/// Advice on a name that contains `$` or `{` outside a placeholder.
inline std::string number_advice(std::string_view key) {
    return key.find_first_of("${") == key.npos
               ? std::string()
               : "; to match every number, write a placeholder in capitals, as in "
                 "l.$LAYER_ID.w";
}

RESHARD_DECL scope::scope(program const& code, source_names const& source)
    : code_(code),
      source_(source),
      bindings_(code.text_count() + code.fresh_count()),
      sources_(code.text_count(), source_names::none),
      reads_left_(code.fresh_count()) {
    for (key_id id = 0; id < source.tensors().size(); ++id)
        if (auto const text = code.find(source.tensors()[id].key))
            sources_[*text] = id;
    for (statement const& statement : code.statements())
        for (name const& read_name : code.left(statement))
            if (read_name.kind == name::kind_type::fresh)
                ++reads_left_[read_name.id];
}

RESHARD_DECL binding& scope::operator[](name const& name) {
    return bindings_[name.id + (name.kind == name::kind_type::fresh ? code_.text_count() : 0)];
}

RESHARD_DECL binding const* scope::find(std::string_view key) const {
    auto const id = code_.find(key);
    return id ? &bindings_[*id] : nullptr;
}

RESHARD_DECL binding* scope::find(std::string_view key) {
    auto const id = code_.find(key);
    return id ? &bindings_[*id] : nullptr;
}

RESHARD_DECL key_id scope::source(name const& name) const {
    return name.kind == name::kind_type::text ? sources_[name.id] : source_names::none;
}

RESHARD_DECL std::string scope::near(std::string_view key) const {
    nearest_text search(key, true);
    for (std::uint32_t id = 0; searches_left_ > 0 && id < code_.text_count(); ++id)
        if (bindings_[id].value != binding::none)
            search.look_at(code_.text({name::kind_type::text, false, id, {}}));
    return nearest_of(source_.tensors(), search);
}

RESHARD_DECL std::optional<value_identity> scope::identity(std::uint32_t id) const {
    binding const& bound = bindings_[id];
    if (bound.is_spoilt)
        return std::nullopt;
    if (bound.value == binding::none)
        return bound.source_value == source_names::none
                   ? std::nullopt
                   : std::optional(value_identity{true, bound.source_value});
    key_id const source = values_[bound.value].source;
    return source != source_names::none ? value_identity{true, source}
                                        : value_identity{false, bound.value};
}

RESHARD_DECL vector<key_id> scope::sources_of(vector<std::uint32_t> const& values) const {
    vector<key_id> sources;
    std::unordered_set<key_id> keys;
    for (std::uint32_t const id : values)
        value(id).for_each_source([&](key_id from) {
            if (keys.insert(from).second)
                sources.push_back(from);
        });
    return sources;
}

RESHARD_DECL std::uint32_t scope::store(bound_value&& value) {
    if (free_.empty()) {
        values_.push_back({std::move(value)});
        return static_cast<std::uint32_t>(values_.size() - 1);
    }
    std::uint32_t const id = free_.back();
    free_.pop_back();
    values_[id].value = std::move(value);
    values_[id].source = source_names::none;
    values_[id].is_free = false;
    return id;
}

RESHARD_DECL void scope::release(std::uint32_t id) {
    if (values_[id].names > 0 || values_[id].is_free)
        return;
    values_[id].is_free = true;
    free_.push_back(id);
}

RESHARD_DECL void scope::bind(name const& name, std::uint32_t value, std::uint32_t origin) {
    binding& bound = (*this)[name];
    if (value != binding::none)
        ++values_[value].names;
    unbind(bound);
    bound.value = value;
    bound.uses = 0;
    bound.is_spoilt = false;
    bound.where = name.where;
    bound.origin = origin;
}

RESHARD_DECL void scope::spoil(name const& name) {
    bind(name, binding::none, 0);
    (*this)[name].is_spoilt = true;
}

RESHARD_DECL std::uint32_t scope::read(name const& name) {
    binding& bound = (*this)[name];
    if (bound.is_spoilt)
        throw no_value{};
    if (bound.value != binding::none) {
        ++bound.uses;
        return read_value(name, bound);
    }
    std::string_view const key = code_.text(name);
    if (bound.is_removed)
        throw statement_error{errc::unknown_key,
                              words("'", key, "' is used here, but the statement at ",
                                    place_text(code_, bound.where), " removes it"),
                              name.where, std::string(key)};
    return read_source(name, key, bound);
}

RESHARD_DECL std::uint32_t scope::read_source(name const& name, std::string_view key,
                                              binding& bound) {
    if (bound.source_place != binding::none) {
        stored_value const& before = values_[bound.source_place];
        if (!before.is_free && before.source == bound.source_value)
            return bound.source_place;
    }
    bound.source_place = store(source_value(name, key, bound));
    values_[bound.source_place].source = bound.source_value;
    return bound.source_place;
}

RESHARD_DECL void scope::unbind(binding& bound) {
    if (bound.value != binding::none && --values_[bound.value].names == 0)
        release(bound.value);
    bound.value = binding::none;
}

RESHARD_DECL std::uint32_t scope::read_value(name const& name, binding& bound) {
    std::uint32_t const id = bound.value;
    if (name.kind == name::kind_type::fresh && --reads_left_[name.id] == 0) {
        --values_[id].names;
        bound.value = binding::none;
    }
    return id;
}

RESHARD_DECL bound_value scope::source_value(name const& name, std::string_view key,
                                             binding& bound) const {
    auto const refuse = [&](std::string const& why) {
        throw statement_error{errc::unknown_key, words("'", key, "' ", why), name.where,
                              std::string(key)};
    };
    if (std::string const parameter = source_.stated_parameter(key); !parameter.empty())
        refuse(words("is the state of '", parameter,
                     "'; statements name parameters, and their state follows"));
    key_id id = source(name);
    if (id == source_names::none)
        id = source_.find_parameter(key);
    if (id == source_names::none)
        refuse(bound.is_added ? "is added by an earlier statement, so it has no contents to read"
                              : words(no_such_key, near(key), number_advice(key)));
    bound.source_value = id;
    catalog_entry const& entry = source_.entry(id);
    bound_value value{source_tensor(id, entry.shape, entry.dtype)};
    if (!has_source_elements(value.tensor))
        value.sources.push_back(id);
    return value;
}

RESHARD_DECL lower_context::lower_context(program const& lowered, catalog const& sources,
                                          catalog const* targets, lower_options const& chosen)
    : code(lowered),
      target(targets),
      options(chosen),
      suffixes(with_scales(lowered.state_suffixes(), lowered)),
      source(sources, suffixes),
      names(lowered, source),
      result{mapping(sources), {}, {}} {
    for (statement const& statement : lowered.statements())
        if (find_attribute(lowered.attributes(statement), "quantize"))
            source.expect_computed(statement.right);
}

RESHARD_DECL void lower_context::report(errc problem, finding finding) {
    if (!result.first_error)
        result.first_error = problem;
    result.findings.push_back(std::move(finding));
}

RESHARD_DECL void lower_context::note_idle(statement const& statement) {
    result.idle.push_back(static_cast<std::uint32_t>(&statement - code.statements().data()));
}

RESHARD_DECL void lower_context::drop(name const& name, bool is_reported) {
    binding const& bound = names[name];
    result.dropped.push_back({std::string(code.text(name)), bound.where, bound.origin,
                              names.value(bound.value).tensor, is_reported});
}

RESHARD_DECL void lower_context::warn(statement const& statement, std::string kind, std::string key,
                                      std::string message) {
    result.findings.push_back({severity::warning, std::move(kind), std::move(key),
                               std::move(message), statement.where, statement.origin});
}

RESHARD_DECL void lower_context::check_bindable(name const& name) const {
    if (name.kind != name::kind_type::text || !target)
        return;
    std::string_view const key = code.text(name);
    any_parameter(key, suffixes, [&](std::string_view parameter, state_suffix const& state) {
        if (!state.is_found && target->find(parameter))
            throw statement_error{errc::unknown_key,
                                  words("'", key, "' is the state of '", parameter,
                                        "'; statements name parameters, and their state follows"),
                                  name.where, std::string(key)};
        return false;
    });
}

RESHARD_DECL void lower_context::warn_overwritten(statement const& statement,
                                                  name const& bound_again) {
    binding const& bound = names[bound_again];
    bool const is_lost = bound_again.kind == name::kind_type::text &&
                         bound.value != binding::none && bound.uses == 0;
    if (!is_lost && !bound.is_added)
        return;
    std::string const key(code.text(bound_again));
    if (bound.is_added && bound.value == binding::none)
        warn(statement, "no_effect", key,
             "'" + key + "' is made here, so the earlier statement that adds it has no effect");
    if (!is_lost)
        return;
    drop(bound_again, true);
    result.findings.push_back(
        {severity::warning, "overwritten", key,
         "'" + key + "' is made again before anything reads the result of the statement at " +
             place_text(code, bound.where) + "; give one of the two another name",
         bound_again.where, statement.origin});
}

RESHARD_DECL void lower_context::warn_replaced() {
    for (std::uint32_t id = 0; id < code.text_count(); ++id) {
        name const name{name::kind_type::text, false, id, {}};
        binding const& bound = names[name];
        if (bound.value == binding::none || bound.uses > 0 || bound.is_removed || bound.is_shadow ||
            bound.source_value != source_names::none || names.source(name) == source_names::none)
            continue;
        std::string const key(code.text(name));
        result.findings.push_back(
            {severity::warning, "replaced", key,
             "'" + key +
                 "' is made here, so the source's tensor of that name, which nothing has read, "
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
        if (each_suffix.is_identical())
            if (auto const* state = target->find(key_of_state(key, each_suffix)))
                return &state->shape;
    return nullptr;
}

} // namespace reshard::aoa::detail

#endif
