// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_SUPPORT_DEALT_ARRAY_HPP
#define RESHARD_TEST_SUPPORT_DEALT_ARRAY_HPP

#include "oracle/random.hpp"

#include <reshard/expr/mapping.hpp>
#include <reshard/expr/slice.hpp>
#include <reshard/layout/layout_of.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Block-cyclic arrays by the formulas of ScaLAPACK, counted from 0, and the layouts of parts of
/// them.

namespace reshard::test {

using namespace reshard::detail;

using numbers = std::vector<std::int64_t>;

/// One axis of an array, and of a part of it.
struct dealt_axis {
    index_t extent;    ///< of the array
    index_t first;     ///< IA or JA: the first index of the part
    index_t processes; ///< along it
    index_t block;
    index_t source; ///< RSRC or CSRC: the process that has the first block of the array

    /// INDXG2P: the process that has an index of the array.
    index_t process_of(index_t index) const { return (source + index / block) % processes; }

    /// INDXG2L: where it is on that process.
    index_t local_index(index_t index) const {
        return block * (index / (block * processes)) + index % block;
    }

    /// NUMROC: how many indices a process has.
    index_t local_extent(index_t process) const {
        index_t const distance = (processes + process - source) % processes;
        index_t const blocks = extent / block;
        index_t const extra = blocks % processes;
        return blocks / processes * block + (distance < extra    ? block
                                             : distance == extra ? extent % block
                                                                 : 0);
    }
};

/// An array over a grid of processes, and their local arrays.
class dealt_array {
public:
    dealt_array(std::vector<dealt_axis> axes, bool column_major)
        : axes_(std::move(axes)), column_major_(column_major) {
        for (index_t process = 0; process < process_count(); ++process)
            local_.emplace_back(static_cast<std::size_t>(element_count(local_shape(process))), -1);
    }

    /// The same, as a part of itself.
    dealt_array whole() const {
        dealt_array all = *this;
        for (dealt_axis& axis : all.axes_)
            axis.first = 0;
        return all;
    }

    std::size_t ndim() const { return axes_.size(); }
    dealt_axis const& axis(std::size_t i) const { return axes_[i]; }
    std::vector<numbers>& local() { return local_; }

    index_t process_count() const { return element_count(grid()); }

    index_vector shape() const {
        index_vector extents;
        for (dealt_axis const& axis : axes_)
            extents.push_back(axis.extent);
        return extents;
    }

    /// The strides of a process's local array, in elements.
    index_vector strides(index_t process) const {
        index_vector const extents = local_shape(process);
        if (!column_major_)
            return row_major_strides(extents);
        index_vector steps = index_vector::filled(ndim(), 1);
        for (std::size_t i = 1; i < ndim(); ++i)
            steps[i] = steps[i - 1] * extents[i - 1];
        return steps;
    }

    /// The index in the array of an element of the part.
    index_vector index_of(index_vector index) const {
        for (std::size_t i = 0; i < ndim(); ++i)
            index[i] += axes_[i].first;
        return index;
    }

    /// Where a process has an element of the array.
    index_t local_place(index_t process, index_vector const& index) const {
        index_t sum = 0;
        for (std::size_t i = 0; i < ndim(); ++i)
            sum += axes_[i].local_index(index[i]) * strides(process)[i];
        return sum;
    }

    /// The element of the array at an index.
    std::int64_t& at(index_vector const& index) {
        index_vector process;
        for (std::size_t i = 0; i < ndim(); ++i)
            process.push_back(axes_[i].process_of(index[i]));
        index_t const rank = ravel_index(process, grid());
        return local_[static_cast<std::size_t>(rank)]
                     [static_cast<std::size_t>(local_place(rank, index))];
    }

    /// Gives all elements of the array their numbers.
    void fill() {
        for (index_t i = 0; i < element_count(shape()); ++i)
            at(unravel_index(i, shape())) = i;
    }

    index_vector grid() const {
        index_vector extents;
        for (dealt_axis const& axis : axes_)
            extents.push_back(axis.processes);
        return extents;
    }

private:
    index_vector local_shape(index_t process) const {
        index_vector const at = unravel_index(process, grid());
        index_vector extents;
        for (std::size_t i = 0; i < ndim(); ++i)
            extents.push_back(axes_[i].local_extent(at[i]));
        return extents;
    }

