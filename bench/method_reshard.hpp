// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_METHOD_RESHARD_HPP
#define RESHARD_BENCH_METHOD_RESHARD_HPP

#include "method.hpp"

#include <reshard/expr/permute.hpp>
#include <reshard/mpi/redistribute.hpp>

#include <functional>

/// \file
/// This library: `prepare` once, `run` each time. Both together are what `redistribute` does.

namespace bench {

/// Calls `visit(region, place)` for every box of a part: where it is in the array, and in the local one.
inline void for_each_box(rank_part const& part,
                         std::function<void(reshard::box const&, index_vector const&)> const& visit,
                         reshard::box const& outer = {}, index_vector const& place = {}) {
    std::size_t const axis = outer.ndim();
    if (axis == part.axes.size())
        return visit(outer, place);
    index_t local = 0;
    for (interval const& one : part.axes[axis]) {
        reshard::box region = outer;
        index_vector inner = place;
        region.offset.push_back(one.begin);
        region.shape.push_back(one.size());
        inner.push_back(local);
        for_each_box(part, visit, region, inner);
        local += one.size();
    }
}

/// A rank's part as a state dict of one key: a shard for each box.
template <class View, class Element>
reshard::basic_state_dict<View> shards_of(rank_part const& part, index_vector const& shape,
                                          Element* data) {
    reshard::basic_state_dict<View> shards;
    index_vector const strides = reshard::row_major_strides(part.shape());
    for_each_box(part, [&](reshard::box const& region, index_vector const& place) {
        shards.add({"array", reshard::data_type::f64, shape, region, std::nullopt},
                   View{data + reshard::linear_offset(place, strides), reshard::data_type::f64,
                        region.shape, strides});
    });
    return shards;
}

/// The source array with its axes in another order.
inline reshard::mapping program_of(redistribution_case const& moved) {
    reshard::mapping program;
    auto const array = program.source("array", moved.shape, reshard::data_type::f64);
    program.define("array", permute(array, axes_of(moved.order, moved.shape.size())));
    return program;
}

/// `run` of the library, from where a member function hides the name.
inline void run_prepared(reshard::prepared& ready) { run(ready); }

class reshard_method : public method {
public:
    explicit reshard_method(setting const& where)
        : ready_(prepare(where.world,
                         shards_of<reshard::const_tensor_view>(
                             where.source_part(), where.moved.shape, where.memory.source),
                         shards_of<reshard::tensor_view>(
                             where.target_part(), where.moved.target_shape(), where.memory.target),
                         program_of(where.moved))) {}

    void run() override { run_prepared(ready_); }

private:
    reshard::prepared ready_;
};

} // namespace bench

#endif
