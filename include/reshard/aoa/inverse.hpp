// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_INVERSE_HPP
#define RESHARD_AOA_INVERSE_HPP

#include <reshard/aoa/dissection.hpp>
#include <reshard/core/config.hpp>

#include <string>
#include <vector>

/// \file
/// What undoes a statement, before anything is said of names: attributes, or a reason.

namespace reshard::aoa::detail {

using attribute_list = std::vector<attribute>;

/// `[1, 0]`, of any number of numbers.
template <class Numbers>
std::string list_text(Numbers const& numbers) {
    std::string text = "[";
    for (index_t const number : numbers)
        text += (text.size() > 1 ? ", " : "") + std::to_string(number);
    return text + ']';
}

/// The attributes that undo a step: at most one, or a pair of types.
///
/// \throws     statement_error with errc::not_invertible where the step loses something: a cast
///             that rounds what it is given, a slice, a resize that crops
/// \par Source 4.9 of the description of AOA (PaddlePaddle flex_checkpoint); there `dtype` alone
///             has no reverse, whatever it does
RESHARD_DECL attribute_list inverse_of(attribute_step const& step, bool allow_rounding);

/// The attributes that undo steps one after the other.
RESHARD_DECL attribute_list inverse_of(std::vector<attribute_step> const& steps,
                                       bool allow_rounding);

/// A statement from right to left: a concat for a split, a split for a concat.
struct inverse_statement {
    std::vector<attribute_list> operands; ///< what is done to each tensor on the right first
    attribute_list join;                  ///< `axis`, and `sizes` where the parts are uneven
    std::vector<attribute> cuts;          ///< a slice each, which gives one part without the others
    std::vector<attribute_list> results;  ///< what is done to each tensor on the left at last
    attribute_list declared;              ///< what says something of the whole program

    /// Whether one list does for all: then it can stand in the statement itself.
    static bool are_equal(std::vector<attribute_list> const& lists);
};

/// For each operand of a concat the slice that takes it out of the whole again.
RESHARD_DECL std::vector<attribute> cuts_of(dissection const& of);

/// What undoes a statement that has been taken apart.
///
/// \par Shape  the parts of a concat have the extents of its operands, even or not
/// \throws     statement_error with errc::not_invertible, as `inverse_of`
/// \par Source 4.9 of the description of AOA (PaddlePaddle flex_checkpoint); there a concat is
///             reversed to an even split, whatever its operands were
RESHARD_DECL inverse_statement invert(dissection const& of, bool allow_rounding);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/inverse.ipp>
#endif

#endif
