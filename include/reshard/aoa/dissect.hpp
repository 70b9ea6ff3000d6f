// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_DISSECT_HPP
#define RESHARD_AOA_DISSECT_HPP

#include <reshard/aoa/dissection.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/core/config.hpp>
#include <reshard/expr/expression.hpp>

#include <cstddef>
#include <vector>

/// \file
/// Takes a statement apart.

namespace reshard::aoa::detail {

/// A tensor of these facts, to call the algebra on.
RESHARD_DECL expression probe(tensor_facts const& facts);

/// What one attribute makes of a tensor; `wanted` is as in `operation::expect`.
RESHARD_DECL tensor_facts apply(attribute const& one, tensor_facts const& before,
                                index_vector const* wanted = nullptr);

/// Whether an attribute changes single tensors, rather than to join them or to say how.
RESHARD_DECL bool is_step(attribute const& one);

/// The concat or the split itself.
RESHARD_DECL std::vector<tensor_facts> join(attribute const& axis, attribute const* sizes,
                                            std::vector<tensor_facts> const& values,
                                            std::size_t result_count);

/// Takes a statement apart for operands of these facts. `wanted` is the shape that the target has
/// for the tensor on the right, or null.
///
/// \pre    the statement has been run without error on such tensors, and is neither a removal nor
///         an addition
/// \throws as `operation::run`
RESHARD_DECL dissection dissect(program const& code, statement const& one,
                                std::vector<tensor_facts> operands,
                                index_vector const* wanted = nullptr);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/dissect.ipp>
#endif

#endif
