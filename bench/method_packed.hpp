// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_METHOD_PACKED_HPP
#define RESHARD_BENCH_METHOD_PACKED_HPP

#include "method.hpp"
#include "values.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

/// \file
/// B2: pack by hand, `MPI_Alltoallv`, unpack by hand. A side without gaps needs no staging memory.

namespace bench {

/// Copies the elements of a line between an array and consecutive memory, and converts them.
template <class To, class From>
void copy_line(To* to, From const* from, shared_line const& line) {
    if constexpr (sizeof(To) == sizeof(From))
        if (line.source_step == 1 && line.target_step == 1) {
            std::memcpy(to, from, static_cast<std::size_t>(line.length) * sizeof(To));
            return;
        }
    for (index_t i = 0; i < line.length; ++i)
        to[i * line.target_step] = converted<To>(from[i * line.source_step]);
}

/// Packs the elements of an overlap in the order of the source's axes.
template <class Wire, class Source>
void pack(overlap const& shared, Source const* source, Wire* wire) {
    for_each_line(shared, permutation::identity(shared.axes.size()), [&](shared_line line) {
        line.target_step = 1;
        copy_line(wire, source + line.source, line);
        wire += line.length;
    });
}

/// Unpacks if the source's last axis is also the target's last axis.
template <class Target, class Wire>
void unpack_lines(overlap const& shared, Wire const* wire, Target* target) {
    for_each_line(shared, permutation::identity(shared.axes.size()), [&](shared_line line) {
        line.source_step = 1;
        copy_line(target + line.target, wire, line);
        wire += line.length;
    });
}

/// Unpacks a box of a matrix that the target holds transposed, in squares that fit the first-level
/// cache.
template <class Target, class Wire>
void unpack_transposed(overlap const& shared, Wire const* wire, Target* target) {
    constexpr index_t side = 32;
    index_t const rows = shared.extent(0), columns = shared.extent(1);
    Target* const first = target + shared.first_place(&shared_run::target, shared.target_strides);
    index_t const pitch = shared.target_strides[1];
    for (index_t j = 0; j < columns; j += side)
        for (index_t i = 0; i < rows; i += side)
            for (index_t column = j; column < std::min(j + side, columns); ++column)
                for (index_t row = i; row < std::min(i + side, rows); ++row)
                    first[column * pitch + row] = converted<Target>(wire[row * columns + column]);
}

/// One side of the exchange: the position of each peer's elements, staged or in place.
///
/// \par Units bytes
struct packed_side {
    std::vector<std::vector<given_piece>> peers;
    std::vector<int> counts;
    std::vector<int> begins;
    std::unique_ptr<std::byte[]> staging; ///< null if every peer's elements are contiguous

    /// Allocates a staging array, and gives the elements of each peer a position in it.
    void stage(std::vector<index_t> const& bytes) {
        index_t total = 0;
        for (index_t const byte : bytes) {
            counts.push_back(static_cast<int>(byte));
            begins.push_back(static_cast<int>(total));
            total += byte;
        }
        staging = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(total));
    }

    /// Finds the position of each peer's elements in the tensors.
    void use_in_place(std::vector<index_t> const& bytes, std::vector<index_t> const& places) {
        for (std::size_t peer = 0; peer < peers.size(); ++peer) {
            counts.push_back(static_cast<int>(bytes[peer]));
            begins.push_back(static_cast<int>(places[peer]));
        }
    }
};

/// The code that a careful programmer writes in an afternoon. Casts on the side with fewer bytes to
/// send.
class packed_method : public method {
public:
    static constexpr bool owns_target = false;
    static std::string refusal(redistribution_case const& moved) {
        for (int rank = 0; rank < moved.ranks; ++rank)
            if (std::max(memory_map(moved.sources, rank).bytes,
                         memory_map(moved.targets, rank).bytes) > std::numeric_limits<int>::max())
                return "MPI_Alltoallv counts in int, but a rank has 2 GiB or more";
        return {};
    }

    explicit packed_method(setting const& where)
        : where_(where),
          source_map_(where.moved.sources, where.world.rank()),
          target_map_(where.moved.targets, where.world.rank()) {
        for (int peer = 0; peer < where.world.size(); ++peer) {
            sends_.peers.push_back(given(where.moved, where.world.rank(), peer));
            receives_.peers.push_back(given(where.moved, peer, where.world.rank()));
        }
        open(sends_, true);
        open(receives_, false);
    }