    std::vector<dealt_axis> axes_;
    bool column_major_;
    std::vector<numbers> local_;
};

/// What the placements of an axis of a part are: its first block, if the part begins within it, and
/// the blocks after it.
struct axis_part {
    index_t offset;
    index_t extent;
    placement spread;
};

inline std::vector<axis_part> parts_along(dealt_axis const& dealt, std::size_t axis,
                                          index_t extent) {
    index_t const owner = dealt.process_of(dealt.first);
    index_t const skipped = dealt.first % dealt.block;
    if (skipped == 0)
        return {{0, extent, block_cyclic{axis, dealt.block, owner}}};
    index_t const head = std::min(extent, dealt.block - skipped);
    std::vector<axis_part> parts{{0, head, only{owner}}};
    if (head < extent)
        parts.push_back(
            {head, extent - head, block_cyclic{axis, dealt.block, (owner + 1) % dealt.processes}});
    return parts;
}

/// The layout of a part of an array: one part of a tensor for each combination of first and other
/// blocks.
inline layout layout_of_part(dealt_array const& array, index_vector const& shape, std::string key) {
    std::vector<mesh_axis> axes;
    std::vector<std::vector<axis_part>> along;
    index_vector counts;
    for (std::size_t i = 0; i < array.ndim(); ++i) {
        axes.emplace_back(std::string(1, static_cast<char>('a' + i)), array.axis(i).processes);
        along.push_back(parts_along(array.axis(i), i, shape[i]));
        counts.push_back(static_cast<index_t>(along.back().size()));
    }
    tensor_sharding sharding{std::move(key), data_type::i64, shape, {}};
    for (index_t number = 0; number < element_count(counts); ++number) {
        index_vector const at = unravel_index(number, counts);
        index_vector offset, extent;
        std::vector<placement> placements;
        for (std::size_t i = 0; i < array.ndim(); ++i) {
            axis_part const& part = along[i][static_cast<std::size_t>(at[i])];
            offset.push_back(part.offset);
            extent.push_back(part.extent);
            placements.push_back(part.spread);
        }
        sharding.parts.push_back({offset, distribution(mesh(axes), placements, extent), {}});
    }
    return reshard::layout_of({std::move(sharding)});
}

/// The axes of an array that has `shape` elements from its first index on, over a grid of at most
/// `most` processes.
inline std::vector<dealt_axis> drawn_axes(oracle::random_numbers& random, index_vector const& shape,
                                          index_t most) {
    std::vector<dealt_axis> axes;
    for (index_t const extent : shape) {
        dealt_axis axis{extent, 0, random.between(1, std::min<index_t>(most, 5)), 1, 0};
        most /= axis.processes;
        if (random.chance(40))
            axis.first = random.between(0, 5);
        axis.extent += axis.first + (random.chance(40) ? random.between(0, 4) : 0);
        axis.block = random.between(1, random.chance(80) ? 4 : 9);
        axis.source = random.below(axis.processes);
        axes.push_back(axis);
    }
    return axes;
}

/// The tensors of a process, in its local array; `spread` is the layout of the part.
template <class View>
basic_state_dict<View> tensors_of(dealt_array& array, layout const& spread, index_t process) {
    basic_state_dict<View> tensors;
    for (shard_descriptor const& shard : shards_of(spread, process)) {
        if (element_count(local_shape(shard)) == 0)
            continue;
        index_vector const first = array.index_of(shard.region.offset);
        tensors.add(shard, View{array.local()[static_cast<std::size_t>(process)].data() +
                                    array.local_place(process, first),
                                data_type::i64, local_shape(shard), array.strides(process)});
    }
    tensors.check();
    return tensors;
}

/// The program that takes `shape` elements from the whole array "A", or all of the part "A".
inline mapping program_of(dealt_array const& source, index_vector const& shape, bool slices) {
    mapping program;
    expression const value = program.source("A", slices ? source.shape() : shape, data_type::i64);
    std::vector<axis_range> ranges;
    for (std::size_t i = 0; i < source.ndim(); ++i)
        ranges.push_back({source.axis(i).first, source.axis(i).first + shape[i]});
    program.define("B", slices ? slice(value, ranges) : value);
    return program;
}

} // namespace reshard::test

#endif
