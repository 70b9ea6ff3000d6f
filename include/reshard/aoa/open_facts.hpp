// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_OPEN_FACTS_HPP
#define RESHARD_AOA_OPEN_FACTS_HPP

#include <reshard/aoa/program.hpp>
#include <reshard/core/config.hpp>
#include <reshard/expr/piece.hpp>

#include <optional>
#include <vector>

/// \file
/// One statement on tensors of which not everything is known: forwards, and from right to left.

namespace reshard::aoa::detail {

/// What is known of a value so far.
struct open_facts {
    std::optional<index_vector> shape;
    std::optional<data_type> dtype;
    key_id like = reshard::detail::
        zero_source; ///< a tensor of the target that it becomes part of: it tells which
                     ///< states there are
};

/// What a statement is found to have read.
struct open_operands {
    std::vector<open_facts> facts; ///< none where nothing can be told
    bool are_assumed = false;      ///< several were taken to be of equal size
};

/// What a statement makes of tensors of which all shapes are known; nothing else can be told.
/// `wanted` is the shape that the target has for the tensor on the right, or null.
///
/// \post a statement that cannot run makes nothing; `lower` says why
RESHARD_DECL std::vector<open_facts> open_results(program const& code, statement const& one,
                                                  std::vector<open_facts> const& operands,
                                                  index_vector const* wanted = nullptr);

/// What a statement must have read to make tensors of these shapes and types, where `left` is what
/// is known of that already.
///
/// \throws statement_error with errc::shape_mismatch where the operands of a concat cannot be of
///         equal size; error for attributes that do not fit
RESHARD_DECL open_operands infer_operands(program const& code, statement const& one,
                                          std::vector<open_facts> const& left,
                                          std::vector<open_facts> const& right);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/open_facts.ipp>
#endif

#endif
