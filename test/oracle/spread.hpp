// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_ORACLE_SPREAD_HPP
#define RESHARD_TEST_ORACLE_SPREAD_HPP

#include "array.hpp"
#include "random.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Random layouts: whole, replicated, cut evenly and unevenly, flat, with empty shards.

namespace reshard::oracle {

/// A box of a tensor that a rank holds, or a flat range of that box.
struct shard {
    std::int64_t rank = 0;
    numbers offset;
    numbers shape;
    std::optional<std::pair<std::int64_t, std::int64_t>> flat; ///< first, and after the last
    int order = 0; ///< how it lies in memory: see `memory_order`
};

/// A tensor and its shards with holders.
struct tensor {
    std::string key;
    numbers shape;
    std::string dtype;
    std::vector<shard> shards;
    bool is_uneven = false; ///< some axis is cut into parts of different sizes
};

/// The constraints on a random layout.
struct wish {
    bool uneven = false;
    std::size_t axis = 0;   ///< to be cut into
    std::int64_t parts = 0; ///< the number of parts; 0: any
    bool may_overlap = false;
};

/// Spreads tensors over ranks.
class spreader {
public:
    spreader(random_numbers& random, std::int64_t ranks) : random_(random), ranks_(ranks) {}

    void spread(tensor& tensor, wish const& wanted) {
        tensor.shards.clear();
        tensor.is_uneven = false;
        auto const kind = random_.below(100);
        if (wanted.parts > 0 || wanted.uneven || kind < 40)
            grid(tensor, wanted);
        else if (kind < 50)
            add(tensor, a_rank(), numbers(tensor.shape.size(), 0), tensor.shape);
        else if (kind < 60)
            replicate(tensor);
        else if (kind < 75 && !tensor.shape.empty())
            blocks(tensor);
        else if (kind < 92 || !wanted.may_overlap)
            flat(tensor, numbers(tensor.shape.size(), 0), tensor.shape);
        else
            any_boxes(tensor);
        for (shard& shard : tensor.shards)
            shard.order = random_.chance(50) ? 0 : static_cast<int>(random_.below(4));
        random_.shuffle(tensor.shards);
    }

private:
    std::int64_t a_rank() { return random_.below(ranks_); }

    static void add(tensor& tensor, std::int64_t rank, numbers offset, numbers shape) {
        tensor.shards.push_back({rank, std::move(offset), std::move(shape), {}, 0});
    }

    void replicate(tensor& tensor) {
        for (std::int64_t rank = 0; rank < ranks_; ++rank)
            add(tensor, rank, numbers(tensor.shape.size(), 0), tensor.shape);
    }

