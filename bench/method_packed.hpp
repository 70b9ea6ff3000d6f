// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_METHOD_PACKED_HPP
#define RESHARD_BENCH_METHOD_PACKED_HPP

#include "method.hpp"
#include "overlap.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

/// \file
/// B2: pack by hand, `MPI_Alltoallv`, unpack by hand; no staging on a side where none is needed.

namespace bench {

/// Packs the elements of an overlap in the order of the source's axes.
inline void pack(overlap const& shared, double const* source, double* wire) {
    std::size_t const last = shared.axes.size() - 1;
    for_each_outer(shared, last, [&](index_t place, index_t) {
        for (shared_run const& run : shared.axes[last]) {
            std::memcpy(wire, source + place + run.source,
                        static_cast<std::size_t>(run.length) * sizeof(double));
            wire += run.length;
        }
    });
}

/// Unpacks where the source's last axis is the target's last one, too.
inline void unpack_runs(overlap const& shared, double const* wire, double* target) {
    std::size_t const last = shared.axes.size() - 1;
    for_each_outer(shared, last, [&](index_t, index_t place) {
        for (shared_run const& run : shared.axes[last]) {
            std::memcpy(target + place + run.target, wire,
                        static_cast<std::size_t>(run.length) * sizeof(double));
            wire += run.length;
        }
    });
}

/// Unpacks a box of a matrix that the target holds transposed, in squares that fit the nearest cache.
inline void unpack_transposed(overlap const& shared, double const* wire, double* target) {
    constexpr index_t side = 32;
    index_t const rows = shared.extent(0), columns = shared.extent(1);
    double* const first = target + shared.first_place(&shared_run::target, shared.target_strides);
    index_t const pitch = shared.target_strides[1];
    for (index_t j = 0; j < columns; j += side)
        for (index_t i = 0; i < rows; i += side)
            for (index_t column = j; column < std::min(j + side, columns); ++column)
                for (index_t row = i; row < std::min(i + side, rows); ++row)
                    first[column * pitch + row] = wire[row * columns + column];
}

/// One side of the exchange: where each peer's elements are, staged or in place.
struct packed_side {
    std::vector<overlap> peers;
    std::vector<int> counts;
    std::vector<int> begins;
    std::unique_ptr<double[]> staging; ///< null where every peer's elements lie in one piece

    void open(index_t shared_run::*place, index_vector overlap::*strides) {
        bool const in_place = std::all_of(peers.begin(), peers.end(), [&](overlap const& one) {
            return one.is_dense(one.*strides);
        });
        index_t packed = 0;
        for (overlap const& one : peers) {
            counts.push_back(static_cast<int>(one.elements()));
            begins.push_back(
                static_cast<int>(in_place ? one.first_place(place, one.*strides) : packed));
            packed += one.elements();
        }
        if (!in_place)
            staging = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(packed));
    }
};

/// What a careful programmer writes in an afternoon.
class packed_method : public method {
public:
    explicit packed_method(setting const& where) : where_(where) {
        for (int peer = 0; peer < where.world.size(); ++peer) {
            sends_.peers.emplace_back(where.moved, where.world.rank(), peer);
            receives_.peers.emplace_back(where.moved, peer, where.world.rank());
        }
        sends_.open(&shared_run::source, &overlap::source_strides);
        receives_.open(&shared_run::target, &overlap::target_strides);
    }

    void run() override {
        double const* const out = sends_.staging ? sends_.staging.get() : where_.memory.source;
        double* const in = receives_.staging ? receives_.staging.get() : where_.memory.target;
        for (std::size_t peer = 0; sends_.staging && peer < sends_.peers.size(); ++peer)
            pack(sends_.peers[peer], where_.memory.source,
                 sends_.staging.get() + sends_.begins[peer]);
        MPI_Alltoallv(out, sends_.counts.data(), sends_.begins.data(), MPI_DOUBLE, in,
                      receives_.counts.data(), receives_.begins.data(), MPI_DOUBLE, where_.world);
        for (std::size_t peer = 0; receives_.staging && peer < receives_.peers.size(); ++peer)
            unpack(receives_.peers[peer], receives_.staging.get() + receives_.begins[peer]);
    }

    traffic sent() const override {
        traffic all;
        for (int peer = 0; peer < where_.world.size(); ++peer)
            if (int const count = sends_.counts[static_cast<std::size_t>(peer)];
                count > 0 && peer != where_.world.rank()) {
                ++all.messages;
                all.bytes += count * index_t{sizeof(double)};
            }
        return all;
    }

private:
    void unpack(overlap const& shared, double const* wire) const {
        if (shared.elements() == 0)
            return;
        bool const keeps_last = shared.target_strides[shared.axes.size() - 1] == 1;
        keeps_last ? unpack_runs(shared, wire, where_.memory.target)
                   : unpack_transposed(shared, wire, where_.memory.target);
    }

    setting where_;
    packed_side sends_;
    packed_side receives_;
};

} // namespace bench

#endif
