// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_STORED_TENSOR_HPP
#define RESHARD_STORAGE_STORED_TENSOR_HPP

#include <reshard/copy/affine_copy.hpp>
#include <reshard/copy/bits.hpp>
#include <reshard/local/place.hpp>
#include <reshard/shard/cover.hpp>
#include <reshard/shard/main_copies.hpp>
#include <reshard/storage/checkpoint.hpp>
#include <reshard/storage/element_text.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

/// \file
/// A tensor in the files of a checkpoint, element by element.

namespace reshard::detail {

/// Elements in memory, `step` apart.
struct element_row {
    unsigned char const* bytes;
    index_t first;
    index_t step;

    index_t bit(index_t i, int bits) const { return (first + i * step) * bits; }
};

inline bool differs_at(element_row const& a, element_row const& b, index_t i, int bits) {
    if (bits < 8)
        return read_bits(a.bytes, a.bit(i, bits), bits) != read_bits(b.bytes, b.bit(i, bits), bits);
    return std::memcmp(a.bytes + a.bit(i, bits) / 8, b.bytes + b.bit(i, bits) / 8,
                       static_cast<std::size_t>(bits / 8)) != 0;
}

/// The first of `count` elements that differs, or `count`.
inline index_t first_difference(element_row const& a, element_row const& b, index_t count,
                                int bits) {
    bool const is_dense = a.step == 1 && b.step == 1 && bits >= 8;
    if (is_dense && std::memcmp(a.bytes + a.bit(0, bits) / 8, b.bytes + b.bit(0, bits) / 8,
                                static_cast<std::size_t>(count * bits / 8)) == 0)
        return count;
    index_t i = 0;
    while (i < count && !differs_at(a, b, i, bits))
        ++i;
    return i;
}

/// The place in `b` of the first element that differs, as an offset from its first one, or nothing.
///
/// Both sides are row-major, so that fusing axes keeps the order of elements.
inline std::optional<index_t> first_difference(affine_copy const& loop, const_tensor_view const& a,
                                               const_tensor_view const& b) {
    affine_copy outer = fuse(loop);
    index_t count = 1, a_step = 1, b_step = 1;
    if (outer.ndim() > 0) {
        std::size_t const last = outer.ndim() - 1;
        count = outer.extent[last];
        a_step = outer.source_strides[last];
        b_step = outer.target_strides[last];
        outer.extent = {outer.extent.begin(), outer.extent.end() - 1};
        outer.source_strides = {outer.source_strides.begin(), outer.source_strides.end() - 1};
        outer.target_strides = {outer.target_strides.begin(), outer.target_strides.end() - 1};
    }
    index_t const rows = count == 0 ? 0 : element_count(outer.extent);
    for (index_t row = 0; row < rows; ++row) {
        index_vector const at = unravel_index(row, outer.extent);
        index_t const a_first = outer.source_offset + linear_offset(at, outer.source_strides);
        index_t const b_first = outer.target_offset + linear_offset(at, outer.target_strides);
        index_t const found = first_difference(
            element_row{static_cast<unsigned char const*>(a.data), a_first, a_step},
            element_row{static_cast<unsigned char const*>(b.data), b_first, b_step}, count,
            bits(a.dtype));
        if (found < count)
            return b_first + found * b_step;
    }
    return std::nullopt;
}

/// The global index of the element at `place` in the memory of a shard.
inline index_vector global_index(shard_table const& table, std::size_t shard, index_t place) {
    box const region = table.region(shard);
    auto const flat = table.flat(shard);
    index_vector index = unravel_index(place + (flat ? flat->begin : 0), region.shape);
    for (std::size_t axis = 0; axis < index.size(); ++axis)
        index[axis] += region.offset[axis];
    return index;
}

/// One tensor of a checkpoint: the boxes that it is stored as, each once.
class stored_tensor {
public:
    /// \throws error with errc::not_covered or errc::overlap where the shards are not the whole tensor
    stored_tensor(checkpoint const& source, std::size_t number)
        : source_(source),
          number_(number),
          tensor_(source.files_layout().tensors[number]),
          boxes_(tensor_.shape.size()) {
        for (std::uint32_t const shard : main_copies(tensor_.shards))
            for (box const& part : tensor_.shards.boxes(shard)) {
                boxes_.push_back(part);
                shards_.push_back(shard);
            }
        check_cover();
    }

    tensor_layout const& tensor() const { return tensor_; }
    box_list const& boxes() const { return boxes_; }
    std::uint32_t shard(std::size_t i) const { return shards_[i]; }
    const_tensor_view const& view(std::size_t i) const { return source_.view(number_, shards_[i]); }

    memory_place place(std::size_t i, index_vector const& global) const {
        return place_in_shard(tensor_.shards, shards_[i], global, view(i).strides);
    }

    /// The element at a global index, as `text(view, place)` has it.
    template <class Text>
    std::string element(index_vector const& global, Text&& text) const {
        box const wanted{global, index_vector::filled(global.size(), 1)};
        std::size_t i = 0;
        while (!contains(boxes_[i], wanted))
            ++i;
        return text(view(i), place(i, global).offset);
    }

private:
    void check_cover() const {
        auto const fault = find_cover_fault(whole(tensor_.shape), box_index(boxes_));
        if (!fault)
            return;
        bool const is_gap = fault->what == cover_fault::kind::gap;
        fail(is_gap ? errc::not_covered : errc::overlap,
             source_.metadata().path.string() + ": '" + tensor_.key + "': elements " +
                 to_string(fault->where) + " are held by " +
                 (is_gap ? "no file" : "more than one shard"));
    }

    checkpoint const& source_;
    std::size_t number_;
    tensor_layout const& tensor_;
    box_list boxes_;
    std::vector<std::uint32_t> shards_;
};

/// The first element, in row-major order, in which two tensors of one kind differ.
inline std::optional<index_vector> first_difference(stored_tensor const& a,
                                                    stored_tensor const& b) {
    box_index const stored_in_b(b.boxes());
    std::optional<index_vector> first;
    for (std::size_t i = 0; i < a.boxes().size(); ++i)
        stored_in_b.for_each_overlap(a.boxes()[i], [&](std::uint32_t j, box const& common) {
            memory_place const from = a.place(i, common.offset), to = b.place(j, common.offset);
            auto const found =
                first_difference({common.shape, from.offset, from.strides, to.offset, to.strides},
                                 a.view(i), b.view(j));
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
