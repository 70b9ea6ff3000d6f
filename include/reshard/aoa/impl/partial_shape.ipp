// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_PARTIAL_SHAPE_IPP
#define RESHARD_AOA_IMPL_PARTIAL_SHAPE_IPP

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/inverse.hpp>
#include <reshard/aoa/operation.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/piece.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>

/// \file
/// Runs one statement forwards or backwards on tensors with only some known facts.

namespace reshard::aoa::detail {

/// The known facts about a value.
struct partial_shape {
    std::optional<index_vector> shape;
    std::optional<data_type> dtype;
    key_id like = reshard::detail::
        zero_source; ///< a target tensor that contains the value's elements; its states show which
                     ///< states the value has
};

/// The facts about the operands of a statement, inferred from its results.
struct open_operands {
    vector<partial_shape> facts; ///< empty if no operand is known
    bool are_assumed = false;    ///< several operands were assumed to be of equal size
};

/// Shape and type after an attribute. An unknown type stays unknown, unless the attribute casts.
inline partial_shape apply_partial(attribute const& attribute, partial_shape const& before) {
    tensor_facts const after =
        apply(attribute, {*before.shape, before.dtype.value_or(data_type::f32), data_type::f32});
    bool const is_cast = attribute.word == "dtype" || attribute.word == "dst_dtype";
    return {after.shape, is_cast || before.dtype ? std::optional(after.dtype) : std::nullopt,
            before.like};
}

/// Shape and type before attribute number `i`; facts that the attribute loses are unknown.
inline partial_shape undo_partial(vector<attribute> const& list, std::size_t i,
                                  partial_shape after) {
    attribute const& attribute = list[i];
    if (attribute.word == "permute" && std::holds_alternative<std::string>(attribute.value)) {
        auto const order = parse_list(attribute);
        std::size_t const ndim = after.shape->size();
        permutation const applied =
            order.empty() ? permutation::reversed(ndim)
                          : permutation::of(index_vector(order.begin(), order.end()), ndim);
        after.shape = applied.undo(*after.shape);
    } else if (attribute.word == "squeeze" || attribute.word == "unsqueeze") {
        after = apply_partial(undo_squeeze(attribute), after);
    } else if (is_arithmetic(attribute.word)) {
        return after;
    } else if (attribute.word == "dtype" || attribute.word == "dequantize") {
        after.dtype = std::nullopt;
    } else if (attribute.word == "dst_dtype" && i > 0) {
        auto const* const text = std::get_if<std::string>(&list[i - 1].value);
        after.dtype = text ? data_type_from_name(*text) : std::nullopt;
    } else if (is_step(attribute)) {
        after.shape = std::nullopt;
    }
    return after;
}

/// A statement whose attributes are split at `axis`.
class open_statement {
public:
    open_statement(program const& code, statement const& statement)
        : one_(statement), list_(code.attributes(statement)), axis_(list_.size()) {
        for (std::size_t i = 0; i < list_.size(); ++i)
            if (list_[i].word == "axis" && (statement.left > 1 || statement.right > 1))
                axis_ = i;
    }

    open_operands operands(vector<partial_shape> const& left, vector<partial_shape> right) {
        for (partial_shape& facts : right)
            facts = undo(std::move(facts), axis_, list_.size());
        if (!are_shaped(right))
            return {};
        open_operands result;
        if (one_.left > 1)
            result = take_apart(left, right[0]);
        else
            result.facts = {one_.right > 1 ? put_together(right) : right[0]};
        for (partial_shape& operand : result.facts)
            operand = undo(std::move(operand), 0, axis_);
        return result;
    }

private:
    static bool are_shaped(vector<partial_shape> const& shapes) {
        return std::ranges::all_of(
            shapes, [](partial_shape const& shape) { return shape.shape.has_value(); });
    }

    partial_shape undo(partial_shape facts, std::size_t first, std::size_t last) const {
        for (std::size_t i = last; i-- > first && facts.shape;)
            facts = undo_partial(list_, i, std::move(facts));
        return facts;
    }

    std::size_t axis_in(index_vector const& shape) const {
        auto const* const written =
            axis_ < list_.size() ? std::get_if<index_t>(&list_[axis_].value) : nullptr;
        index_t const axis = written ? *written : 0;
        auto const ndim = static_cast<index_t>(shape.size());
        index_t const index = axis < 0 ? axis + ndim : axis;
        if (index < 0 || index >= ndim)
            throw statement_error{errc::shape_mismatch,
                                  words("axis ", axis, " is out of range for a tensor of ",
                                        counted(shape.size(), "axis"), ", shape ", shape),
                                  {}};
        return static_cast<std::size_t>(index);
    }

