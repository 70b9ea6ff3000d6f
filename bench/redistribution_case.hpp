// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_REDISTRIBUTION_CASE_HPP
#define RESHARD_BENCH_REDISTRIBUTION_CASE_HPP

#include "rank_part.hpp"

#include <reshard/core/data_type.hpp>
#include <reshard/core/permutation.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

/// \file
/// A case of the redistribution benchmark: tensors before and after, and the mapping between them.

namespace bench {

using reshard::data_type;
using reshard::permutation;

/// The bytes of one element.
inline index_t element_bytes(data_type dtype) { return reshard::bits(dtype) / 8; }

/// One tensor of one side.
struct case_tensor {
    std::string key;
    data_type dtype = data_type::f64;
    index_vector shape;
    std::vector<rank_part> by_rank; ///< the shards of each rank
    std::optional<block_grid> grid; ///< if ranks hold the blocks of a block-cyclic distribution

    rank_part const& of_rank(int rank) const { return by_rank[static_cast<std::size_t>(rank)]; }
};

/// A box of a source tensor that becomes a box of a target tensor.
///
/// Pieces are written by hand, or by a few lines of code for the case. The expected values come
/// from them. The library sees only the program.
struct case_piece {
    std::size_t source = 0;
    std::size_t target = 0;
    index_vector source_offset;
    index_vector target_offset; ///< by target axis
    index_vector shape;         ///< by source axis
    permutation order;          ///< target axis `j` is source axis `order[j]`
};

/// A case for a given number of ranks.
struct redistribution_case {
    std::string name;
    int ranks = 0;
    std::vector<case_tensor> sources;
    std::vector<case_tensor> targets;
    std::vector<case_piece> pieces; ///< they tile the targets
    std::string program; ///< the same in AOA; empty: each target is the source with the same name

    bool casts() const {
        return std::any_of(pieces.begin(), pieces.end(), [&](case_piece const& piece) {
            return sources[piece.source].dtype != targets[piece.target].dtype;
        });
    }

    bool permutes() const {
        return std::any_of(pieces.begin(), pieces.end(), [](case_piece const& piece) {
            return piece.order != permutation::identity(piece.shape.size());
        });
    }

    /// True if each side has only one tensor, and all of it moves.
    bool is_one_tensor() const { return pieces.size() == 1; }
};

/// True if rank `sender` serves rank `receiver` in the baselines: a rank with a replica serves
/// itself; other ranks choose a replica by rotation.
inline bool serves(case_tensor const& source, int sender, int receiver) {
    std::vector<int> replicas;
    for (int rank = 0; rank < static_cast<int>(source.by_rank.size()); ++rank)
        if (source.of_rank(rank) == source.of_rank(sender))
            replicas.push_back(rank);
    if (std::count(replicas.begin(), replicas.end(), receiver))
        return sender == receiver;
    return sender == replicas[static_cast<std::size_t>(receiver) % replicas.size()];
}

/// The offsets of a rank's tensors of one side in one piece of memory. Each begins at a cache line.
///
/// \par Units bytes
struct memory_map {
    std::vector<index_t> begins; ///< by tensor
    index_t bytes = 0;           ///< of all tensors

    memory_map(std::vector<case_tensor> const& tensors, int rank) {
        constexpr index_t line = 64;
        for (case_tensor const& tensor : tensors) {
            begins.push_back(bytes);
            bytes += tensor.of_rank(rank).elements() * element_bytes(tensor.dtype);
            bytes = (bytes + line - 1) / line * line;
        }
    }
};

} // namespace bench

#endif