    /// As a list of equal blocks, the last ones smaller or empty: one for each rank.
    void blocks(tensor& tensor) {
        auto const axis =
            static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(tensor.shape.size())));
        std::int64_t const extent = tensor.shape[axis];
        std::int64_t const block = (extent + ranks_ - 1) / ranks_;
        for (std::int64_t rank = 0; rank < ranks_; ++rank) {
            numbers offset(tensor.shape.size(), 0);
            numbers shape = tensor.shape;
            offset[axis] = std::min(extent, rank * block);
            shape[axis] = std::min(extent, (rank + 1) * block) - offset[axis];
            add(tensor, rank, offset, shape);
        }
        tensor.is_uneven = extent % ranks_ != 0 && extent > block;
    }

    /// A box as flat ranges of several ranks, some of them perhaps empty.
    void flat(tensor& tensor, numbers const& offset, numbers const& shape) {
        std::int64_t const count = count_of(shape);
        numbers cuts{0, count};
        for (std::int64_t i = random_.below(ranks_ + 1); i > 0; --i)
            cuts.push_back(random_.between(0, count));
        std::sort(cuts.begin(), cuts.end());
        for (std::size_t i = 1; i < cuts.size(); ++i) {
            add(tensor, a_rank(), offset, shape);
            tensor.shards.back().flat = std::pair(cuts[i - 1], cuts[i]);
        }
    }

    void any_boxes(tensor& tensor) {
        for (std::int64_t i = random_.between(1, 4); i > 0; --i) {
            numbers offset, shape;
            for (std::int64_t const extent : tensor.shape) {
                offset.push_back(random_.between(0, extent));
                shape.push_back(random_.between(0, extent - offset.back()));
            }
            add(tensor, a_rank(), offset, shape);
        }
    }

    /// Where an axis is cut: first 0, last the extent.
    numbers cuts_of(std::int64_t extent, std::int64_t parts) {
        numbers cuts{0, extent};
        while (static_cast<std::int64_t>(cuts.size()) < parts + 1)
            cuts.push_back(random_.between(0, extent));
        std::sort(cuts.begin(), cuts.end());
        return cuts;
    }

    /// Equal parts, as in a fused tensor.
    static numbers even_cuts(std::int64_t extent, std::int64_t parts) {
        numbers cuts;
        for (std::int64_t i = 0; i <= parts; ++i)
            cuts.push_back(extent / parts * i);
        return cuts;
    }

    /// The largest axis, cut into a small and a large part.
    std::optional<std::size_t> uneven_axis(numbers const& shape) {
        auto const largest = std::max_element(shape.begin(), shape.end());
        if (shape.empty() || *largest < 3 || count_of(shape) == 0)
            return std::nullopt;
        return static_cast<std::size_t>(largest - shape.begin());
    }

    std::vector<numbers> all_cuts(numbers const& shape, wish const& wanted) {
        std::vector<numbers> cuts;
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            bool const is_forced = wanted.parts > 0 && wanted.axis == axis;
            cuts.push_back(is_forced ? even_cuts(shape[axis], wanted.parts)
                                     : cuts_of(shape[axis], random_.between(1, 3)));
        }
        if (auto const axis = uneven_axis(shape);
            wanted.uneven && axis && !(wanted.parts > 0 && wanted.axis == *axis))
            cuts[*axis] = {0, 1, shape[*axis]};
        return cuts;
    }

    void grid(tensor& tensor, wish const& wanted) {
        std::vector<numbers> const cuts = all_cuts(tensor.shape, wanted);
        for (numbers const& along : cuts)
            tensor.is_uneven = tensor.is_uneven || are_uneven(along);
        tensor.is_uneven = tensor.is_uneven && count_of(tensor.shape) > 0;
        numbers cells;
        for (numbers const& along : cuts)
            cells.push_back(static_cast<std::int64_t>(along.size()) - 1);
        bool const is_twice = random_.chance(20);
        for_each_index(cells, [&](numbers const& cell) {
            numbers offset, shape;
            for (std::size_t axis = 0; axis < cell.size(); ++axis) {
                auto const i = static_cast<std::size_t>(cell[axis]);
                offset.push_back(cuts[axis][i]);
                shape.push_back(cuts[axis][i + 1] - cuts[axis][i]);
            }
            if (wanted.parts == 0 && random_.chance(10))
                return flat(tensor, offset, shape);
            add(tensor, a_rank(), offset, shape);
            if (is_twice)
                add(tensor, a_rank(), offset, shape);
        });
    }

    static bool are_uneven(numbers const& cuts) {
        std::set<std::int64_t> sizes;
        for (std::size_t i = 1; i < cuts.size(); ++i)
            if (cuts[i] != cuts[i - 1])
                sizes.insert(cuts[i] - cuts[i - 1]);
        return sizes.size() > 1;
    }

    random_numbers& random_;
    std::int64_t ranks_;
};

/// The parts along each axis: different places at which boxes that are not empty begin.
inline numbers parts_of(tensor const& tensor) {
    numbers parts;
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
        std::set<std::int64_t> begins;
        for (shard const& shard : tensor.shards)
            if (count_of(shard.shape) > 0)
                begins.insert(shard.offset[axis]);
        parts.push_back(std::max<std::int64_t>(1, static_cast<std::int64_t>(begins.size())));
    }
    return parts;
}

} // namespace reshard::oracle

#endif
