// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_NODE_CASES_HPP
#define RESHARD_BENCH_NODE_CASES_HPP

#include "cases.hpp"

#include <string>
#include <vector>

/// \file
/// The cases of the benchmark between nodes.

namespace bench {

/// Makes cases for ranks on nodes of the same size. All layers together have about `bytes` bytes.
/// Matrices have four times that size, because each rank gets only a share of them.
class node_case_maker {
public:
    node_case_maker(int ranks, int per_node, index_t bytes)
        : ranks_(ranks), per_node_(per_node), rows_(bytes / (8 * columns)) {}

    std::vector<redistribution_case> all() const {
        return {to_servers(), to_whole(), to_others(), cyclic(64), cyclic(1)};
    }

private:
    static constexpr index_t columns = 1024, layers = 4;

    /// The trainers of the first node hold each layer in shards of rows. Each other node has
    /// servers that hold each layer in the same way.
    redistribution_case to_servers() const {
        return layered("servers", [&](index_vector const& shape, int rank, bool is_source) {
            return is_source == (rank < per_node_) ? shard_on_node(shape, rank) : no_part(2);
        });
    }

    /// Half of the nodes have trainers; each of these nodes holds a replica, in shards. Each server
    /// wants whole layers.
    redistribution_case to_whole() const {
        return layered("whole", [&](index_vector const& shape, int rank, bool is_source) {
            bool const is_trainer = rank / per_node_ < ranks_ / per_node_ / 2;
            if (is_source != is_trainer)
                return no_part(2);
            return is_source ? shard_on_node(shape, rank) : whole_part(shape);
        });
    }

    /// One rank has the elements that all others want.
    redistribution_case to_others() const {
        return layered("one-to-all", [&](index_vector const& shape, int rank, bool is_source) {
            return is_source == (rank == 0) ? whole_part(shape) : no_part(2);
        });
    }

    /// A block-cyclic matrix is redistributed by rows.
    redistribution_case cyclic(index_t block) const {
        index_vector const shape{4 * rows_, columns};
        auto const tensor_on = [&](block_grid const& grid) {
            case_tensor tensor{"array", data_type::f64, shape, {}, grid};
            for (int rank = 0; rank < ranks_; ++rank)
                tensor.by_rank.push_back(grid.of_rank(shape, rank, ranks_));
            return tensor;
        };
        redistribution_case result{"cyclic-" + std::to_string(block), ranks_, {}, {}, {}, {}};
        int const first = ranks_ % 2 == 0 ? 2 : 1;
        result.sources.push_back(tensor_on({{first, ranks_ / first}, {block, block}}));
        result.targets.push_back(tensor_on(blocks(shape, {ranks_, 1})));
        add_piece(result);
        return result;
    }

    rank_part shard_on_node(index_vector const& shape, int rank) const {
        return slab(shape, 0, per_node_, rank % per_node_);
    }

    /// A case with several tensors. `part_of(shape, rank, is_source)` gives the elements of each
    /// rank.
    redistribution_case layered(std::string name, auto const& part_of) const {
        redistribution_case result{std::move(name), ranks_, {}, {}, {}, {}};
        for (index_t layer = 0; layer < layers; ++layer) {
            index_vector const shape{rows_ / layers, columns};
            for (bool const is_source : {true, false}) {
                case_tensor tensor{"layer." + std::to_string(layer), data_type::f64, shape, {}, {}};
                for (int rank = 0; rank < ranks_; ++rank)
                    tensor.by_rank.push_back(part_of(shape, rank, is_source));
                (is_source ? result.sources : result.targets).push_back(std::move(tensor));
            }
            add_piece(result);
        }
        return result;
    }

    /// Adds a piece: the last target is the last source.
    static void add_piece(redistribution_case& result) {
        auto const origin = index_vector::filled(2, 0);
        result.pieces.push_back({result.sources.size() - 1, result.targets.size() - 1, origin,
                                 origin, result.sources.back().shape, permutation::identity(2)});
    }

    int ranks_;
    int per_node_;
    index_t rows_;
};

} // namespace bench

#endif
