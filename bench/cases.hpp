// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_CASES_HPP
#define RESHARD_BENCH_CASES_HPP

#include <reshard/core/permutation.hpp>
#include <reshard/core/strides.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

/// \file
/// The cases of the redistribution benchmark: which part of an array each rank holds, before and after.

namespace bench {

using reshard::index_t;
using reshard::index_vector;

/// Global indices along one axis, half open.
struct interval {
    index_t begin = 0;
    index_t end = 0;

    index_t size() const { return end - begin; }
};

/// What one rank holds: all combinations of the intervals along each axis, as one dense row-major array.
struct rank_part {
    std::vector<std::vector<interval>> axes;

    index_vector shape() const {
        index_vector extents;
        for (auto const& intervals : axes) {
            index_t extent = 0;
            for (interval const& one : intervals)
                extent += one.size();
            extents.push_back(extent);
        }
        return extents;
    }

    index_t elements() const { return reshard::element_count(shape()); }
};

/// One case at one number of ranks.
struct redistribution_case {
    std::string name;
    index_vector shape;         ///< of the source
    reshard::permutation order; ///< target axis `j` is source axis `order[j]`
    std::vector<rank_part> source;
    std::vector<rank_part> target;
    int source_groups = 1; ///< groups of ranks that each hold the whole source

    index_vector target_shape() const { return order.apply(shape); }

    /// True where the baselines let rank `giver` serve rank `taker`: of replicas, its own group's.
    bool serves(int giver, int taker) const {
        int const group_size = static_cast<int>(source.size()) / source_groups;
        return source_groups == 1 || giver / group_size == taker / group_size;
    }
};

/// Part `i` of `parts` equal ones, as equal as can be.
inline std::vector<interval> equal_part(index_t extent, index_t parts, index_t i) {
    return {{extent * i / parts, extent * (i + 1) / parts}};
}

/// Every `parts`-th block of `block` indices, from block `i` on.
inline std::vector<interval> cyclic_part(index_t extent, index_t block, index_t parts, index_t i) {
    std::vector<interval> all;
    for (index_t begin = i * block; begin < extent; begin += parts * block)
        all.push_back({begin, std::min(begin + block, extent)});
    return all;
}

/// Makes the cases for a number of ranks.
class case_maker {
public:
    /// Divides the first extent of every case by `scale`.
    case_maker(int ranks, index_t scale) : ranks_(ranks), scale_(scale) {}

    redistribution_case rows_to_columns(std::string name, index_t rows, index_t columns) const {
        auto made = empty(std::move(name), {rows, columns});
        for (index_t r = 0; r < ranks_; ++r) {
            made.source.push_back(grid_part(made.shape, {ranks_, 1}, {r, 0}));
            made.target.push_back(grid_part(made.shape, {1, ranks_}, {0, r}));
        }
        return made;
    }

    redistribution_case transposed(std::string name, index_t rows, index_t columns) const {
        auto made = empty(std::move(name), {rows, columns});
        made.order = reshard::permutation::reversed(2);
        for (index_t r = 0; r < ranks_; ++r) {
            made.source.push_back(grid_part(made.shape, {ranks_, 1}, {r, 0}));
            made.target.push_back(grid_part(made.target_shape(), {ranks_, 1}, {r, 0}));
        }
        return made;
    }

    /// Between two block-cyclic distributions, ranks in row-major order of their grids.
    ///
    /// \pre the number of ranks is even
    redistribution_case block_cyclic() const {
        auto made = empty("BC", {16384, 8192});
        index_t const half = ranks_ / 2;
        auto const part = [&](index_t block, index_t rows, index_t columns, index_t r) {
            return rank_part{{cyclic_part(made.shape[0], block, rows, r / columns),
                              cyclic_part(made.shape[1], block, columns, r % columns)}};
        };
        for (index_t r = 0; r < ranks_; ++r) {
            made.source.push_back(part(36, 2, half, r));
            made.target.push_back(part(128, half, 2, r));
        }
        return made;
    }

    /// From a shard a rank to a copy in each of two groups, or back.
    ///
    /// \pre the number of ranks is even
    redistribution_case replicated(std::string name, bool back) const {
        auto made = empty(std::move(name), {8192, 16384});
        index_t const half = ranks_ / 2;
        for (index_t r = 0; r < ranks_; ++r) {
            made.source.push_back(grid_part(made.shape, {ranks_, 1}, {r, 0}));
            made.target.push_back(grid_part(made.shape, {half, 1}, {r % half, 0}));
        }
        if (back) {
            std::swap(made.source, made.target);
            made.source_groups = 2;
        }
        return made;
    }

    /// From pencils along the first axis to pencils along the last one.
    redistribution_case pencils() const {
        auto made = empty("3D", {512, 512, 1024});
        index_t const first = ranks_ % 2 == 0 ? 2 : ranks_;
        index_t const second = ranks_ / first;
        for (index_t r = 0; r < ranks_; ++r) {
            index_t const i = r / second, j = r % second;
            made.source.push_back(grid_part(made.shape, {1, first, second}, {0, i, j}));
            made.target.push_back(grid_part(made.shape, {first, second, 1}, {i, j, 0}));
        }
        return made;
    }

private:
    redistribution_case empty(std::string name, index_vector shape) const {
        shape[0] = std::max<index_t>(1, shape[0] / scale_);
        return {std::move(name), shape, reshard::permutation::identity(shape.size()), {}, {}};
    }

    static rank_part grid_part(index_vector const& shape, index_vector const& grid,
                               index_vector const& at) {
        rank_part part;
        for (std::size_t axis = 0; axis < shape.size(); ++axis)
            part.axes.push_back(equal_part(shape[axis], grid[axis], at[axis]));
        return part;
    }

    index_t ranks_;
    index_t scale_;
};

inline constexpr char const* case_names[] = {"R2C-wide", "R2C-narrow", "BC",        "T",
                                             "T-wide",   "REPL",       "REPL-back", "3D"};

/// True where the case exists for that number of ranks.
inline bool is_possible(std::string const& name, int ranks) {
    return ranks % 2 == 0 || (name != "BC" && !name.starts_with("REPL"));
}

/// The case of that name.
///
/// \pre it is one of `case_names`, and possible
inline redistribution_case make_case(std::string const& name, int ranks, index_t scale) {
    case_maker const make(ranks, scale);
    if (name == "R2C-wide")
        return make.rows_to_columns(name, 8192, 16384);
    if (name == "R2C-narrow")
        return make.rows_to_columns(name, 524288, 256);
    if (name == "T")
        return make.transposed(name, 8192, 8192);
    if (name == "T-wide")
        return make.transposed(name, 8192, 16384);
    if (name == "BC")
        return make.block_cyclic();
    if (name == "3D")
        return make.pencils();
    return make.replicated(name, name == "REPL-back");
}

} // namespace bench

#endif
