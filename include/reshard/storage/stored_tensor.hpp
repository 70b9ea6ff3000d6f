// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_STORED_TENSOR_HPP
#define RESHARD_STORAGE_STORED_TENSOR_HPP

#include <reshard/bind/place.hpp>
#include <reshard/core/config.hpp>
#include <reshard/plan/part_index.hpp>
#include <reshard/storage/checkpoint.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

/// \file
/// A tensor in the files of a checkpoint, element by element.

namespace reshard::detail {

/// One tensor of a checkpoint: the different boxes that its shards are made of, and who holds each.
///
/// Flat ranges count as the boxes that they are: a box and a flat range of its elements are
/// replicas.
class stored_tensor {
public:
    stored_tensor(checkpoint const& source, std::size_t number);

    tensor_layout const& tensor() const { return tensor_; }
    box_index const& boxes() const;

    /// The first shard that has box `i`; the others are replicas of it.
    std::uint32_t shard(std::size_t i) const;
    const_tensor_view const& view(std::size_t i) const { return view_of(shard(i)); }

    memory_place place(std::size_t i, index_vector const& global) const {
        return place_of(shard(i), global);
    }

    /// The element at a global index, as `text(view, place)` has it.
    ///
    /// \pre `check_cover()`
    template <class Text>
    std::string element(index_vector const& global, Text&& text) const {
        box const wanted{global, index_vector::filled(global.size(), 1)};
        std::size_t i = 0;
        while (!contains(boxes()[i], wanted))
            ++i;
        return text(view(i), place(i, global).offset);
    }

    /// \throws error with errc::not_covered or errc::overlap where the shards are not the whole
    ///         tensor
    void check_cover() const;

    /// \throws error with errc::overlap where replicas differ, naming both files, the key and the
    ///         first element that does
    void check_replicas() const;

private:
    const_tensor_view const& view_of(std::uint32_t shard) const;

    memory_place place_of(std::uint32_t shard, index_vector const& global) const;

    std::string const& file(std::uint32_t shard) const;

    void check_copy(box const& region, std::uint32_t first, std::uint32_t second) const;

    checkpoint const& source_;
    std::size_t number_;
    tensor_layout const& tensor_;
    part_index parts_;
};

/// The first element, in row-major order, in which two tensors of one kind differ.
RESHARD_DECL std::optional<index_vector> first_difference(stored_tensor const& a,
                                                          stored_tensor const& b);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/stored_tensor.ipp>
#endif

#endif
