// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_EXPLAIN_HPP
#define RESHARD_EXPR_EXPLAIN_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/shard_table.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// Lists the sources of a target tensor's elements, and the targets of a source tensor's elements,
/// as pieces in order of their offsets.

namespace reshard {

namespace detail {

/// A piece and the shard of its source tensor that holds it.
struct located_piece {
    piece part;
    std::size_t shard = 0; ///< index in the source tensor's shard table

    bool operator==(located_piece const&) const = default;
};

/// \throws error with errc::shape_mismatch when `region` is not a box of the tensor
RESHARD_DECL void check_region(std::string const& key, index_vector const& shape,
                               box const& region);

} // namespace detail

/// The pieces that make up `region` of the target tensor `key` (by default all of it), ordered by
/// target offset.
///
/// \par Units elements, in global coordinates of the two tensors
/// \post      the target boxes share no elements and cover `region`
/// \throws    error with errc::unknown_key when the mapping has no such target, or with
///            errc::shape_mismatch when `region` is not a box of the tensor
RESHARD_DECL vector<piece> explain(mapping const& program, std::string_view key,
                                   std::optional<box> const& region = {});

namespace detail {

/// A piece, and the target tensor that it belongs to.
struct destination {
    std::string key;
    piece part;

    bool operator==(destination const&) const = default;
};

/// The pieces that `region` of the source tensor `key` (by default all of it) becomes, ordered by
/// source offset, then by target key. Elements that no target uses are in no piece.
///
/// \par Units elements, in global coordinates of the two tensors
/// \throws    error with errc::unknown_key when the mapping has no such source, or with
///            errc::shape_mismatch when `region` is not a box of the tensor
RESHARD_DECL vector<destination> explain_source(mapping const& program, std::string_view key,
                                                std::optional<box> const& region = {});

/// A piece, cut at the borders of its source tensor's shards, in the order of target offsets.
///
/// If several shards are equal, only the main copy counts. Elements that no shard holds are in no
/// piece.
///
/// \pre `source` is the shard table of tensor `p.source`
RESHARD_DECL vector<located_piece> locate(piece const& p, shard_table const& source);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/expr/impl/explain.ipp>
#endif

#endif
