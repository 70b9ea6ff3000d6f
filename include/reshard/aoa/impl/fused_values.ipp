// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_FUSED_VALUES_IPP
#define RESHARD_AOA_IMPL_FUSED_VALUES_IPP

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/lower_context.hpp>
#include <reshard/aoa/make_finding.hpp>
#include <reshard/aoa/operation.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/fused_outputs.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/layout.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

/// \file
/// Tracks how the values of a program are interleaved.

namespace reshard::aoa::detail {

/// How a statement interleaves its result, a tensor of `ndim` axes.
inline fused_tensor fused_of(lower_context const& context, statement const& statement,
                             std::size_t ndim) {
    origin const& origin = context.code.origin(statement.origin);
    attribute const* const attribute = find_attribute(context.code.attributes(statement), "axis");
    index_t const axis = std::get<index_t>(attribute->value);
    return {axis < 0 ? axis + static_cast<index_t>(ndim) : axis, origin.blocks, origin.attributes};
}

/// Whether a statement splits a value into the parts that were interleaved in it.
inline bool is_taken_apart(lower_context const& context, statement const& statement,
                           bound_value const& value) {
    if (statement.right < 2 || context.code.origin(statement.origin).blocks == 0)
        return false;
    index_vector const& shape = value.tensor.shape;
    fused_tensor const &known = context.fused[value.fused],
                       as = fused_of(context, statement, shape.size());
    auto const axis = static_cast<std::size_t>(known.axis);
    return as.axis == known.axis && as.blocks == known.blocks && axis < shape.size() &&
           member_sizes(as, shape[axis]) == member_sizes(known, shape[axis]);
}

/// Whether a statement interleaves its result for several ranks.
inline bool makes_blocks(lower_context const& context, statement const& statement) {
    origin const& origin = context.code.origin(statement.origin);
    return statement.right == 1 && origin.blocks > 0 && origin.macro != "fused_qkv";
}

RESHARD_DECL void check_fused_again(lower_context const& context, statement const& statement,
                                    vector<std::uint32_t> const& operands) {
    std::string const& macro = context.code.origin(statement.origin).macro;
    if (!macro.starts_with("fused") || macro == "fused_qkv")
        return;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        bound_value const& value = context.names.value(operands[i]);
        if (value.fused == bound_value::not_fused || is_taken_apart(context, statement, value))
            continue;
        name const& called = context.code.left(statement)[i];
        fused_tensor const& tensor = context.fused[value.fused];
        throw statement_error{
            errc::bad_macro,
            words("'", shown_name(context.code, statement, called), "' is interleaved in ",
                  counted(tensor.blocks, "part"), " along axis ", tensor.axis, " (", tensor.macro,
                  "), but ", macro,
                  " takes it as one tensor, which would lose the order of its parts; fuse all of "
                  "them in one statement, or take it apart first"),
            called.where, shown_key(context.code, statement, called)};
    }
}

/// Runs the statement on operands without memory, to find the facts about its results.
///
/// \param first_shape the shape of its first result
/// \pre   the statement has already run, and all operands are fused
inline mapping with_stand_ins(lower_context const& context, statement const& statement,
                              vector<std::uint32_t> const& operands,
                              index_vector const& first_shape) {
    mapping mapping;
    layout layout;
    vector<expression> tensors;
    for (std::uint32_t const id : operands) {
        bound_value const& value = context.names.value(id);
        std::string const key = std::to_string(tensors.size());
        tensors.push_back(mapping.source(key, value.tensor.shape, value.tensor.dtype));
        layout.fused.emplace(key, context.fused[value.fused]);
    }
    vector<expression const*> values;
    for (expression const& tensor : tensors)
        values.push_back(&tensor);
    operation step(std::move(values), {}, statement.right);
    step.expect(&first_shape);
    auto result = step.run(context.code.attributes(statement));
    for (std::size_t i = 0; i < result.size(); ++i)
        mapping.define(std::to_string(i), std::move(result[i]));
    carry_fused(mapping, layout);
    return mapping;
}

RESHARD_DECL void note_fused(lower_context& context, statement const& statement,
                             vector<std::uint32_t> const& operands, vector<bound_value>& values) {
    if (values.size() == 1 && makes_blocks(context, statement)) {
        values[0].fused = static_cast<std::uint32_t>(context.fused.size());
        context.fused.push_back(fused_of(context, statement, values[0].tensor.ndim()));
        return;
    }
    bool const are_fused = std::ranges::all_of(operands, [&](std::uint32_t id) {
        return context.names.value(id).fused != bound_value::not_fused;
    });
    if (!are_fused)
        return;
    mapping const mapping = with_stand_ins(context, statement, operands, values[0].tensor.shape);
    for (std::size_t i = 0; i < values.size(); ++i)
        if (auto const match = mapping.fused().find(std::to_string(i));
            match != mapping.fused().end()) {
            values[i].fused = static_cast<std::uint32_t>(context.fused.size());
            context.fused.push_back(match->second);
        }
}

/// The source tensors that the macro of a statement takes apart: the sources of its operand.
inline vector<taken_apart> apart_by(lower_context& context, statement const& statement,
                                    vector<std::uint32_t> const& operands) {
    vector<taken_apart> split_sources;
    std::size_t const ndim = context.names.value(operands[0]).tensor.ndim();
    for (key_id const id : context.names.sources_of(operands))
        split_sources.push_back({id, fused_of(context, statement, ndim)});
    return split_sources;
}

/// The source tensors in the operands that macros took apart completely.
inline vector<taken_apart> apart_in(lower_context& context, vector<std::uint32_t> const& operands) {
    vector<taken_apart> split_sources;
    std::set<key_id> keys;
    for (std::uint32_t const id : operands) {
        bound_value const& value = context.names.value(id);
        std::span<taken_apart const> here;
        if (value.apart != bound_value::not_fused)
            here = context.apart[value.apart];
        split_sources.insert(split_sources.end(), here.begin(), here.end());
        value.for_each_source([&](key_id source) {
            if (std::ranges::find(here, source, &taken_apart::source) == here.end())
                keys.insert(source);
        });
    }
    erase_if(split_sources,
             [&](taken_apart const& split_source) { return keys.contains(split_source.source); });
    std::ranges::sort(split_sources);
    split_sources.erase(std::unique(split_sources.begin(), split_sources.end()),
                        split_sources.end());
    return split_sources;
}

RESHARD_DECL void note_apart(lower_context& context, statement const& statement,
                             vector<std::uint32_t> const& operands, vector<bound_value>& values) {
    if (operands.empty() || makes_blocks(context, statement))
        return;
    auto const of = [&](std::uint32_t id) { return context.names.value(id).apart; };
    std::uint32_t apart = of(operands[0]);
    bool const is_macro = statement.right > 1 && context.code.origin(statement.origin).blocks > 1;
    if (is_macro || !std::ranges::all_of(operands, [&](auto id) { return of(id) == apart; })) {
        auto elements =
            is_macro ? apart_by(context, statement, operands) : apart_in(context, operands);
        apart = elements.empty() ? bound_value::not_fused
                                 : static_cast<std::uint32_t>(context.apart.size());
        if (!elements.empty())
            context.apart.push_back(std::move(elements));
    }
    for (bound_value& value : values)
        value.apart = apart;
}

} // namespace reshard::aoa::detail

#endif
