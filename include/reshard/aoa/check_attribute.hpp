// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_CHECK_ATTRIBUTE_HPP
#define RESHARD_AOA_CHECK_ATTRIBUTE_HPP

#include <reshard/aoa/ast.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/data_type.hpp>
#include <reshard/expr/expression.hpp>

#include <cstddef>

/// \file
/// What can be wrong with an attribute whatever its statement is about: its word, and its value.

namespace reshard::aoa::detail {

/// The data type that an attribute names.
///
/// \pre    its value is a text
/// \throws statement_error with errc::dtype_mismatch where there is no such type
RESHARD_DECL data_type dtype_in(attribute const& one);

/// Refuses an attribute that no statement can have.
///
/// \throws statement_error with errc::syntax for an unknown attribute, or a value of another
///         kind than the word has
RESHARD_DECL void check_attribute(attribute const& one);

/// Refuses an attribute whose text says nothing: no data type, or no list.
///
/// \pre    `check_attribute` lets it pass
/// \throws statement_error with errc::dtype_mismatch or errc::syntax
RESHARD_DECL void check_text(attribute const& one);

/// The axis of a tensor that an attribute names; one less than 0 counts from the end.
///
/// \pre    its value is a number
/// \throws error with errc::shape_mismatch where there is no such axis
RESHARD_DECL std::size_t axis_in(attribute const& one, expression const& tensor);

/// Refuses a word of the macros in a statement that is run.
///
/// \throws statement_error with errc::bad_macro for a macro, errc::syntax for its attributes
[[noreturn]] RESHARD_DECL void refuse_macro_word(attribute const& one);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/check_attribute.ipp>
#endif

#endif
