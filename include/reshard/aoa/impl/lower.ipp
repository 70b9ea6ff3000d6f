// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_LOWER_IPP
#define RESHARD_AOA_IMPL_LOWER_IPP

#include <reshard/aoa/lower.hpp>
#include <reshard/core/vector.hpp>

#include <reshard/aoa/define_outputs.hpp>
#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/impl/follow_scales.ipp>
#include <reshard/aoa/impl/fused_values.ipp>
#include <reshard/aoa/impl/left_states.ipp>
#include <reshard/aoa/impl/run_statements.ipp>
#include <reshard/aoa/operation.hpp>
#include <reshard/expr/fused_outputs.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <variant>

namespace reshard::aoa::detail {

/// An output whose value has other names, too.
struct tied_output {
    value_identity value;
    mapping_output const* output;

    auto key() const { return std::tie(value, output->key); }
};

/// The identity of the value of text number `id`, if the text may be the key of an output: a target
/// key or, if the target is unknown, any key.
inline std::optional<value_identity> output_identity(lower_context& context, std::uint32_t id) {
    binding const& bound = context.names[name{name::kind_type::text, false, id, {}}];
    return bound.is_wanted || !context.target ? context.names.identity(id) : std::nullopt;
}

/// The numbers of texts that may be keys of outputs, and that share their value with another such
/// text.
inline vector<std::uint32_t> tied_texts(lower_context& context) {
    vector<bool> is_named[2], is_tied[2]; // [0]: results of statements, [1]: source tensors
    for (std::uint32_t id = 0; id < context.code.text_count(); ++id)
        if (auto const value = output_identity(context, id)) {
            auto &named = is_named[value->is_source], &tied = is_tied[value->is_source];
            named.resize(std::max<std::size_t>(named.size(), value->number + std::size_t{1}));
            tied.resize(named.size());
            tied[value->number] = named[value->number];
            named[value->number] = true;
        }
    vector<std::uint32_t> matches;
    for (std::uint32_t id = 0; id < context.code.text_count(); ++id)
        if (auto const value = output_identity(context, id))
            if (is_tied[value->is_source][value->number])
                matches.push_back(id);
    return matches;
}

/// The outputs for tied texts, by value, then by key. Most programs have no tied texts, and need no
/// search for outputs.
inline vector<tied_output> tied_outputs(lower_context& context) {
    vector<tied_output> outputs;
    for (std::uint32_t const id : tied_texts(context)) {
        name const name{name::kind_type::text, false, id, {}};
        if (auto const* const output = context.result.map.find(context.code.text(name)))
            outputs.push_back({*context.names.identity(id), output});
    }
    std::ranges::sort(outputs, {}, &tied_output::key);
    return outputs;
}

RESHARD_DECL void relate_copies(lower_context& context) {
    vector<relation> aliases;
    tied_output const* first = nullptr;
    auto const tied = tied_outputs(context);
    for (tied_output const& output : tied) {
        if (!first || first->value != output.value)
            first = &output;
        else if (first->output->value.dtype == output.output->value.dtype)
            aliases.push_back({relation::kind::alias, first->output->key, output.output->key});
    }
    std::ranges::sort(aliases, {}, &relation::companion);
    for (relation& alias : aliases)
        context.result.map.relate(std::move(alias));
}

[[noreturn]] inline void refuse_copy(errc code, std::string const& key, std::string const& first,
                                     attribute const& by, std::string const& why) {
    throw statement_error{code, words("'", key, "' is declared as a copy of '", first, "', ", why),
                          by.where, key};
}

/// Records that two source tensors have to be equal, if the source has both.
inline void relate_equal(lower_context& context, std::string const& key, std::string const& first,
                         attribute const& by) {
    key_id const kept = context.source.find(first), removed = context.source.find(key);
    if (kept == source_names::none || removed == source_names::none)
        return;
    catalog_entry const &a = context.source.entry(removed), &b = context.source.entry(kept);
    if (a.shape != b.shape)
        refuse_copy(errc::shape_mismatch, key, first, by,
                    words("but has the shape ", a.shape, ", not ", b.shape));
    if (a.dtype != b.dtype)
        refuse_copy(errc::dtype_mismatch, key, first, by,
                    words("but is ", a.dtype, ", not ", b.dtype));
    context.result.map.relate({relation::kind::copy, first, key});
}

RESHARD_DECL void relate_copy(lower_context& context, std::string const& key, attribute const& by) {
    auto const& first = std::get<std::string>(by.value);
    if (context.source.find(first) == source_names::none)
        refuse_copy(errc::unknown_key, key, first, by,
                    "which the source does not have" + context.names.near(first));
    relate_equal(context, key, first, by);
    for (state_suffix const& state : context.suffixes)
        relate_equal(context, context.source.state_key(key, state),
                     context.source.state_key(first, state), by);
}

RESHARD_DECL void declare_fused(lower_context& context) {
    bool const is_known = !context.fused.empty() || !context.apart.empty();
    for (std::uint32_t id = 0; is_known && id < context.code.text_count(); ++id) {
        auto const value = output_identity(context, id);
        if (!value || value->is_source)
            continue;
        bound_value const& bound_value = context.names.value(value->number);
        std::string_view const key = context.code.text(name{name::kind_type::text, false, id, {}});
        if (!context.result.map.find(key))
            continue;
        if (bound_value.fused != bound_value::not_fused)
            context.result.map.fuse(std::string(key), context.fused[bound_value.fused]);
        if (bound_value.apart != bound_value::not_fused)
            context.result.map.take_apart(std::string(key), context.apart[bound_value.apart]);
    }
}

/// The axis along which a tensor is the concat of `operands` different source tensors.
inline std::optional<std::size_t> concat_axis(expression const& tensor, std::size_t operands) {
    if (tensor.pieces.size() != operands)
        return std::nullopt;
    std::optional<std::size_t> index;
    std::unordered_set<key_id> sources;
    for (std::size_t i = 0; i < operands; ++i) {
        box const part = tensor.pieces[i].target_box();
        sources.insert(tensor.pieces.source(i));
        for (std::size_t axis = 0; axis < tensor.ndim(); ++axis)
            if (part.shape[axis] != tensor.shape[axis] && index.value_or(axis) == axis)
                index = axis;
            else if (part.shape[axis] != tensor.shape[axis])
                return std::nullopt;
    }
    return sources.size() == operands && !sources.contains(zero_source) ? index : std::nullopt;
}

RESHARD_DECL void warn_plain_concats(lower_context& context) {
    for (mapping_output const& output : context.result.map.outputs()) {
        catalog_entry const* const wanted = context.target && is_named_fused(output.key) &&
                                                    !context.result.map.fused().contains(output.key)
                                                ? context.target->find(output.key)
                                                : nullptr;
        bool const is_qkv = output.key.find("qkv") != output.key.npos;
        auto const axis = wanted ? concat_axis(output.value, is_qkv ? 3 : 2) : std::nullopt;
        binding const* const bound = axis ? context.names.find(output.key) : nullptr;
        if (!bound || context.code.origin(bound->origin).macro.starts_with("fused") ||
            wanted->parts[*axis] < 2 || wanted->is_scattered(*axis))
            continue;
        context.result.findings.push_back(
            {severity::warning, "plain_concat", output.key,
             words("'", output.key, "' has ", is_qkv ? "three" : "two",
                   " tensors one after the other along axis ", *axis,
                   ", but the target cuts it there into ", wanted->parts[*axis],
                   " parts, so that a rank would not get a share of each tensor; if these are "
                   "tensor-parallel parts, write ",
                   is_qkv ? "fused_qkv (or fused_qkv_old) with its numbers of heads" : "fused_ffn",
                   ", axis=", *axis),
             bound->where, bound->origin});
    }
}

RESHARD_DECL vector<finding> dropped_findings(lowering const& lowered) {
    using bytes = std::pair<std::uint32_t, std::uint32_t>;
    vector<finding> findings;
    std::map<bytes, std::size_t> counts;
    for (dropped_value const& dropped : lowered.dropped)
        counts[bytes(dropped.where.first, dropped.where.last)] += !dropped.is_reported;
    for (dropped_value const& dropped : lowered.dropped) {
        if (dropped.is_reported)
            continue;
        std::size_t const count =
            std::exchange(counts[bytes(dropped.where.first, dropped.where.last)], 0);
        if (count > 0)
            findings.push_back(
                {severity::warning, "not_used", dropped.key,
                 "nothing reads '" + dropped.key + "'" +
                     (count > 1 ? " and " + std::to_string(count - 1) + " more" : "") +
                     ", and the target does not want " + (count > 1 ? "them" : "it"),
                 dropped.where, dropped.origin});
    }
    return findings;
}

RESHARD_DECL vector<std::string> equally_missing(vector<finding> const& findings) {
    finding const& first = *first_error_of(findings);
    auto const is_in_text = [](finding const& finding) {
        return finding.where.last > finding.where.first;
    };
    auto const is_missing = [&](finding const& finding) {
        return finding.level == severity::error &&
               finding.code == reshard::name(errc::unknown_key) && !finding.key.empty() &&
               is_in_text(finding) == is_in_text(first) &&
               (!is_in_text(finding) || finding.message.find(no_such_key) != finding.message.npos);
    };
    vector<std::string> keys;
    for (finding const& finding : findings)
        if (is_missing(first) && is_missing(finding) && finding.key != first.key &&
            !std::ranges::count(keys, finding.key))
            keys.push_back(finding.key);
    return keys;
}

RESHARD_DECL std::string same_for(vector<std::string> const& keys) {
    constexpr std::size_t most = 20;
    vector<std::string> quoted;
    for (std::size_t i = 0; i < std::min(most, keys.size()); ++i)
        quoted.push_back("'" + keys[i] + "'");
    return keys.empty() ? "" : "the same holds for " + listed(quoted, keys.size());
}

/// The first error as text, and the other tensors that are missing for the same reason.
///
/// \pre there is an error
inline std::string described_error(program const& code, vector<finding> const& findings) {
    std::string const text = describe(code, *first_error_of(findings));
    std::string const same = same_for(equally_missing(findings));
    return same.empty() ? text : text + (text.find('\n') == text.npos ? "; " : "\n  ") + same;
}

} // namespace reshard::aoa::detail

