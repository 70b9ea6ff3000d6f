// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_VALUES_HPP
#define RESHARD_BENCH_VALUES_HPP

#include "cases.hpp"

#include <memory>

/// \file
/// Every element's value is its place in the source array, so that each wrong move shows.

namespace bench {

/// Elements that are evenly spaced in the source array and follow each other in a local one.
struct value_run {
    index_t place = 0; ///< in the local array
    index_t value = 0; ///< of the first
    index_t step = 0;
    index_t length = 0;
};

/// Calls `visit(value_run)` for all elements of a part, in order; `steps` are those of the values.
template <class Visit>
void for_each_run(rank_part const& part, index_vector const& steps, Visit const& visit,
                  index_t& place, index_t value = 0, std::size_t axis = 0) {
    for (interval const& one : part.axes[axis]) {
        if (axis + 1 == part.axes.size()) {
            visit(value_run{place, value + one.begin * steps[axis], steps[axis], one.size()});
            place += one.size();
            continue;
        }
        for (index_t i = one.begin; i < one.end; ++i)
            for_each_run(part, steps, visit, place, value + i * steps[axis], axis + 1);
    }
}

/// A new array with the values of the elements of a source part.
inline std::unique_ptr<double[]> filled_source(redistribution_case const& moved, int rank) {
    rank_part const& part = moved.source[static_cast<std::size_t>(rank)];
    auto data = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(part.elements()));
    index_t place = 0;
    auto const fill = [&](value_run const& run) {
        for (index_t i = 0; i < run.length; ++i)
            data[static_cast<std::size_t>(run.place + i)] =
                static_cast<double>(run.value + run.step * i);
    };
    for_each_run(part, reshard::row_major_strides(moved.shape), fill, place);
    return data;
}

/// True where every element of a target part has the value of its source element.
inline bool is_right(redistribution_case const& moved, int rank, double const* data) {
    rank_part const& part = moved.target[static_cast<std::size_t>(rank)];
    bool right = true;
    index_t place = 0;
    auto const check = [&](value_run const& run) {
        auto const first = static_cast<double>(run.value);
        auto const step = static_cast<double>(run.step);
        for (int i = 0; i < static_cast<int>(run.length); ++i)
            right &= data[run.place + i] == first + step * i;
    };
    for_each_run(part, moved.order.apply(reshard::row_major_strides(moved.shape)), check, place);
    return right;
}

} // namespace bench

#endif
