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
/// Pieces are written by hand, or by a few lines for the case: the expected values come from them,
/// and the library sees only the program.
struct case_piece {
    std::size_t source = 0;
    std::size_t target = 0;
    index_vector source_offset;
    index_vector target_offset; ///< in the axes of the target
    index_vector shape;         ///< in the axes of the source
    permutation order;          ///< target axis `j` is source axis `order[j]`
};

/// One case at one number of ranks.
struct redistribution_case {
    std::string name;
    int ranks = 0;
    std::vector<case_tensor> sources;
    std::vector<case_tensor> targets;
    std::vector<case_piece> pieces; ///< they tile the targets
    std::string program; ///< the same in AOA; empty: each target is the source of its name

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

    /// The only tensor of either side, and all of it.
    bool is_one_tensor() const { return pieces.size() == 1; }
};

/// True if the baselines let rank `sender` serve rank `receiver`: of replicas, itself; else by
/// rotation.
inline bool serves(case_tensor const& source, int sender, int receiver) {
    std::vector<int> replicas;
    for (int rank = 0; rank < static_cast<int>(source.by_rank.size()); ++rank)
        if (source.of_rank(rank) == source.of_rank(sender))
            replicas.push_back(rank);
    if (std::count(replicas.begin(), replicas.end(), receiver))
        return sender == receiver;
    return sender == replicas[static_cast<std::size_t>(receiver) % replicas.size()];
}

/// Where a rank's tensors of one side lie in one piece of memory, each on a line of the cache.
///
/// \par Units bytes
struct memory_map {
    std::vector<index_t> begins; ///< by tensor
    index_t bytes = 0;           ///< of all

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
