// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_INVERSE_IPP
#define RESHARD_AOA_IMPL_INVERSE_IPP

#include <reshard/aoa/inverse.hpp>

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/operation.hpp>
#include <reshard/aoa/words.hpp>
#include <reshard/core/step_chain.hpp>
#include <reshard/expr/slice.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <tuple>
#include <utility>

namespace reshard::aoa::detail {

/// A tensor with these facts, for operations of the algebra.
inline expression probe(tensor_facts const& facts) {
    return source_tensor(0, facts.shape, facts.dtype);
}

RESHARD_DECL tensor_facts apply(attribute const& current_attribute, tensor_facts const& before,
                                index_vector const* wanted) {
    attribute alone = current_attribute;
    if (current_attribute.word == "dst_dtype")
        alone.word = "dtype";
    expression const value = probe(before);
    operation step({&value}, {}, 1);
    step.expect(wanted);
    expression const expression = step.run({alone})[0];
    bool const keeps_values =
        !changes_values(current_attribute.word) && is_lossless(before.held, expression.dtype);
    data_type const type = keeps_values ? before.held : expression.dtype;
    return {expression.shape, expression.dtype, type};
}

/// Whether an attribute is a declaration about the whole program.
inline bool is_declaration(attribute const& attribute) {
    return attribute.word == "scales" || attribute.word == "blocks";
}

RESHARD_DECL bool is_step(attribute const& attribute) {
    return attribute.word != "axis" && attribute.word != "sizes" && attribute.word != "src_dtype" &&
           !is_declaration(attribute);
}

/// Applies an attribute to each tensor, and records the steps.
inline void take_step(attribute const& attribute, index_vector const* wanted,
                      vector<tensor_facts>& values, vector<vector<attribute_step>>& steps) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        tensor_facts const after = apply(attribute, values[i], wanted);
        steps[i].push_back({&attribute, values[i], after});
        values[i] = after;
    }
}

RESHARD_DECL vector<tensor_facts> join(attribute const& axis, attribute const* sizes,
                                       vector<tensor_facts> const& values,
                                       std::size_t result_count) {
    vector<expression> probes;
    vector<expression const*> operands;
    for (tensor_facts const& value : values)
        probes.push_back(probe(value));
    for (expression const& expression : probes)
        operands.push_back(&expression);
    vector<attribute> list{axis};
    if (sizes)
        list.push_back(*sizes);
    data_type type = values[0].held;
    for (tensor_facts const& value : values)
        type = value.held == type ? type : value.dtype;
    vector<tensor_facts> facts;
    for (expression const& expression : operation(std::move(operands), {}, result_count).run(list))
        facts.push_back({expression.shape, expression.dtype, type});
    return facts;
}

RESHARD_DECL statement_analysis analyze(program const& code, statement const& statement,
                                        vector<tensor_facts> operands, index_vector const* wanted) {
    statement_analysis result;
    result.operands.resize(statement.left);
    result.results.resize(statement.right);
    auto const& list = code.attributes(statement);
    attribute const* sizes = nullptr;
    for (attribute const& each : list)
        if (each.word == "sizes")
            sizes = &each;
    bool const is_single = statement.left == 1 && statement.right == 1;
    for (attribute const& each : list)
        if (is_declaration(each)) {
            result.declared.push_back(&each);
        } else if (each.word == "axis" && !is_single) {
            result.axis = &each;
            result.joined = operands;
            operands = join(each, sizes, operands, statement.right);
        } else if (is_step(each)) {
            take_step(each, is_single ? wanted : nullptr, operands,
                      result.axis ? result.results : result.operands);
        }
    result.made = std::move(operands);
    return result;
}

inline attribute make_attribute(std::string word, std::string value, attribute const& like) {
    return {std::move(word), std::move(value), '"', like.where};
}

inline attribute_list inverse_permute(attribute_step const& step) {
    vector<index_t> const order = parse_list(*step.applied);
    if (order.empty())
        return {*step.applied};
    vector<index_t> inverse(order.size());
    bool is_identity = true;
    for (std::size_t axis = 0; axis < order.size(); ++axis) {
        inverse[static_cast<std::size_t>(order[axis])] = static_cast<index_t>(axis);
        is_identity = is_identity && order[axis] == static_cast<index_t>(axis);
    }
    if (is_identity)
        return {};
    return {make_attribute("permute", list_text(inverse), *step.applied)};
}

