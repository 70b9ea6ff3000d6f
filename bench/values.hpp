// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_VALUES_HPP
#define RESHARD_BENCH_VALUES_HPP

#include "overlap.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>

/// \file
/// Every element's value encodes its index in its source tensor, so that each wrong move is found.

namespace bench {

/// The bits of an element's value, made from its number. For f64, the value is the number itself.
/// Smaller types have the upper bits of a multiple of the number; as f32 or bf16, this is less than
/// 2.
template <class Bits>
Bits value_bits(index_t number) {
    if constexpr (sizeof(Bits) == sizeof(double))
        return std::bit_cast<Bits>(static_cast<double>(number));
    else {
        std::uint32_t const mixed = (static_cast<std::uint32_t>(number) * 2654435761u) & 0xBFFFFFFF;
        return static_cast<Bits>(mixed >> (32 - 8 * sizeof(Bits)));
    }
}

/// The number of the first element of a source tensor.
inline index_t first_number(std::size_t source) { return 7919 * static_cast<index_t>(source); }

/// The same value in another type: f32 to bf16 (to nearest, ties to even), bf16 to f32, or
/// unchanged.
template <class To, class From>
To converted(From bits) {
    if constexpr (sizeof(To) == sizeof(From))
        return bits;
    else if constexpr (sizeof(To) < sizeof(From))
        return static_cast<To>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
    else
        return static_cast<To>(bits) << 16;
}

/// Calls `work(Source{}, Target{})` with integers of the elements' sizes. Both types are f64, f32
/// or bf16, or they are f32 and bf16.
template <class Work>
void with_elements(data_type source, data_type target, Work const& work) {
    using half = std::uint16_t;
    using single = std::uint32_t;
    if (source == data_type::f64)
        work(std::uint64_t{}, std::uint64_t{});
    else if (source == data_type::f32)
        target == data_type::f32 ? work(single{}, single{}) : work(single{}, half{});
    else
        target == data_type::f32 ? work(half{}, single{}) : work(half{}, half{});
}

/// Fills a rank's source tensors.
inline void fill_sources(redistribution_case const& moved, int rank, std::byte* memory) {
    memory_map const map(moved.sources, rank);
    for (std::size_t i = 0; i < moved.sources.size(); ++i) {
        case_tensor const& tensor = moved.sources[i];
        auto const order = permutation::identity(tensor.shape.size());
        auto const origin = index_vector::filled(tensor.shape.size(), 0);
        overlap const overlap({i, i, origin, origin, tensor.shape, order}, whole_part(tensor.shape),
                              tensor.of_rank(rank));
        with_elements(tensor.dtype, tensor.dtype, [&]<class Bits>(Bits, auto) {
            auto* const elements = reinterpret_cast<Bits*>(memory + map.begins[i]);
            for_each_line(overlap, order, [&](shared_line const& line) {
                for (index_t k = 0; k < line.length; ++k)
                    elements[line.target + k] = value_bits<Bits>(first_number(i) + line.source + k);
            });
        });
    }
}

/// True if the elements of a piece in one rank's target have the values of their source elements.
inline bool is_right(redistribution_case const& moved, case_piece const& piece,
                     overlap const& wanted, std::byte const* target) {
    bool right = true;
    with_elements(moved.sources[piece.source].dtype, moved.targets[piece.target].dtype,
                  [&]<class Source, class Target>(Source, Target) {
                      auto const* const elements = reinterpret_cast<Target const*>(target);
                      for_each_line(wanted, piece.order, [&](shared_line const& line) {
                          index_t const first = first_number(piece.source) + line.source;
                          for (index_t k = 0; k < line.length; ++k)
                              right &= elements[line.target + k] ==
                                       converted<Target>(
                                           value_bits<Source>(first + line.source_step * k));
                      });
                  });
    return right;
}

/// True if every element of a rank's target tensors has the value that its piece gives it.
inline bool is_right(redistribution_case const& moved, int rank, std::byte const* memory) {
    memory_map const map(moved.targets, rank);
    bool right = true;
    index_t checked = 0, held_count = 0;
    for (case_tensor const& target : moved.targets)
        held_count += target.of_rank(rank).elements();
    for (case_piece const& piece : moved.pieces) {
        overlap const wanted(piece, whole_part(moved.sources[piece.source].shape),
                             moved.targets[piece.target].of_rank(rank));
        checked += wanted.elements();
        right &= is_right(moved, piece, wanted, memory + map.begins[piece.target]);
    }
    return right && checked == held_count;
}

/// The bytes of the source elements from which a rank's target tensors are made.
inline index_t read_bytes(redistribution_case const& moved, int rank) {
    index_t bytes = 0;
    for (case_piece const& piece : moved.pieces) {
        case_tensor const& source = moved.sources[piece.source];
        bytes += element_bytes(source.dtype) *
                 overlap(piece, whole_part(source.shape), moved.targets[piece.target].of_rank(rank))
                     .elements();
    }
    return bytes;
}

} // namespace bench

#endif
