// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_DEFINE_OUTPUTS_IPP
#define RESHARD_AOA_IMPL_DEFINE_OUTPUTS_IPP

#include <reshard/aoa/define_outputs.hpp>
#include <reshard/core/vector.hpp>

#include <reshard/aoa/impl/missing_makers.ipp>
#include <reshard/core/config.hpp>
#include <reshard/expr/cast.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace reshard::aoa::detail {

/// Defines each output of a program from the final values of its names.
class output_definer {
public:
    explicit output_definer(lower_context& context) : in_(context) {}

    /// Removes the scales of dequantized tensors that the target does not want.
    void remove_scales() {
        for (auto const& [id, scales] : in_.dequantized)
            for (std::string const& key : scales.companions())
                if (!is_used(key) && !in_.target->find(key) && removed_.insert(key).second)
                    in_.result.map.remove(key);
    }

    /// Calls `take(source, is_dequantized)` for the source tensors of an output.
    void for_each_source(std::string const& key, auto const& take) const {
        binding const* const bound = in_.names.find(key);
        if (bound && bound->value != binding::none) {
            piece_list const& pieces = in_.names.value(bound->value).tensor.pieces;
            for (std::size_t i = 0; i < pieces.size(); ++i)
                take(pieces.source(i), pieces.dequantizes(i));
        } else if (key_id const id = in_.source.find(key); id != source_names::none) {
            take(id, false);
        }
    }

    /// The scales of tensors that the program dequantizes wherever it uses them.
    std::set<key_id> useless_scales(vector<std::string> const& keys) const {
        std::unordered_set<key_id> quantised;
        std::set<key_id> scales;
        for (std::string const& key : keys)
            for_each_source(key, [&](key_id id, bool is_dequantized) {
                if (!is_dequantized)
                    quantised.insert(id);
            });
        for (auto const& [id, of] : in_.dequantized)
            if (!quantised.contains(id))
                for (std::string const& key : of.companions())
                    scales.insert(in_.source.find(key));
        for (auto const& [id, of] : in_.dequantized)
            if (quantised.contains(id))
                for (std::string const& key : of.companions())
                    scales.erase(in_.source.find(key));
        for (reshard::detail::quantised_value const& kept : in_.result.map.quantised())
            kept.for_each_source([&](key_id id) { scales.erase(id); });
        return scales;
    }

    /// Removes outputs, under any names, that are only such scales.
    void erase_scales(vector<std::string>& keys) {
        std::set<key_id> scales = useless_scales(keys);
        erase_if(keys, [&](std::string const& key) {
            bool has_scales = false, has_others = false;
            for_each_source(key, [&](key_id id, bool) {
                (scales.contains(id) ? has_scales : has_others) = true;
            });
            return has_scales && !has_others;
        });
        for (std::string const& key : keys)
            for_each_source(key, [&](key_id id, bool) { scales.erase(id); });
        for (key_id const id : scales)
            in_.result.map.remove(in_.source.entry(id).key);
    }

    void define_targets() {
        for (catalog_entry const& wanted : *in_.target)
            guarded(wanted.key, [&] { define_target(wanted); });
        for (std::uint32_t id = 0; id < in_.code.text_count(); ++id)
            note_dropped(name{name::kind_type::text, false, id, {}});
    }

    void define_exports() {
        vector<std::string> keys;
        for (catalog_entry const& entry : in_.source.tensors())
            if (is_exported(entry.key))
                keys.push_back(entry.key);
        find_first_names();
        for (std::uint32_t id = 0; id < in_.code.text_count(); ++id)
            add_made(name{name::kind_type::text, false, id, {}}, keys);
        std::ranges::sort(keys);
        keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
        if (!in_.dequantized.empty())
            erase_scales(keys);
        for (std::string const& key : keys)
            guarded(key, [&] { define_export(key); });
    }

private:
    /// Runs a step for a key, and returns whether it succeeded. An error becomes a finding at the
    /// name that binds the key, if there is one.
    bool guarded(std::string const& key, auto const& step) {
        try {
            step();
            return true;
        } catch (error const& problem) {
            binding const* bound = in_.names.find(key);
            if (!bound)
                any_parameter(key, in_.suffixes,
                              [&](std::string_view parameter, state_suffix const&) {
                                  return (bound = in_.names.find(parameter)) != nullptr;
                              });
            in_.report(problem.code(), {severity::error, std::string(reshard::name(problem.code())),
                                        key, problem.what(), bound ? bound->where : text_span{},
                                        bound ? bound->origin : 0});
            return false;
        }
    }

