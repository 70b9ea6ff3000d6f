// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_OVERLAP_HPP
#define RESHARD_BENCH_OVERLAP_HPP

#include "redistribution_case.hpp"

#include <algorithm>
#include <vector>

/// \file
/// The elements that one rank has and another wants, as hand-written code sees them: run by run
/// along each axis.

namespace bench {

/// Indices that are consecutive on both sides, with their positions in the two local arrays.
struct shared_run {
    index_t source = 0;
    index_t target = 0;
    index_t length = 0;
};

/// A piece along one axis of the source.
struct piece_axis {
    index_t source_offset = 0;
    index_t target_offset = 0;
    index_t length = 0;
};

/// The runs that two lists of intervals share within a piece, in ascending order.
inline std::vector<shared_run> shared_runs(std::vector<interval> const& source,
                                           std::vector<interval> const& target,
                                           piece_axis const& piece) {
    std::vector<shared_run> runs;
    index_t source_place = 0, target_place = 0;
    for (std::size_t i = 0, j = 0; i < source.size() && j < target.size();) {
        interval const had{source[i].begin - piece.source_offset,
                           source[i].end - piece.source_offset};
        interval const wanted{target[j].begin - piece.target_offset,
                              target[j].end - piece.target_offset};
        index_t const begin = std::max({had.begin, wanted.begin, index_t{0}});
        index_t const end = std::min({had.end, wanted.end, piece.length});
        if (begin < end)
            runs.push_back({source_place + begin - had.begin, target_place + begin - wanted.begin,
                            end - begin});
        if (had.end <= wanted.end)
            source_place += source[i++].size();
        else
            target_place += target[j++].size();
    }
    return runs;
}

/// The elements of a piece that one rank has in its source and another in its target.
struct overlap {
    std::vector<std::vector<shared_run>> axes; ///< by source axis
    index_vector source_strides;               ///< strides of the local array, by source axis
    index_vector target_strides;

    overlap(case_piece const& piece, rank_part const& source, rank_part const& target) {
        source_strides = reshard::row_major_strides(source.shape());
        target_strides = piece.order.undo(reshard::row_major_strides(target.shape()));
        axes.resize(source.axes.size());
        for (std::size_t j = 0; j < axes.size(); ++j) {
            std::size_t const axis = piece.order[j];
            axes[axis] =
                shared_runs(source.axes[axis], target.axes[j],
                            {piece.source_offset[axis], piece.target_offset[j], piece.shape[axis]});
        }
    }

    index_t extent(std::size_t axis) const {
        index_t sum = 0;
        for (shared_run const& run : axes[axis])
            sum += run.length;
        return sum;
    }

    index_vector shape() const {
        index_vector extents;
        for (std::size_t axis = 0; axis < axes.size(); ++axis)
            extents.push_back(extent(axis));
        return extents;
    }

    index_t elements() const { return reshard::element_count(shape()); }

    bool is_box() const {
        return std::all_of(axes.begin(), axes.end(),
                           [](auto const& runs) { return runs.size() == 1; });
    }

    /// True if the elements are contiguous and in order on that side.
    bool is_dense(index_vector const& strides) const {
        return is_box() && reshard::detail::is_row_major(shape(), strides);
    }

    /// The position of the first element in its local array.
    ///
    /// \pre the overlap has elements
    index_t first_place(index_t shared_run::*side, index_vector const& strides) const {
        index_t index = 0;
        for (std::size_t axis = 0; axis < axes.size(); ++axis)
            index += axes[axis].front().*side * strides[axis];
        return index;
    }
};

/// Elements that are evenly spaced on both sides.
struct shared_line {
    index_t source = 0; ///< the first element's position
    index_t target = 0;
    index_t source_step = 0;
    index_t target_step = 0;
    index_t length = 0;
};

/// Calls `visit(shared_line)` for all lines. Source axis `order[0]` is the outermost loop.
template <class Visit>
void for_each_line(overlap const& shared, permutation order, Visit const& visit,
                   shared_line const& outer = {}, std::size_t depth = 0) {
    std::size_t const axis = order[depth];
    shared_line line = outer;
    line.source_step = shared.source_strides[axis];
    line.target_step = shared.target_strides[axis];
    for (shared_run const& run : shared.axes[axis]) {
        line.source = outer.source + run.source * line.source_step;
        line.target = outer.target + run.target * line.target_step;
        line.length = run.length;
        if (depth + 1 == shared.axes.size()) {
            visit(line);
            continue;
        }
        for (index_t i = 0; i < run.length; ++i) {
            for_each_line(shared, order, visit, line, depth + 1);
            line.source += line.source_step;
            line.target += line.target_step;
        }
    }
}

/// The elements of one piece that one rank sends to another.
struct given_piece {
    case_piece const* piece;
    overlap shared;
};

/// The elements that rank `sender` sends to rank `receiver`, by piece. Pieces without elements are
/// omitted.
inline std::vector<given_piece> given(redistribution_case const& moved, int sender, int receiver) {
    std::vector<given_piece> pieces;
    for (case_piece const& piece : moved.pieces) {
        case_tensor const& source = moved.sources[piece.source];
        overlap const shared(piece, source.of_rank(sender),
                             moved.targets[piece.target].of_rank(receiver));
        if (shared.elements() > 0 && serves(source, sender, receiver))
            pieces.push_back({&piece, shared});
    }
    return pieces;
}

} // namespace bench

#endif
