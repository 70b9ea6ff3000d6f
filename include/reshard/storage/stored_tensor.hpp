// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_STORED_TENSOR_HPP
#define RESHARD_STORAGE_STORED_TENSOR_HPP

#include <reshard/bind/place.hpp>
#include <reshard/plan/part_index.hpp>
#include <reshard/layout/cover.hpp>
#include <reshard/storage/checkpoint.hpp>
#include <reshard/storage/first_difference.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

/// \file
/// A tensor in the files of a checkpoint, element by element.

namespace reshard::detail {

/// The global index of the element at `place` in the memory of a shard.
inline index_vector global_index(shard_table const& table, std::size_t shard, index_t place) {
    box const region = table.region(shard);
    auto const flat = table.flat(shard);
    index_vector index = unravel_index(place + (flat ? flat->begin : 0), region.shape);
    for (std::size_t axis = 0; axis < index.size(); ++axis)
        index[axis] += region.offset[axis];
    return index;
}

/// One tensor of a checkpoint: the different boxes that its shards are made of, and who holds each.
///
/// Flat ranges count as the boxes that they are: a box and a flat range of its elements are replicas.
class stored_tensor {
public:
    stored_tensor(checkpoint const& source, std::size_t number)
        : source_(source),
          number_(number),
          tensor_(source.files_layout().tensors[number]),
          parts_(index_parts(tensor_.shards)) {}

    tensor_layout const& tensor() const { return tensor_; }
    box_index const& boxes() const { return parts_.boxes; }

    /// The first shard that has box `i`; the others are replicas of it.
    std::uint32_t shard(std::size_t i) const { return parts_.replica(i, 0).shard; }
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

    /// \throws error with errc::not_covered or errc::overlap where the shards are not the whole tensor
    void check_cover() const {
        auto const fault = find_cover_fault(whole(tensor_.shape), boxes());
        if (!fault)
            return;
        bool const is_gap = fault->what == cover_fault::kind::gap;
        fail(is_gap ? errc::not_covered : errc::overlap,
             source_.metadata().path.string() + ": '" + tensor_.key + "': elements " +
                 to_string(fault->where) + " are held by " +
                 (is_gap ? "no file" : "more than one shard"));
    }

    /// \throws error with errc::overlap where replicas differ, naming both files, the key and the first
    ///         element that does
    void check_replicas() const {
        for (std::size_t i = 0; i < boxes().size(); ++i)
            for (std::size_t which = 1; which < parts_.replicas(i); ++which)
                if (!is_empty(boxes()[i]))
                    check_copy(boxes()[i], shard(i), parts_.replica(i, which).shard);
    }

private:
    const_tensor_view const& view_of(std::uint32_t shard) const {
        return source_.view(number_, shard);
    }

    memory_place place_of(std::uint32_t shard, index_vector const& global) const {
        return place_in_shard(tensor_.shards, shard, global, view_of(shard).strides);
    }

    std::string const& file(std::uint32_t shard) const {
        return source_.file_names()[tensor_.shards.holder(shard)];
    }

    void check_copy(box const& region, std::uint32_t first, std::uint32_t second) const {
        memory_place const a = place_of(first, region.offset), b = place_of(second, region.offset);
        auto const found =
            first_difference({region.shape, a.offset, a.strides, b.offset, b.strides},
                             view_of(first), view_of(second));
        if (found)
            fail(errc::overlap, file(second) + ": '" + tensor_.key + "': element " +
                                    to_string(global_index(tensor_.shards, second, *found)) +
                                    " differs from the copy in " + file(first));
    }

    checkpoint const& source_;
    std::size_t number_;
    tensor_layout const& tensor_;
    part_index parts_;
};

/// The first element, in row-major order, in which two tensors of one kind differ.
inline std::optional<index_vector> first_difference(stored_tensor const& a,
                                                    stored_tensor const& b) {
    std::optional<index_vector> first;
    for (std::size_t i = 0; i < a.boxes().size(); ++i)
        b.boxes().for_each_overlap(a.boxes()[i], [&](std::uint32_t j, box const& common) {
            memory_place const in_a = a.place(i, common.offset), in_b = b.place(j, common.offset);
            auto const found = first_difference(
                {common.shape, in_a.offset, in_a.strides, in_b.offset, in_b.strides}, a.view(i),
                b.view(j));
            if (!found)
                return;
            index_vector const at = global_index(b.tensor().shards, b.shard(j), *found);
            if (!first || at < *first)
                first = at;
        });
    return first;
}

} // namespace reshard::detail

#endif
