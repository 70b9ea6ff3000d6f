// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_METHOD_SCALAPACK_HPP
#define RESHARD_BENCH_METHOD_SCALAPACK_HPP

#include "method.hpp"
#include "process_grid.hpp"

#include <algorithm>
#include <array>
#include <vector>

/// \file
/// B3: `pdgemr2d` of ScaLAPACK, from one block-cyclic distribution of a matrix to another.

namespace bench {

/// One side of the exchange. ScaLAPACK's matrices are column-major, so it sees ours transposed.
class distributed_matrix {
public:
    distributed_matrix(boost::mpi::communicator const& world, case_tensor const& tensor)
        : grid_(world, ranks_of(*tensor.grid, world.size()),
                static_cast<int>(tensor.grid->grid[1])),
          description_{
              1,
              grid_.context(),
              static_cast<int>(tensor.shape[1]),
              static_cast<int>(tensor.shape[0]),
              static_cast<int>(tensor.grid->block[1]),
              static_cast<int>(tensor.grid->block[0]),
              0,
              0,
              static_cast<int>(std::max<index_t>(1, tensor.of_rank(world.rank()).shape()[1]))} {}

    int* description() { return description_.data(); }

private:
    static std::vector<int> ranks_of(block_grid const& grid, int ranks) {
        std::vector<int> at(static_cast<std::size_t>(ranks));
        for (int rank = 0; rank < ranks; ++rank)
            at[static_cast<std::size_t>(grid.place_of(rank, ranks))] = rank;
        return at;
    }

    process_grid grid_;
    std::array<int, 9> description_;
};

class scalapack_method : public method {
public:
    static constexpr bool owns_target = false;
    static std::string refusal(redistribution_case const& moved) {
        if (!moved.is_one_tensor() || moved.sources[0].shape.size() != 2)
            return "pdgemr2d moves one matrix";
        if (moved.casts() || moved.permutes())
            return "pdgemr2d neither casts nor transposes";
        for (case_tensor const& tensor : {moved.sources[0], moved.targets[0]})
            if (tensor.grid->places() != moved.ranks)
                return "pdgemr2d has no replicas";
        return {};
    }

    explicit scalapack_method(setting const& where)
        : where_(where),
          source_(where.world, where.moved.sources[0]),
          target_(where.world, where.moved.targets[0]),
          all_(where.world, everybody(where.world.size()), 1) {}

    void run() override {
        auto* const source =
            const_cast<double*>(reinterpret_cast<double const*>(where_.source)); // only read
        index_vector const& shape = where_.moved.sources[0].shape;
        Cpdgemr2d(static_cast<int>(shape[1]), static_cast<int>(shape[0]), source, 1, 1,
                  source_.description(), reinterpret_cast<double*>(where_.target), 1, 1,
                  target_.description(), all_.context());
    }

    std::optional<traffic> sent() const override {
        return least_traffic(where_.moved, where_.world.rank());
    }

private:
    static std::vector<int> everybody(int ranks) {
        std::vector<int> values;
        for (int rank = 0; rank < ranks; ++rank)
            values.push_back(rank);
        return values;
    }

    setting where_;
    distributed_matrix source_;
    distributed_matrix target_;
    process_grid all_;
};

} // namespace bench

#endif
