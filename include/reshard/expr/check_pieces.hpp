// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_CHECK_PIECES_HPP
#define RESHARD_EXPR_CHECK_PIECES_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/expr/mapping.hpp>

#include <optional>
#include <string>

/// \file
/// Do the pieces of a target tensor fit their sources, and make up each of its elements once?

namespace reshard::detail {

/// A fault of an output.
struct piece_fault {
    errc code;
    std::string message;
};

/// Whether a box lies in a tensor of that shape, whatever its numbers are.
RESHARD_DECL bool lies_in(box const& region, index_vector const& shape);

/// What is wrong with one piece and its source, or nothing; the words go on after the target's key.
RESHARD_DECL std::optional<piece_fault> find_source_fault(piece const& p,
                                                          source_list const& sources);

/// Elements that no piece makes up, or several do.
RESHARD_DECL std::optional<piece_fault> find_cover_fault(expression const& value);

/// The first fault of an output, or nothing; one is enough to say that it is wrong.
RESHARD_DECL std::optional<piece_fault> find_piece_fault(mapping_output const& output,
                                                         source_list const& sources);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/expr/impl/check_pieces.ipp>
#endif

#endif