/// Casts back. A pair of types states its reverse explicitly, so it may round.
inline attribute_list inverse_cast(attribute_step const& step, bool allow_rounding) {
    std::string const before(reshard::name(step.before.dtype));
    std::string const after(reshard::name(step.after.dtype));
    if (before == after)
        return {};
    if (!is_castable(step.after.dtype, step.before.dtype))
        throw statement_error{errc::not_invertible,
                              words(after, " cannot be cast back to ", before),
                              step.applied->where};
    bool const is_pair = step.applied->word == "dst_dtype";
    if (!is_pair && !allow_rounding && !is_lossless(step.before.held, step.after.dtype))
        throw statement_error{errc::not_invertible,
                              words("the cast from ", before, " to ", after,
                                    " rounds, which loses precision; write  src_dtype=\"", before,
                                    "\", dst_dtype=\"", after,
                                    "\"  to cast it back anyway (option allow_rounding)"),
                              step.applied->where};
    if (!is_pair)
        return {make_attribute("dtype", before, *step.applied)};
    return {make_attribute("src_dtype", after, *step.applied),
            make_attribute("dst_dtype", before, *step.applied)};
}

/// Refuses a step that drops elements.
inline void refuse_smaller(attribute_step const& step) {
    index_vector const &before = step.before.shape, &after = step.after.shape;
    for (std::size_t axis = 0; axis < before.size(); ++axis)
        if (after[axis] < before[axis])
            throw statement_error{errc::not_invertible,
                                  words(step.applied->word, " keeps only ", after[axis], " of the ",
                                        counted(before[axis], "element"), " along axis ", axis),
                                  step.applied->where};
}

/// Cuts off the elements that a resize appended.
inline attribute_list inverse_resize(attribute_step const& step) {
    refuse_smaller(step);
    index_vector const &before = step.before.shape, &after = step.after.shape;
    if (before == after)
        return {};
    std::string text;
    for (std::size_t axis = 0; axis < before.size(); ++axis)
        text += std::string(axis == 0 ? "" : ", ") +
                (before[axis] == after[axis] ? ":" : "0:" + std::to_string(before[axis]));
    return {make_attribute("slice", '[' + text + ']', *step.applied)};
}

inline attribute_list inverse_reshape(attribute_step const& step) {
    if (step.before.shape == step.after.shape)
        return {};
    return {make_attribute("reshape", list_text(step.before.shape), *step.applied)};
}

RESHARD_DECL attribute undo_squeeze(attribute const& applied) {
    attribute undo = applied;
    undo.word = applied.word == "squeeze" ? "unsqueeze" : "squeeze";
    return undo;
}

/// Subtracts, or divides. Both may round, even if a factor is a power of two: the product may be
/// too large or too small for its type.
inline attribute_list inverse_arithmetic(attribute_step const& step, bool allow_rounding) {
    attribute const& applied = *step.applied;
    double const operand = *applied.number();
    bool const is_sum = applied.word == "add";
    double const inverse = is_sum ? -operand : 1 / operand;
    bool const is_wide = computing_type(step.before.dtype, step.after.dtype) == data_type::f64;
    double const limit =
        is_wide ? std::numeric_limits<double>::max() : double{std::numeric_limits<float>::max()};
    if (!(std::abs(inverse) <= limit))
        throw statement_error{errc::not_invertible,
                              words("nothing undoes a product with ", shortest_text(operand)),
                              applied.where};
    if (!allow_rounding)
        throw statement_error{
            errc::not_invertible,
            words(applied.word, '=', shortest_text(operand), " may round, and so may the ",
                  is_sum ? "difference" : "quotient", " that undoes it (option allow_rounding)"),
            applied.where};
    attribute undo = make_attribute(applied.word, shortest_text(inverse), applied);
    undo.quote = 0;
    std::string_view digits = std::get<std::string>(undo.value);
    if (auto const integer = take_integer(digits); integer && digits.empty())
        undo.value = *integer;
    return {undo};
}