    /// Counts the pieces of a definition, which copies the value.
    void count_pieces(bound_value const& value) {
        if (!in_.pieces.take(value.tensor.pieces.size() + value.sources.size()))
            fail(errc::limit_exceeded, in_.pieces.refusal());
    }

    /// The parameter and the kind of state of a state's key.
    struct state_of_parameter {
        std::string parameter;
        state_suffix const* state;
    };

    /// The parameter whose state a key is, if the program makes the parameter or the target has it.
    std::optional<state_of_parameter> followed(std::string_view key) const {
        std::optional<state_of_parameter> found_parameter;
        any_parameter(key, in_.suffixes,
                      [&](std::string_view parameter, state_suffix const& state) {
                          if (is_made(parameter) ? follows(parameter, state)
                                                 : in_.target && in_.target->find(parameter))
                              found_parameter = {std::string(parameter), &state};
                          return found_parameter.has_value();
                      });
        return found_parameter && !is_made(key) ? found_parameter : std::nullopt;
    }

    /// Whether a tensor that a statement makes has the state. If the user named the state, the
    /// result is true, so that a missing state is an error.
    bool follows(std::string_view parameter, state_suffix const& state) const {
        binding const& bound = *in_.names.find(parameter);
        return !state.is_found || bound.value == binding::none ||
               has_state(in_.source, in_.names.value(bound.value), state) != false;
    }

    bool is_made(std::string_view key) const {
        binding const* const bound = in_.names.find(key);
        return bound && (bound->value != binding::none || bound->is_spoilt || bound->is_added);
    }

    void define_target(catalog_entry const& wanted) {
        auto const of = followed(wanted.key);
        state_suffix const* const state = of ? of->state : nullptr;
        std::string_view const base = of ? of->parameter : wanted.key;
        binding* const bound = in_.names.find(base);
        if (bound)
            bound->is_wanted = true;
        if (binding* const own = state ? in_.names.find(wanted.key) : nullptr)
            own->is_wanted = true;
        if (bound && bound->is_spoilt)
            return;
        if (bound && bound->is_added && bound->value == binding::none)
            return in_.result.map.add(wanted.key, wanted.shape, wanted.dtype);
        if (!bound || bound->value == binding::none) {
            if (is_left(wanted.key, bound))
                return in_.result.unexpected.push_back(wanted.key);
            define(wanted, identity(wanted.key, base));
            if (state && !state->block.empty())
                relate(base, wanted.key, *state);
            return;
        }
        bound_value const& value = in_.names.value(bound->value);
        count_pieces(value);
        if (!state)
            return define(wanted, real(wanted.key, value));
        if (in_.options.leave_unexpected && has_state(in_.source, value, *state) == false)
            return in_.result.unexpected.push_back(wanted.key);
        define(wanted, state_of(in_.source, value, *state, wanted.key));
        relate(base, wanted.key, *state);
        relate_numbers(in_, value, *state);
    }

    /// Whether a target key that no statement makes may be omitted from the mapping.
    bool is_left(std::string const& key, binding const* bound) const {
        return in_.options.leave_unexpected && !(bound && bound->is_removed) &&
               in_.source.find(key) == source_names::none;
    }

    /// The source tensor for a target key that no statement makes.
    expression identity(std::string const& key, std::string_view parameter) {
        key_id const id = in_.source.find(key);
        binding const* const bound = in_.names.find(parameter);
        if (bound && bound->is_removed)
            fail(errc::unknown_key, "the target wants '", key, "', but the program removes it");
        any_parameter(key, in_.suffixes, [&](std::string_view of, state_suffix const&) {
            if (is_removed(of))
                fail(errc::unknown_key, "the target wants '", key,
                     "', but the program removes its parameter '", of, "'");
            return false;
        });
        if (id == source_names::none) {
            if (!makers_)
                makers_.emplace(in_.code);
            fail(errc::unknown_key, "the target wants '", key,
                 "', which no statement makes and the source does not have",
                 in_.names.near(parameter), "; ", makers_->advice(parameter));
        }
        return in_.result.map.source(id);
    }

    /// The value; fails if it is made of a tensor that the source does not have.
    expression const& real(std::string const& key, bound_value const& value) const {
        value.for_each_source([&](key_id id) {
            if (in_.source.is_stand_in(id))
                fail(errc::unknown_key, "'", key, "' is made of '", in_.source.parameter(id),
                     "', but the source has only the state of that tensor");
        });
        return value.tensor;
    }

