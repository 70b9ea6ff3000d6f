// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_STATE_RULE_IPP
#define RESHARD_AOA_IMPL_STATE_RULE_IPP

#include <reshard/aoa/define_outputs.hpp>

#include <reshard/aoa/impl/state_words.ipp>
#include <reshard/aoa/macro/make_key_pattern.hpp>
#include <reshard/expr/block_scales.hpp>
#include <reshard/expr/cast.hpp>

#include <string_view>
#include <unordered_set>
#include <utility>

namespace reshard::aoa::detail {

RESHARD_DECL void check_scales(catalog_entry const& tensor, catalog_entry const& scales,
                               index_vector const& said) {
    index_vector const block = block_in(tensor.shape.size(), said);
    if (block.size() != tensor.shape.size())
        fail(errc::shape_mismatch, "'", tensor.key, "' has ", counted(tensor.shape.size(), "axis"),
             ", shape ", tensor.shape, ", but a block ", block, " has ", block.size());
    if (scales.shape != scale_counts(tensor.shape, {block}))
        fail(errc::shape_mismatch, "'", scales.key, "' has the shape ", scales.shape, ", but '",
             tensor.key, "' of shape ", tensor.shape, " has ", scale_counts(tensor.shape, {block}),
             " blocks of ", block);
}

/// The number of the state of `parameter`, a source of the tensor whose state is `key`.
///
/// \throws error with errc::unknown_key if the source has no such state, with errc::shape_mismatch
///         if the state's shape differs from the parameter's
inline key_id state_source(source_names const& source, key_id parameter, state_suffix const& state,
                           std::string const& key) {
    key_id const id = source.find_state(source.parameter(parameter), state);
    std::string const wanted = source.state_key(source.parameter(parameter), state);
    if (id == source_names::none)
        fail(errc::unknown_key, "'", key, "' is made of '", wanted,
             "', which the source does not have");
    index_vector const& shape = source.entry(parameter).shape;
    index_vector const& found_shape = source.entry(id).shape;
    if (!state.block.empty())
        check_scales(source.entry(parameter), source.entry(id), state.block);
    else if (!state.scalar && found_shape != shape)
        fail(errc::shape_mismatch, "'", wanted, "' has the shape ", found_shape,
             ", but its parameter has ", shape);
    return id;
}

/// Refuses a state whose data type differs from the first state's.
inline void check_state_type(catalog_entry const& entry, catalog_entry const& first,
                             std::string const& key) {
    if (entry.dtype != first.dtype)
        fail(errc::dtype_mismatch, "'", entry.key, "' is ", entry.dtype, ", but '", first.key,
             "', from which '", key, "' is also made, is ", first.dtype);
}

/// A copy of the piece that reads the state instead of the parameter. Casts do not apply to a
/// state. Arithmetic applies to a copy of the parameter, in the copy's own type; moments do not
/// change if a constant is added to the parameter, and would if it is multiplied.
///
/// \throws error with errc::unsupported for moments of a parameter that is multiplied
inline piece state_piece(piece copied, key_id id, catalog_entry const& entry,
                         state_suffix const& state) {
    step_chain const computed = std::exchange(copied.steps, {});
    copied.source = id;
    copied.stored = entry.dtype;
    if (id == zero_source || !computed.computes())
        return copied;
    auto const is_copy = is_parameter_copy(state);
    chain_steps const steps = computed.steps();
    auto const computes = [&](std::size_t i) { // a state is not quantised like its parameter
        return i < steps.size() && steps[i].computes != chain_step::operation::none &&
               steps[i].computes != chain_step::operation::dequantize;
    };
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (!computes(i))
            continue;
        chain_step const& step = steps[i];
        bool const is_product =
            step.computes == chain_step::operation::multiply && step.operand != 1;
        if (is_product ? !is_copy.value_or(false) : !is_copy)
            fail(errc::unsupported, "'", entry.key, "' cannot follow its parameter, which is ",
                 is_product ? "multiplied by " : "increased by ", shortest_text(step.operand),
                 is_copy ? ": moments change in another way"
                         : ": it may be a copy of the parameter, or a moment",
                 "; write a statement for it, or remove it:  ", quoted_name(entry.key), " -> _");
        if (!*is_copy)
            continue;
        bool const is_rounded = !computes(i + 1) || !is_lossless(data_type::f32, step.dtype);
        chain_step const own{is_rounded ? entry.dtype : computing_type(entry.dtype, entry.dtype),
                             step.computes, step.operand};
        try {
            check_arithmetic(entry.dtype, own);
        } catch (error const& problem) {
            fail(problem.code(), "'", entry.key, "' cannot follow its parameter: ", problem.what());
        }
        copied.steps = then(copied.steps, copied.stored, own);
    }
    return copied;
}