    partial_shape put_together(vector<partial_shape> const& results) const {
        partial_shape shape = results[0];
        std::size_t const axis = axis_in(*shape.shape);
        for (std::size_t k = 1; k < results.size(); ++k) {
            (*shape.shape)[axis] = checked_add((*shape.shape)[axis], (*results[k].shape)[axis]);
            if (!shape.dtype)
                shape.dtype = results[k].dtype;
        }
        return shape;
    }

    /// The extent of an operand along the concat's axis. \pre the operand's shape is known
    index_t extent(partial_shape operand, std::size_t axis) const {
        for (std::size_t i = 0; i < axis_; ++i)
            if (is_step(list_[i]))
                operand = apply_partial(list_[i], operand);
        return operand.shape->size() > axis ? (*operand.shape)[axis] : 0;
    }

    open_operands take_apart(vector<partial_shape> const& left, partial_shape const& shape) const {
        std::size_t const axis = axis_in(*shape.shape);
        index_t remainder = (*shape.shape)[axis], open = 0;
        vector<std::optional<index_t>> extents;
        attribute const* const sizes = find_attribute(list_, "sizes");
        auto const said = sizes ? parse_list(*sizes) : vector<index_t>();
        for (std::size_t k = 0; k < left.size(); ++k) {
            partial_shape const& operand = left[k];
            extents.push_back(operand.shape     ? std::optional(extent(operand, axis))
                              : k < said.size() ? std::optional(said[k])
                                                : std::nullopt);
            remainder -= extents.back().value_or(0);
            open += !extents.back();
        }
        if (open > 0 && (remainder < 0 || remainder % open != 0))
            throw statement_error{errc::shape_mismatch,
                                  words("the sizes of the operands cannot be determined: ",
                                        counted(remainder, "element"), " along axis ", axis,
                                        remainder == 1 ? " is left for " : " are left for ",
                                        counted(open, "tensor"),
                                        "; give a target that has their sizes"),
                                  {}};
        open_operands result{{}, open > 1};
        for (auto const& extent : extents) {
            result.facts.push_back(shape);
            (*result.facts.back().shape)[axis] = extent ? *extent : remainder / open;
        }
        return result;
    }

    statement const& one_;
    vector<attribute> const& list_;
    std::size_t axis_; ///< index of the attribute; past the last if there is none
};

/// The results of a statement if the shapes of all operands are known; empty otherwise. `wanted` is
/// the target's shape of the tensor on the right, or null.
///
/// \post for a statement that cannot run, the result is empty; `lower` reports the reason
RESHARD_DECL vector<partial_shape> open_results(program const& code, statement const& statement,
                                                vector<partial_shape> const& operands,
                                                index_vector const* wanted) {
    vector<tensor_facts> facts;
    std::optional<data_type> dtype = operands[0].dtype;
    for (partial_shape const& operand : operands) {
        if (!operand.shape)
            return {};
        facts.push_back({*operand.shape, data_type::f32, data_type::f32});
    }
    for (attribute const& each : code.attributes(statement))
        if (each.word == "dtype" || each.word == "dst_dtype")
            if (auto const* const text = std::get_if<std::string>(&each.value))
                dtype = data_type_from_name(*text);
    vector<partial_shape> shapes;
    try {
        for (tensor_facts const& result : analyze(code, statement, std::move(facts), wanted).made)
            shapes.push_back({result.shape, dtype, operands[0].like});
    } catch (error const&) {
        return {};
    } catch (statement_error const&) {
        return {};
    }
    return shapes;
}

/// The operands of a statement whose results have these shapes and types. `left` has the facts that
/// are already known.
///
/// \throws statement_error with errc::shape_mismatch if the operands of a concat cannot have equal
///         sizes; error for invalid attributes
RESHARD_DECL open_operands infer_operands(program const& code, statement const& statement,
                                          vector<partial_shape> const& left,
                                          vector<partial_shape> const& right) {
    for (partial_shape const& facts : right)
        if (!facts.shape)
            return {};
    return open_statement(code, statement).operands(left, right);
}

} // namespace reshard::aoa::detail

#endif
