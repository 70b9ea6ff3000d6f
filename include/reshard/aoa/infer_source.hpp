// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_INFER_SOURCE_HPP
#define RESHARD_AOA_INFER_SOURCE_HPP

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/program.hpp>
#include <reshard/core/config.hpp>
#include <reshard/layout/catalog.hpp>

#include <optional>
#include <vector>

/// \file
/// The tensors that a program must have read, derived from its results: for reversing a program
/// without a given source.

namespace reshard::aoa {

/// A tensor of which something is known: all but, perhaps, its data type.
struct known_tensor {
    catalog_entry entry;
    bool is_typed = true;
    bool is_wanted = true; ///< or made again only if the target has elements of it
};

/// The tensors that a program reads, and what there is to say of them.
struct inference {
    catalog tensors;
    std::vector<finding> findings;
    std::optional<errc> first_error;
};

/// The catalog of known tensors, for `expand`.
RESHARD_DECL catalog catalog_of(std::vector<known_tensor> const& tensors);

/// The tensors that a program reads if it makes the tensors of `target`: the known ones, and those
/// that can be derived from their results.
///
/// Operands of a concat of which nothing is known are taken to be of equal size, with a warning
/// unless a fused macro says that they are. The type before a cast and the shape before a reshape
/// follow from `tensors` alone: an error says of which tensor they are lacking.
///
/// \pre        `expanded` is what `expand` gives with `expand_options::reverse`, over `target`
/// \par Source the reverse mode of AOA (PaddlePaddle flex_checkpoint), which takes every concat for
///             an even one
RESHARD_DECL inference infer_source(program const& expanded,
                                    std::vector<known_tensor> const& tensors,
                                    catalog const& target);

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/infer_source.ipp>
#endif

#endif
