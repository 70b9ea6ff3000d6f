// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_FUSED_VALUES_IPP
#define RESHARD_AOA_IMPL_FUSED_VALUES_IPP

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/lower_context.hpp>
#include <reshard/aoa/make_finding.hpp>
#include <reshard/aoa/operation.hpp>
#include <reshard/core/config.hpp>
#include <reshard/expr/fused_outputs.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/layout.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// \file
/// How the values of a program are interleaved.

namespace reshard::aoa::detail {

/// How the result of a statement, a tensor of `ndim` axes, is interleaved.
inline fused_tensor fused_of(lower_context const& context, statement const& one, std::size_t ndim) {
    origin const& made = context.code.origin(one.origin);
    attribute const* const found = find_attribute(context.code.attributes(one), "axis");
    index_t const axis = std::get<index_t>(found->value);
    return {axis < 0 ? axis + static_cast<index_t>(ndim) : axis, made.blocks, made.attributes};
}

/// Whether a statement takes a value apart as it was interleaved.
inline bool is_taken_apart(lower_context const& context, statement const& one,
                           bound_value const& value) {
    if (one.right < 2 || context.code.origin(one.origin).blocks == 0)
        return false;
    index_vector const& shape = value.tensor.shape;
    fused_tensor const &known = context.fused[value.fused],
                       as = fused_of(context, one, shape.size());
    auto const axis = static_cast<std::size_t>(known.axis);
    return as.axis == known.axis && as.blocks == known.blocks && axis < shape.size() &&
           member_sizes(as, shape[axis]) == member_sizes(known, shape[axis]);
}

RESHARD_DECL void check_fused_again(lower_context const& context, statement const& one,
                                    std::vector<std::uint32_t> const& operands) {
    std::string const& macro = context.code.origin(one.origin).macro;
    if (!macro.starts_with("fused") || macro == "fused_qkv")
        return;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        bound_value const& value = context.names.value(operands[i]);
        if (value.fused == bound_value::not_fused || is_taken_apart(context, one, value))
            continue;
        name const& called = context.code.left(one)[i];
        fused_tensor const& known = context.fused[value.fused];
        throw statement_error{
            errc::bad_macro,
            words("'", shown_name(context.code, one, called), "' is interleaved in ",
                  counted(known.blocks, "part"), " along axis ", known.axis, " (", known.macro,
                  "), and ", macro,
                  " takes it as one tensor, and the order of its parts would be lost; fuse all of "
                  "them in one statement, or take it apart first"),
            called.where, shown_key(context.code, one, called)};
    }
}

/// The same statement with operands known by name alone: the facts about its results.
///
/// \param first_shape of its first result
/// \pre   the statement has been carried out, and all operands are fused
inline mapping with_stand_ins(lower_context const& context, statement const& one,
                              std::vector<std::uint32_t> const& operands,
                              index_vector const& first_shape) {
    mapping alike;
    layout known;
    std::vector<expression> tensors;
    for (std::uint32_t const id : operands) {
        bound_value const& value = context.names.value(id);
        std::string const key = std::to_string(tensors.size());
        tensors.push_back(alike.source(key, value.tensor.shape, value.tensor.dtype));
        known.fused.emplace(key, context.fused[value.fused]);
    }
    std::vector<expression const*> values;
    for (expression const& tensor : tensors)
        values.push_back(&tensor);
    operation step(std::move(values), {}, one.right);
    step.expect(&first_shape);
    auto made = step.run(context.code.attributes(one));
    for (std::size_t i = 0; i < made.size(); ++i)
        alike.define(std::to_string(i), std::move(made[i]));
    carry_fused(alike, known);
    return alike;
}

RESHARD_DECL void note_fused(lower_context& context, statement const& one,
                             std::vector<std::uint32_t> const& operands,
                             std::vector<bound_value>& made) {
    if (made.size() == 1 && context.code.origin(one.origin).blocks > 0) {
        made[0].fused = static_cast<std::uint32_t>(context.fused.size());
        context.fused.push_back(fused_of(context, one, made[0].tensor.ndim()));
        return;
    }
    bool const are_fused = std::ranges::all_of(operands, [&](std::uint32_t id) {
        return context.names.value(id).fused != bound_value::not_fused;
    });
    if (!are_fused)
        return;
    mapping const alike = with_stand_ins(context, one, operands, made[0].tensor.shape);
    for (std::size_t i = 0; i < made.size(); ++i)
        if (auto const found = alike.fused().find(std::to_string(i));
            found != alike.fused().end()) {
            made[i].fused = static_cast<std::uint32_t>(context.fused.size());
            context.fused.push_back(found->second);
        }
}

} // namespace reshard::aoa::detail

#endif