RESHARD_DECL attribute_list inverse_of(attribute_step const& step, bool allow_rounding) {
    std::string const& word = step.applied->word;
    if (is_arithmetic(step.applied->word))
        return inverse_arithmetic(step, allow_rounding);
    if (word == "permute")
        return inverse_permute(step);
    if (word == "dtype" || word == "dst_dtype")
        return inverse_cast(step, allow_rounding);
    if (word == "reshape")
        return inverse_reshape(step);
    if (word == "squeeze" || word == "unsqueeze")
        return {undo_squeeze(*step.applied)};
    if (word == "slice" || word == "resize")
        return inverse_resize(step);
    throw statement_error{errc::unsupported, words("'", word, "' cannot be reversed"),
                          step.applied->where};
}

RESHARD_DECL attribute_list inverse_of(vector<attribute_step> const& steps, bool allow_rounding) {
    attribute_list list;
    auto const append = [&](attribute_step const& step) {
        for (attribute& attribute : inverse_of(step, allow_rounding))
            list.push_back(std::move(attribute));
    };
    auto const computes = [&](std::size_t i) { return is_arithmetic(steps[i].applied->word); };
    for (std::size_t end = steps.size(); end > 0; --end) {
        std::size_t const cast = end - 1;
        // The cast after arithmetic is its rounding, in the reverse as well.
        if (steps[cast].applied->word == "dtype")
            for (; end > 1 && computes(end - 2); --end)
                append(steps[end - 2]);
        append(steps[cast]);
    }
    return list;
}

RESHARD_DECL bool inverse_statement::are_equal(vector<attribute_list> const& lists) {
    return std::ranges::all_of(lists,
                               [&](attribute_list const& list) { return list == lists.front(); });
}

inline vector<attribute_list> inverses_of(vector<vector<attribute_step>> const& steps,
                                          bool allow_rounding) {
    vector<attribute_list> lists;
    lists.reserve(steps.size());
    for (vector<attribute_step> const& attribute_steps : steps)
        lists.push_back(inverse_of(attribute_steps, allow_rounding));
    return lists;
}

/// The extents of operands along an axis, if they differ.
inline vector<index_t> uneven_sizes(vector<tensor_facts> const& operands, index_t axis) {
    vector<index_t> sizes;
    for (tensor_facts const& facts : operands) {
        auto const ndim = static_cast<index_t>(facts.shape.size());
        sizes.push_back(facts.shape[static_cast<std::size_t>(axis < 0 ? axis + ndim : axis)]);
    }
    bool const is_even = std::ranges::all_of(sizes, [&](index_t n) { return n == sizes[0]; });
    return is_even ? vector<index_t>() : sizes;
}

/// For each operand of a concat, the slice that cuts it out of the result.
inline vector<attribute> cuts_of(statement_analysis const& of) {
    vector<attribute> cuts;
    index_t offset = 0;
    for (tensor_facts const& facts : of.joined) {
        auto const ndim = static_cast<index_t>(facts.shape.size());
        index_t const axis = std::get<index_t>(of.axis->value);
        auto const cut = static_cast<std::size_t>(axis < 0 ? axis + ndim : axis);
        std::string text;
        for (std::size_t i = 0; i < facts.shape.size(); ++i)
            text +=
                std::string(i == 0 ? "[" : ", ") +
                (i == cut ? std::to_string(offset) + ':' + std::to_string(offset + facts.shape[i])
                          : ":");
        cuts.push_back(make_attribute("slice", text + ']', *of.axis));
        offset += facts.shape[cut];
    }
    return cuts;
}

RESHARD_DECL inverse_statement invert(statement_analysis const& of, bool allow_rounding) {
    inverse_statement result;
    result.operands = inverses_of(of.results, allow_rounding);
    result.results = inverses_of(of.operands, allow_rounding);
    for (attribute const* const attribute : of.declared)
        result.declared.push_back(*attribute);
    if (!of.axis)
        return result;
    result.join.push_back(*of.axis);
    result.cuts = cuts_of(of);
    if (of.joined.size() > 1)
        if (auto const sizes = uneven_sizes(of.joined, std::get<index_t>(of.axis->value));
            !sizes.empty())
            result.join.push_back(make_attribute("sizes", list_text(sizes), *of.axis));
    return result;
}

} // namespace reshard::aoa::detail

#endif
