// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_INVERSE_HPP
#define RESHARD_AOA_INVERSE_HPP

#include <reshard/aoa/ast.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/expression.hpp>

#include <cstddef>
#include <string>

/// \file
/// The inverse of a statement without its names: attributes, or the reason why none exists.

namespace reshard::aoa::detail {

/// The facts about a value, without its elements.
struct tensor_facts {
    index_vector shape;
    data_type dtype{};
    data_type held{}; ///< a type that represents every element: after widening, the narrow one

    bool operator==(tensor_facts const&) const = default;
};

/// The effect of one attribute on one tensor.
struct attribute_step {
    attribute const* applied;
    tensor_facts before;
    tensor_facts after;
};

/// A statement as its steps: the steps of each operand, the concat or split, and the steps of each
/// result.
struct statement_analysis {
    vector<vector<attribute_step>> operands; ///< steps for each tensor on the left
    vector<vector<attribute_step>> results;  ///< steps for each tensor on the right, after the axis
    attribute const* axis = nullptr;         ///< axis of a concat or a split
    vector<tensor_facts> joined;             ///< operands of the concat or split
    vector<tensor_facts> made;               ///< tensors on the right
    vector<attribute const*> declared;       ///< `scales` and `blocks`, which have no effect here
};

/// The result of one attribute; `wanted` is the argument of `operation::expect`.
RESHARD_DECL tensor_facts apply(attribute const& attribute, tensor_facts const& before,
                                index_vector const* wanted = nullptr);

/// Whether an attribute changes each tensor by itself; false for joins and declarations.
RESHARD_DECL bool is_step(attribute const& attribute);

/// The results of a concat or split.
RESHARD_DECL vector<tensor_facts> join(attribute const& axis, attribute const* sizes,
                                       vector<tensor_facts> const& values,
                                       std::size_t result_count);

/// Splits a statement into steps, for operands with these facts. `wanted` is the target's shape of
/// the tensor on the right, or null.
///
/// \pre    the statement has run without error on such tensors, and is neither a removal nor an
///         addition
/// \throws as `operation::run`
RESHARD_DECL statement_analysis analyze(program const& code, statement const& statement,
                                        vector<tensor_facts> operands,
                                        index_vector const* wanted = nullptr);

using attribute_list = vector<attribute>;

/// `unsqueeze` for `squeeze`, and `squeeze` for `unsqueeze`, with the same axis.
RESHARD_DECL attribute undo_squeeze(attribute const& applied);

/// The text of a list of numbers, for example `[1, 0]`.
std::string list_text(auto const& numbers) {
    std::string text = "[";
    for (index_t const number : numbers)
        text += (text.size() > 1 ? ", " : "") + std::to_string(number);
    return text + ']';
}

/// The attributes that undo a step: at most one, or a pair of types.
///
/// \throws     statement_error with errc::not_invertible if the step loses elements or digits: a
///             cast that rounds its operand, a slice, a resize that crops
/// \par Source section 4.9 of the description of AOA (PaddlePaddle flex_checkpoint); there `dtype`
///             alone has no reverse at all
RESHARD_DECL attribute_list inverse_of(attribute_step const& step, bool allow_rounding);

/// The attributes that undo steps one after the other.
RESHARD_DECL attribute_list inverse_of(vector<attribute_step> const& steps, bool allow_rounding);

/// A statement from right to left: a concat becomes a split, and a split becomes a concat.
struct inverse_statement {
    vector<attribute_list> operands; ///< applied first, to each tensor on the right
    attribute_list join;             ///< `axis`, and `sizes` if the parts are uneven
    vector<attribute> cuts;          ///< for each part, the slice that makes it alone
    vector<attribute_list> results;  ///< applied last, to each tensor on the left
    attribute_list declared;         ///< declarations about the whole program

    /// Whether all lists are equal, so that one list can apply to the full statement.
    static bool are_equal(vector<attribute_list> const& lists);
};

/// The inverse of a statement that has been taken apart.
///
/// \par Shape  the parts of a concat have the extents of its operands, even or not
/// \throws     statement_error with errc::not_invertible, as `inverse_of`
/// \par Source section 4.9 of the description of AOA (PaddlePaddle flex_checkpoint); there a concat
///             is reversed to an even split, for any operands
RESHARD_DECL inverse_statement invert(statement_analysis const& of, bool allow_rounding);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/inverse.ipp>
#endif

#endif
