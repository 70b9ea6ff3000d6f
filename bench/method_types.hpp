// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_METHOD_TYPES_HPP
#define RESHARD_BENCH_METHOD_TYPES_HPP

#include "method.hpp"

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
    owned_type(owned_type&& type) noexcept : type_(std::exchange(type.type_, MPI_DATATYPE_NULL)) {}
    owned_type& operator=(owned_type&&) = delete;
    ~owned_type() {
        if (type_ != MPI_DATATYPE_NULL)
            MPI_Type_free(&type_);
    }

    MPI_Datatype get() const { return type_; }

private:
    MPI_Datatype type_;
};

/// The MPI type of elements of `bytes` bytes.
inline MPI_Datatype type_of_bytes(index_t bytes) {
    return bytes == 8 ? MPI_DOUBLE : bytes == 4 ? MPI_FLOAT : MPI_UINT16_T;
}

/// One side of an overlap: the strides of its local array, its positions in runs, its type.
struct overlap_side {
    index_vector const& strides;
    index_t shared_run::*place;
    data_type dtype;
};

/// Builds the types of one side of an overlap, both sides in the order of the source's axes.
class type_builder {
public:
    type_builder(overlap const& shared, overlap_side const& side) : shared_(shared), side_(side) {}

    owned_type build() const {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Type_contiguous(1, element(), &type);
        for (std::size_t axis = side_.strides.size(); axis-- > 0;) {
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
            begins.push_back(static_cast<int>(shared_.axes[axis].front().*side_.place));
        }
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Type_create_subarray(static_cast<int>(shape.size()), sizes.data(), extents.data(),
                                 begins.data(), MPI_ORDER_C, element(), &type);
        return owned_type(type);
    }

private:
    MPI_Datatype element() const { return type_of_bytes(element_bytes(side_.dtype)); }

    /// All runs of an axis: each run has some `inner` types, one stride apart.
    MPI_Datatype along(std::size_t axis, MPI_Datatype inner) const {
        auto const step = static_cast<MPI_Aint>(side_.strides[axis] * element_bytes(side_.dtype));
        MPI_Datatype stepping = MPI_DATATYPE_NULL;
        MPI_Type_create_resized(inner, 0, step, &stepping);
        std::vector<int> lengths;
        std::vector<MPI_Aint> begins;
        for (shared_run const& run : shared_.axes[axis]) {
            lengths.push_back(static_cast<int>(run.length));
            begins.push_back(static_cast<MPI_Aint>(run.*side_.place) * step);
        }
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), begins.data(),
                                 stepping, &type);
        MPI_Type_free(&stepping);
        return type;
    }

    overlap const& shared_;
    overlap_side side_;
};

/// The type of one side of a piece in its tensor: a subarray if the piece is a box.
inline owned_type type_of(given_piece const& piece, overlap_side const& side,
                          index_vector const& shape) {
    bool const is_subarray =
        piece.shared.is_box() && reshard::row_major_strides(shape) == side.strides;
    type_builder const builder(piece.shared, side);
    return is_subarray ? builder.subarray(shape) : builder.build();
}

/// Redistributes by one collective call, in which MPI packs.
class types_method : public method {
public:
    static constexpr bool owns_target = false;
    static std::string refusal(redistribution_case const& moved) {
        return moved.casts() ? "MPI data types cannot cast" : "";
    }

    explicit types_method(setting const& where)
        : where_(where), none_(static_cast<std::size_t>(where.world.size()), 0) {
        int const me = where.world.rank();
        memory_map const sources(where.moved.sources, me), targets(where.moved.targets, me);
        for (int peer = 0; peer < where.world.size(); ++peer) {
            sends_.add(given(where.moved, me, peer), [&](given_piece const& piece) {
                case_tensor const& tensor = where.moved.sources[piece.piece->source];
                return std::pair(
                    sources.begins[piece.piece->source],
                    type_of(piece, {piece.shared.source_strides, &shared_run::source, tensor.dtype},
                            tensor.of_rank(me).shape()));
            });
            receives_.add(given(where.moved, peer, me), [&](given_piece const& piece) {
                case_tensor const& tensor = where.moved.targets[piece.piece->target];
                return std::pair(
                    targets.begins[piece.piece->target],
                    type_of(piece, {piece.shared.target_strides, &shared_run::target, tensor.dtype},
                            tensor.of_rank(me).shape()));
            });
        }
    }

    void run() override {
        MPI_Alltoallw(where_.source, sends_.counts.data(), none_.data(), sends_.types.data(),
                      where_.target, receives_.counts.data(), none_.data(), receives_.types.data(),
                      where_.world);
    }

    std::optional<traffic> sent() const override {
        return least_traffic(where_.moved, where_.world.rank());
    }

private:
    struct side {
        std::vector<owned_type> owned;
        std::vector<MPI_Datatype> types;
        std::vector<int> counts;

        /// Adds one type for all pieces of a peer. `make` gives the offset of a piece's tensor, and
        /// the piece's type.
        template <class Make>
        void add(std::vector<given_piece> const& pieces, Make const& make) {
            counts.push_back(!pieces.empty());
            if (pieces.empty()) {
                types.push_back(MPI_BYTE);
                return;
            }
            std::vector<owned_type> by_piece;
            std::vector<MPI_Datatype> handles;
            std::vector<MPI_Aint> begins;
            for (given_piece const& piece : pieces) {
                auto [begin, type] = make(piece);
                handles.push_back(type.get());
                begins.push_back(static_cast<MPI_Aint>(begin));
                by_piece.push_back(std::move(type));
            }
            if (by_piece.size() == 1 && begins.front() == 0) {
                owned.push_back(std::move(by_piece.front()));
            } else {
                std::vector<int> const ones(by_piece.size(), 1);
                MPI_Datatype value = MPI_DATATYPE_NULL;
                MPI_Type_create_struct(static_cast<int>(by_piece.size()), ones.data(),
                                       begins.data(), handles.data(), &value);
                owned.emplace_back(value);
            }
            types.push_back(owned.back().get());
        }
    };

    setting where_;
    side sends_;
    side receives_;
    std::vector<int> none_; ///< the types contain the displacements
};

} // namespace bench

#endif
