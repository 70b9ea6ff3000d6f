// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_STORED_TENSOR_IPP
#define RESHARD_STORAGE_IMPL_STORED_TENSOR_IPP

#include <reshard/storage/stored_tensor.hpp>

#include <reshard/layout/cover.hpp>
#include <reshard/storage/first_difference.hpp>

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

RESHARD_DECL stored_tensor::stored_tensor(checkpoint const& source, std::size_t number)
    : source_(source),
      number_(number),
      tensor_(source.files_layout().tensors[number]),
      parts_(index_parts(tensor_.shards)) {}

RESHARD_DECL box_index const& stored_tensor::boxes() const { return parts_.boxes; }

RESHARD_DECL std::uint32_t stored_tensor::shard(std::size_t i) const {
    return parts_.replica(i, 0).shard;
}

RESHARD_DECL void stored_tensor::check_cover() const {
    auto const fault = find_cover_fault(whole(tensor_.shape), boxes());
    if (!fault)
        return;
    bool const is_gap = fault->what == cover_fault::kind::gap;
    fail(is_gap ? errc::not_covered : errc::overlap,
         source_.metadata().path.string() + ": '" + tensor_.key + "': elements " +
             to_string(fault->where) + " are held by " +
             (is_gap ? "no file" : "more than one shard"));
}

RESHARD_DECL void stored_tensor::check_replicas() const {
    for (std::size_t i = 0; i < boxes().size(); ++i)
        for (std::size_t which = 1; which < parts_.replicas(i); ++which)
            if (!is_empty(boxes()[i]))
                check_copy(boxes()[i], shard(i), parts_.replica(i, which).shard);
}

RESHARD_DECL const_tensor_view const& stored_tensor::view_of(std::uint32_t shard) const {
    return source_.view(number_, shard);
}

RESHARD_DECL memory_place stored_tensor::place_of(std::uint32_t shard,
                                                  index_vector const& global) const {
    return place_in_shard(tensor_.shards, shard, global, view_of(shard).strides);
}

RESHARD_DECL std::string const& stored_tensor::file(std::uint32_t shard) const {
    return source_.file_names()[tensor_.shards.holder(shard)];
}

RESHARD_DECL void stored_tensor::check_copy(box const& region, std::uint32_t first,
                                            std::uint32_t second) const {
    memory_place const a = place_of(first, region.offset), b = place_of(second, region.offset);
    auto const found = first_difference({region.shape, a.offset, a.strides, b.offset, b.strides},
                                        view_of(first), view_of(second));
    if (found)
        fail(errc::overlap, file(second) + ": '" + tensor_.key + "': element " +
                                to_string(global_index(tensor_.shards, second, *found)) +
                                " differs from the copy in " + file(first));
}

RESHARD_DECL std::optional<index_vector> first_difference(stored_tensor const& a,
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