    bool is_removed(std::string_view key) const {
        binding const* const bound = in_.names.find(key);
        return bound && bound->is_removed;
    }

    void define(catalog_entry const& wanted, expression value) {
        if (value.shape != wanted.shape)
            fail(errc::shape_mismatch, "'", wanted.key, "' has the shape ", value.shape,
                 ", but the target wants ", wanted.shape);
        bool const widens =
            in_.options.policy == dtype_policy::widen && is_lossless(value.dtype, wanted.dtype);
        if (value.dtype != wanted.dtype && !widens)
            fail(errc::dtype_mismatch, "'", wanted.key, "' is ", value.dtype,
                 ", but the target wants ", wanted.dtype, cast_advice(wanted, value.dtype));
        in_.result.map.define(wanted.key, value.dtype == wanted.dtype ? std::move(value)
                                                                      : cast(value, wanted.dtype));
    }

    /// Advice on a tensor of type `type` if the target has another type for it.
    std::string cast_advice(catalog_entry const& wanted, data_type type) const {
        if (followed(wanted.key))
            return "; state keeps the type that it has in the source, so the target must want " +
                   std::string(reshard::name(type));
        if (!is_castable(type, wanted.dtype))
            return {};
        std::string const attribute = "dtype=\"" + std::string(reshard::name(wanted.dtype)) + '"';
        binding const* const bound = in_.names.find(wanted.key);
        bool const has_attributes = bound && bound->value != binding::none &&
                                    !in_.code.origin(bound->origin).macro.starts_with("fused");
        if (has_attributes)
            return "; write  " + attribute + "  in the statement that makes it";
        std::string const key = quoted_name(wanted.key);
        return "; to cast it, add the statement  " + key + " -> " + key + ", " + attribute;
    }

    void note_dropped(name const& name) {
        binding const& bound = in_.names[name];
        if (bound.value != binding::none && bound.uses == 0 && !bound.is_wanted)
            in_.drop(name, false);
    }

    void relate(std::string_view parameter, std::string const& key, state_suffix const& state) {
        auto const noun = state.scalar           ? relation::kind::scalar_state
                          : state.is_identical() ? relation::kind::state
                                                 : relation::kind::scale;
        in_.result.map.relate({noun, std::string(parameter), key, state.block});
    }

    /// Whether a statement reads, makes or removes the source tensor or result `key`.
    bool is_used(std::string_view key) const {
        binding const* const bound = in_.names.find(key);
        return bound && (bound->source_value != binding::none || bound->value != binding::none ||
                         bound->is_removed);
    }

    /// Whether a source tensor remains under its own name.
    bool is_exported(std::string_view key) const {
        return !is_used(key) &&
               !any_parameter(key, in_.suffixes, [&](std::string_view of, state_suffix const&) {
                   return is_used(of);
               });
    }

    /// Finds the first key of each remaining value. If weights are tied, their first key has the
    /// state.
    void find_first_names() {
        for (std::uint32_t id = 0; id < in_.code.text_count(); ++id) {
            name const name{name::kind_type::text, false, id, {}};
            if (in_.names[name].value == binding::none || in_.names[name].uses > 0)
                continue;
            std::string_view const key = in_.code.text(name);
            std::string_view& first =
                first_names_.emplace(*in_.names.identity(id), key).first->second;
            first = std::min(first, key);
        }
    }

    /// Adds a result that no statement reads, and its states.
    void add_made(name const& name, vector<std::string>& keys) {
        binding const& bound = in_.names[name];
        if (bound.value == binding::none || bound.uses > 0)
            return;
        std::string const key(in_.code.text(name));
        bound_value const& value = in_.names.value(bound.value);
        if (!guarded(key, [&] { count_pieces(value); }))
            return;
        if (!in_.source.is_stand_in(value.first_source()))
            keys.push_back(key);
        if (first_names_.at(*in_.names.identity(name.id)) != key)
            return;
        for (state_suffix const& each_suffix : in_.suffixes)
            guarded(key, [&] { add_state(key, value, each_suffix, keys); });
    }