namespace reshard::aoa {

RESHARD_DECL lowering lower_all(program const& expanded, catalog const& source,
                                catalog const* target, lower_options const& options) {
    auto const patterns = detail::scale_patterns(expanded);
    program const named =
        patterns.empty() ? program() : detail::with_scale_names(expanded, patterns);
    detail::lower_context context(patterns.empty() ? expanded : named, source, target, options);
    detail::run_statements(context);
    detail::follow_scales(context, patterns);
    detail::define_outputs(context);
    detail::relate_scales(context, patterns);
    detail::relate_quantised(context);
    context.warn_replaced();
    detail::relate_copies(context);
    detail::declare_fused(context);
    detail::warn_plain_concats(context);
    detail::warn_left_states(context);
    for (dropped_value const& dropped : context.result.dropped)
        if (!dropped.is_reported)
            context.result.map.leave_over(dropped.key);
    return std::move(context.result);
}

RESHARD_DECL mapping lower(program const& expanded, catalog const& source, catalog const* target,
                           lower_options const& options) {
    lowering result = lower_all(expanded, source, target, options);
    if (result.first_error)
        fail(*result.first_error, detail::described_error(expanded, result.findings));
    return std::move(result.map);
}

RESHARD_DECL mapping mapping_of(program const& written, catalog const& source,
                                catalog const* target) {
    return lower(expand(written, source, target).code, source, target);
}

RESHARD_DECL std::function<mapping(catalog const& source, catalog const* target)>
with_findings(program written,
              std::function<void(program const& expanded, finding const& finding)> tell) {
    return [written = std::move(written), tell = std::move(tell)](catalog const& source,
                                                                  catalog const* target) {
        expansion const expanded = expand(written, source, target);
        lowering lowered = lower_all(expanded.code, source, target);
        if (lowered.first_error)
            fail(*lowered.first_error, detail::described_error(expanded.code, lowered.findings));
        for (finding const& finding : expanded.findings)
            tell(expanded.code, finding);
        for (finding const& finding : lowered.findings)
            tell(expanded.code, finding);
        for (finding const& finding : detail::dropped_findings(lowered))
            tell(expanded.code, finding);
        return std::move(lowered.map);
    };
}

} // namespace reshard::aoa

#endif
