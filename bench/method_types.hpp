// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_METHOD_TYPES_HPP
#define RESHARD_BENCH_METHOD_TYPES_HPP

#include "method.hpp"
#include "overlap.hpp"

#include <mpi.h>

#include <utility>
#include <vector>

/// \file
/// B1: `MPI_Alltoallw` with a derived type for each pair of ranks.

namespace bench {

/// A derived type, freed with its object.
class owned_type {
public:
    explicit owned_type(MPI_Datatype type) : type_(type) { MPI_Type_commit(&type_); }
    owned_type(owned_type&& other) noexcept
        : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}
    owned_type& operator=(owned_type&&) = delete;
    ~owned_type() {
        if (type_ != MPI_DATATYPE_NULL)
            MPI_Type_free(&type_);
    }

    MPI_Datatype get() const { return type_; }

private:
    MPI_Datatype type_;
};

/// Builds the types of one side of an overlap, both sides in the order of the source's axes.
class type_builder {
public:
    type_builder(overlap const& shared, index_vector const& strides, index_t shared_run::*side)
        : shared_(shared), strides_(strides), side_(side) {}

    owned_type build() const {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Type_contiguous(1, MPI_DOUBLE, &type);
        for (std::size_t axis = strides_.size(); axis-- > 0;) {
            MPI_Datatype const outer = along(axis, type);
            MPI_Type_free(&type);
            type = outer;
        }
        return owned_type(type);
    }

    /// The type of a box in an array of `shape`, as a subarray.
    owned_type subarray(index_vector const& shape) const {
        std::vector<int> sizes, extents, begins;
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            sizes.push_back(static_cast<int>(shape[axis]));
            extents.push_back(static_cast<int>(shared_.extent(axis)));
            begins.push_back(static_cast<int>(shared_.axes[axis].front().*side_));
        }
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Type_create_subarray(static_cast<int>(shape.size()), sizes.data(), extents.data(),
                                 begins.data(), MPI_ORDER_C, MPI_DOUBLE, &type);
        return owned_type(type);
    }

private:
    static constexpr MPI_Aint element = sizeof(double);

    /// All runs of an axis, each some `inner` types a stride apart.
    MPI_Datatype along(std::size_t axis, MPI_Datatype inner) const {
        MPI_Aint const step = static_cast<MPI_Aint>(strides_[axis]) * element;
        MPI_Datatype stepping = MPI_DATATYPE_NULL;
        MPI_Type_create_resized(inner, 0, step, &stepping);
        std::vector<int> lengths;
        std::vector<MPI_Aint> begins;
        for (shared_run const& run : shared_.axes[axis]) {
            lengths.push_back(static_cast<int>(run.length));
            begins.push_back(static_cast<MPI_Aint>(run.*side_) * step);
        }
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), begins.data(),
                                 stepping, &type);
        MPI_Type_free(&stepping);
        return type;
    }

    overlap const& shared_;
    index_vector const& strides_;
    index_t shared_run::*side_;
};

/// One collective call; MPI packs.
class types_method : public method {
public:
    explicit types_method(setting const& where) : where_(where) {
        auto const ranks = static_cast<std::size_t>(where.world.size());
        none_ = std::vector<int>(ranks, 0);
        for (int peer = 0; peer < where.world.size(); ++peer) {
            overlap const out(where.moved, where.world.rank(), peer);
            overlap const in(where.moved, peer, where.world.rank());
            add(out, out.source_strides, &shared_run::source, where.source_part().shape(), sends_);
            index_vector const target = where.target_part().shape();
            bool const keeps_order =
                where.moved.order == reshard::permutation::identity(target.size());
            add(in, in.target_strides, &shared_run::target, keeps_order ? target : index_vector{},
                receives_);
            if (peer != where.world.rank() && out.elements() > 0) {
                ++sent_.messages;
                sent_.bytes += out.elements() * index_t{sizeof(double)};
            }
        }
    }

    void run() override {
        MPI_Alltoallw(where_.memory.source, sends_.counts.data(), none_.data(), sends_.types.data(),
                      where_.memory.target, receives_.counts.data(), none_.data(),
                      receives_.types.data(), where_.world);
    }

    traffic sent() const override { return sent_; }

private:
    struct side {
        std::vector<owned_type> owned;
        std::vector<MPI_Datatype> types;
        std::vector<int> counts;
    };

    /// `shape` is empty where the axes of the local array are not those of the source.
    static void add(overlap const& shared, index_vector const& strides, index_t shared_run::*place,
                    index_vector const& shape, side& all) {
        all.counts.push_back(shared.elements() > 0);
        if (shared.elements() == 0) {
            all.types.push_back(MPI_DOUBLE);
            return;
        }
        type_builder const builder(shared, strides, place);
        bool const is_subarray = shared.is_box() && !shape.empty();
        all.owned.push_back(is_subarray ? builder.subarray(shape) : builder.build());
        all.types.push_back(all.owned.back().get());
    }

    setting where_;
    side sends_;
    side receives_;
    std::vector<int> none_; ///< displacements are in the types
    traffic sent_;
};

} // namespace bench

#endif