    /// Adds a state of a statement's result, under its new key.
    void add_state(std::string const& parameter, bound_value const& value,
                   state_suffix const& state, vector<std::string>& keys) {
        auto const has = has_state(in_.source, value, state);
        if (has == false || &state != &first_of_kind(state) || is_named(value, state))
            return;
        std::string const key = new_key(parameter, state);
        if (is_made(key)) // a statement defines the state
            return;
        if (!has)
            fail_without_state(in_.source, value, state, key);
        if (states_.try_emplace(key, state_of_parameter{parameter, &state}).second)
            keys.push_back(key);
    }

    /// Whether a statement names the state of a tensor that the value is made of. Then the state
    /// does not follow the parameter.
    bool is_named(bound_value const& value, state_suffix const& state) const {
        bool is_any = false;
        value.for_each_source([&](key_id from) {
            is_any |= is_used(in_.source.state_key(in_.source.parameter(from), state));
        });
        return is_any;
    }

    /// The first among the kinds of state that differ only in their containers.
    state_suffix const& first_of_kind(state_suffix const& state) const {
        return *std::ranges::find_if(in_.suffixes, [&](state_suffix const& suffix) {
            return suffix.prefix == state.prefix && suffix.suffix == state.suffix;
        });
    }

    /// The key of a state of a statement's result.
    std::string new_key(std::string const& parameter, state_suffix state) {
        state.container = made_container(state);
        std::string const key = key_of_state(parameter, state);
        state.container.clear();
        return key.empty() ? key_of_state(parameter, state) : key;
    }

    /// The new container of the parameters, which the keys of their states omit. The most frequent
    /// container wins; parameters that no statement names are counted, too.
    std::string const& made_container(state_suffix const& state) {
        std::string const& old = first_of_kind(state).container;
        auto const [match, is_new] = containers_.try_emplace(old);
        if (!is_new || old.empty())
            return match->second;
        std::map<std::string_view, std::size_t> votes;
        for (catalog_entry const& entry : in_.source.tensors())
            votes[old] += entry.key.starts_with(old) && !is_used(entry.key);
        for (std::uint32_t id = 0; id < in_.code.text_count(); ++id)
            if (binding const& bound = in_.names[name{name::kind_type::text, false, id, {}}];
                bound.value != binding::none && bound.uses == 0)
                if (auto const container = container_of(id, old); container)
                    ++votes[*container];
        return match->second = std::ranges::max_element(votes, {}, [](auto const& element) {
                                   return element.second;
                               })->first;
    }

    /// The text that replaces the container in a new key: the old container, or the text before the
    /// unchanged name. std::nullopt if the first source is outside the container.
    std::optional<std::string_view> container_of(std::uint32_t id, std::string const& old) const {
        name const name{name::kind_type::text, false, id, {}};
        std::string_view const key = in_.code.text(name);
        std::string_view from =
            in_.source.parameter(in_.names.value(in_.names[name].value).first_source());
        if (!from.starts_with(old))
            return std::nullopt;
        from.remove_prefix(old.size());
        std::string_view const before =
            key.substr(0, key.size() - std::min(key.size(), from.size()));
        if (key.ends_with(from) && !before.starts_with(old))
            return before;
        return key.starts_with(old) ? std::string_view(old) : std::string_view();
    }

    void define_export(std::string const& key) {
        binding const* const bound = in_.names.find(key);
        if (bound && bound->is_spoilt)
            return;
        if (bound && bound->value != binding::none && bound->uses == 0)
            return in_.result.map.define(key, real(key, in_.names.value(bound->value)));
        auto const state = states_.find(key);
        binding const* const parameter =
            state != states_.end() ? in_.names.find(state->second.parameter) : nullptr;
        if (!parameter)
            return in_.result.map.define(key, in_.result.map.source(in_.source.find(key)));
        bound_value const& value = in_.names.value(parameter->value);
        in_.result.map.define(key, state_of(in_.source, value, *state->second.state, key));
        relate(state->second.parameter, key, *state->second.state);
        relate_numbers(in_, value, *state->second.state);
    }

    lower_context& in_;
    std::optional<missing_makers> makers_; ///< made when the first key is missing
    std::map<value_identity, std::string_view> first_names_;
    std::set<std::string> removed_;                    ///< scales of dequantized tensors
    std::map<std::string, state_of_parameter> states_; ///< states of the remaining tensors, by key
    std::map<std::string, std::string> containers_;    ///< new containers by old containers
};

RESHARD_DECL void define_outputs(lower_context& context) {
    output_definer definer(context);
    if (!context.target)
        return definer.define_exports();
    definer.define_targets();
    definer.remove_scales();
}

} // namespace reshard::aoa::detail

#endif