/// The scales of a tensor that is made of scaled tensors.
///
/// \param dtype the data type of the first tensor's scales
inline expression scales_of(source_names const& source, expression const& tensor, data_type dtype,
                            state_suffix const& state, std::string const& key) {
    for (std::size_t i = 0; i < tensor.pieces.size(); ++i)
        if (key_id const from = tensor.pieces.source(i); from != zero_source)
            state_source(source, from, state, key); // a missing state has its own message
    try {
        return block_scales(tensor, {state.block}, dtype, [&](key_id from) {
            key_id const id = state_source(source, from, state, key);
            catalog_entry const& of = source.entry(from);
            return scale_source{
                id, source.entry(id).dtype, of.shape, {block_in(of.shape.size(), state.block)}};
        });
    } catch (error const& problem) {
        fail(problem.code(), "'", key, "' cannot follow its tensor: ", problem.what());
    }
}

/// The tensors of a value that have a state, and the tensors that do not.
struct state_survey {
    vector<std::string> with, without; ///< keys of states; only the first if there are many
    std::size_t with_count = 0, without_count = 0;
};

inline state_survey survey_states(source_names const& source, bound_value const& parameter,
                                  state_suffix const& state) {
    constexpr std::size_t most = 3;
    state_survey survey;
    std::unordered_set<key_id> tensors;
    parameter.for_each_source([&](key_id from) {
        if (!tensors.insert(from).second)
            return;
        std::string const key = source.state_key(source.parameter(from), state);
        key_id const id = source.find_state(source.parameter(from), state);
        bool const has = id != source_names::none;
        auto& keys = has ? survey.with : survey.without;
        ++(has ? survey.with_count : survey.without_count);
        if (keys.size() < most)
            keys.push_back("'" + key + "'" +
                           (has ? " (" + std::string(reshard::name(source.entry(id).dtype)) + ", " +
                                      to_string(source.entry(id).shape) + ")"
                                : ""));
    });
    return survey;
}

RESHARD_DECL std::string listed(vector<std::string> const& quoted, std::size_t count) {
    std::string text;
    for (std::string const& each : quoted)
        text += (text.empty() ? "" : ", ") + each;
    return text +
           (count > quoted.size() ? " and " + std::to_string(count - quoted.size()) + " more" : "");
}

RESHARD_DECL void fail_without_state(source_names const& source, bound_value const& parameter,
                                     state_suffix const& state, std::string const& key) {
    state_survey const survey = survey_states(source, parameter, state);
    fail(errc::unknown_key, "'", key, "' is made of ", listed(survey.without, survey.without_count),
         ", which the source does not have",
         survey.with_count == 0 ? "" : "; it has " + listed(survey.with, survey.with_count));
}

inline expression make_state(source_names const& source, bound_value const& parameter,
                             state_suffix const& state, std::string const& key) {
    expression const& tensor = parameter.tensor;
    auto const entry_of = [&](key_id from) -> catalog_entry const& {
        return source.entry(state_source(source, from, state, key));
    };
    catalog_entry const& first = entry_of(parameter.first_source());
    if (state.scalar)
        return source_tensor(source.find(first.key), first.shape, first.dtype);
    for (key_id const from : parameter.sources)
        check_state_type(entry_of(from), first, key);
    if (!state.block.empty())
        return scales_of(source, tensor, first.dtype, state, key);
    expression result{tensor.shape, first.dtype, piece_list(tensor.ndim())};
    result.pieces.reserve(tensor.pieces.size());
    for (std::size_t i = 0; i < tensor.pieces.size(); ++i) {
        key_id id = tensor.pieces.source(i);
        if (id != zero_source) {
            id = state_source(source, id, state, key);
            check_state_type(source.entry(id), first, key);
        }
        result.pieces.push_back(state_piece(tensor.pieces[i], id, first, state));
    }
    return result;
}

RESHARD_DECL std::optional<bool> has_state(source_names const& source, bound_value const& parameter,
                                           state_suffix const& state) {
    std::size_t count = 0, with = 0;
    parameter.for_each_source([&](key_id from) {
        with += source.find_state(source.parameter(from), state) != source_names::none;
        ++count;
    });
    if (with != 0 && with != count)
        return std::nullopt;
    return with != 0;
}

RESHARD_DECL expression state_of(source_names const& source, bound_value const& parameter,
                                 state_suffix const& state, std::string const& key) {
    try {
        return make_state(source, parameter, state, key);
    } catch (error const& problem) {
        if (problem.code() != errc::unknown_key)
            throw;
        fail_without_state(source, parameter, state, key);
    }
}

RESHARD_DECL void relate_numbers(lower_context& context, bound_value const& parameter,
                                 state_suffix const& state) {
    if (!state.scalar)
        return;
    catalog_entry const* first = nullptr;
    std::unordered_set<key_id> keys;
    parameter.for_each_source([&](key_id from) {
        key_id const id = context.source.find_state(context.source.parameter(from), state);
        if (id == source_names::none || !keys.insert(id).second)
            return;
        catalog_entry const& entry = context.source.entry(id);
        if (!first) {
            first = &entry;
            return;
        }
        if (entry.dtype != first->dtype || entry.shape != first->shape)
            fail(entry.dtype != first->dtype ? errc::dtype_mismatch : errc::shape_mismatch, "'",
                 entry.key, "' is ", entry.dtype, ' ', entry.shape, ", but '", first->key,
                 "', whose parameter is joined with its parameter, is ", first->dtype, ' ',
                 first->shape);
        context.result.map.relate({relation::kind::number, first->key, entry.key});
    });
}

} // namespace reshard::aoa::detail

#endif