    void run() override {
        std::byte const* const out = sends_.staging ? sends_.staging.get() : where_.source;
        std::byte* const in = receives_.staging ? receives_.staging.get() : where_.target;
        for (std::size_t peer = 0; sends_.staging && peer < sends_.peers.size(); ++peer)
            pack_all(sends_.peers[peer], sends_.staging.get() + sends_.begins[peer]);
        MPI_Alltoallv(out, sends_.counts.data(), sends_.begins.data(), MPI_BYTE, in,
                      receives_.counts.data(), receives_.begins.data(), MPI_BYTE, where_.world);
        for (std::size_t peer = 0; receives_.staging && peer < receives_.peers.size(); ++peer)
            unpack_all(receives_.peers[peer], receives_.staging.get() + receives_.begins[peer]);
    }

    std::optional<traffic> sent() const override {
        return least_traffic(where_.moved, where_.world.rank());
    }

private:
    data_type source_type(given_piece const& piece) const {
        return where_.moved.sources[piece.piece->source].dtype;
    }
    data_type target_type(given_piece const& piece) const {
        return where_.moved.targets[piece.piece->target].dtype;
    }
    /// The shorter of the two types.
    data_type wire_type(given_piece const& piece) const {
        return element_bytes(source_type(piece)) < element_bytes(target_type(piece))
                   ? source_type(piece)
                   : target_type(piece);
    }

    /// The offset of the elements, if that side stores them as they are sent.
    std::optional<index_t> place_of(std::vector<given_piece> const& peer, bool gives) const {
        if (peer.empty())
            return 0;
        given_piece const& piece = peer.front();
        overlap const& shared = piece.shared;
        auto const& strides = gives ? shared.source_strides : shared.target_strides;
        data_type const type = gives ? source_type(piece) : target_type(piece);
        if (peer.size() > 1 || type != wire_type(piece) || !shared.is_dense(strides))
            return std::nullopt;
        index_t const begin = gives ? source_map_.begins[piece.piece->source]
                                    : target_map_.begins[piece.piece->target];
        return begin +
               element_bytes(type) *
                   shared.first_place(gives ? &shared_run::source : &shared_run::target, strides);
    }

    void open(packed_side& side, bool gives) const {
        std::vector<index_t> bytes, places;
        for (auto const& peer : side.peers) {
            bytes.push_back(0);
            for (given_piece const& piece : peer)
                bytes.back() += piece.shared.elements() * element_bytes(wire_type(piece));
            if (auto const position = place_of(peer, gives))
                places.push_back(*position);
        }
        if (places.size() == side.peers.size())
            side.use_in_place(bytes, places);
        else
            side.stage(bytes);
    }

    void pack_all(std::vector<given_piece> const& pieces, std::byte* wire) const {
        for (given_piece const& piece : pieces) {
            std::byte const* const source = where_.source + source_map_.begins[piece.piece->source];
            with_elements(source_type(piece), wire_type(piece),
                          [&]<class From, class To>(From, To) {
                              pack(piece.shared, reinterpret_cast<From const*>(source),
                                   reinterpret_cast<To*>(wire));
                          });
            wire += piece.shared.elements() * element_bytes(wire_type(piece));
        }
    }

    void unpack_all(std::vector<given_piece> const& pieces, std::byte const* wire) const {
        for (given_piece const& piece : pieces) {
            std::byte* const target = where_.target + target_map_.begins[piece.piece->target];
            with_elements(wire_type(piece), target_type(piece),
                          [&]<class From, class To>(From, To) {
                              bool const keeps_last =
                                  piece.shared.target_strides[piece.shared.axes.size() - 1] == 1;
                              auto const* const from = reinterpret_cast<From const*>(wire);
                              auto* const to = reinterpret_cast<To*>(target);
                              keeps_last ? unpack_lines(piece.shared, from, to)
                                         : unpack_transposed(piece.shared, from, to);
                          });
            wire += piece.shared.elements() * element_bytes(wire_type(piece));
        }
    }

    setting where_;
    memory_map source_map_;
    memory_map target_map_;
    packed_side sends_;
    packed_side receives_;
};

} // namespace bench

#endif
