// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_IMPL_TENSOR_UNION_IPP
#define RESHARD_FORMAT_IMPL_TENSOR_UNION_IPP

#include <reshard/format/tensor_union.hpp>

#include <reshard/core/config.hpp>

#include <algorithm>
#include <utility>

namespace reshard::detail {

RESHARD_DECL void tensor_union::add_whole(holder_t file, file_shard const& shard) {
    if (auto const known = numbers_.find(shard.key); known != numbers_.end())
        refuse(shard.key, entries_[known->second].tensor.shards.front().file, file,
               "it is in both, and no metadata says that these are shards");
    add(file, shard);
}

RESHARD_DECL void tensor_union::add(holder_t file, file_shard const& shard) {
    auto const [known, is_new] = numbers_.try_emplace(shard.key, entries_.size());
    if (is_new)
        entries_.push_back({{shard.key, shard.dtype, extents_to_end(shard.region), {}}, {}});
    entry& one = entries_[known->second];
    if (!is_new)
        check_same(one, file, shard);
    if (shard.global_shape)
        state(one, file, *shard.global_shape);
    else if (!one.stated_by)
        grow(one.tensor.shape, shard.region);
    one.tensor.shards.push_back({file, shard.region, shard.flat, shard.begin, shard.end});
}

RESHARD_DECL std::vector<checkpoint_tensor> tensor_union::take() {
    std::vector<checkpoint_tensor> tensors;
    for (entry& one : entries_) {
        if (one.stated_by)
            check_inside(one);
        element_count_of(one.tensor.shape, "tensor '" + one.tensor.key + "' in " +
                                               path(one.tensor.shards.front().file) + ": ");
        tensors.push_back(std::move(one.tensor));
    }
    std::sort(tensors.begin(), tensors.end(),
              [](auto const& a, auto const& b) { return a.key < b.key; });
    return tensors;
}

RESHARD_DECL std::string tensor_union::path(holder_t file) const {
    return files_[file].path.string();
}

RESHARD_DECL void tensor_union::refuse(std::string const& key, holder_t first, holder_t second,
                                       std::string const& text) const {
    fail(errc::corrupt_file,
         path(second) + " and " + path(first) + ": tensor '" + key + "': " + text);
}

RESHARD_DECL index_vector tensor_union::extents_to_end(box const& region) {
    index_vector shape;
    for (std::size_t axis = 0; axis < region.ndim(); ++axis)
        shape.push_back(region.end(axis));
    return shape;
}

RESHARD_DECL void tensor_union::grow(index_vector& shape, box const& region) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
        shape[axis] = std::max(shape[axis], region.end(axis));
}

RESHARD_DECL void tensor_union::check_same(entry const& one, holder_t file,
                                           file_shard const& shard) const {
    holder_t const first = one.tensor.shards.front().file;
    if (one.tensor.dtype != shard.dtype)
        refuse(shard.key, first, file,
               "the data type is " + std::string(code(shard.dtype)) + " in the former and " +
                   std::string(code(one.tensor.dtype)) + " in the latter");
    if (one.tensor.shape.size() != shard.region.ndim())
        refuse(shard.key, first, file,
               "it has " + std::to_string(shard.region.ndim()) + " axes in the former and " +
                   std::to_string(one.tensor.shape.size()) + " in the latter");
}

RESHARD_DECL void tensor_union::state(entry& one, holder_t file, index_vector const& shape) const {
    if (one.stated_by && one.tensor.shape != shape)
        refuse(one.tensor.key, *one.stated_by, file,
               "the global shape is " + to_string(shape) + " in the former and " +
                   to_string(one.tensor.shape) + " in the latter");
    if (!one.stated_by)
        one.stated_by = file;
    one.tensor.shape = shape;
}

RESHARD_DECL void tensor_union::check_inside(entry const& one) const {
    for (checkpoint_shard const& shard : one.tensor.shards)
        for (std::size_t axis = 0; axis < one.tensor.shape.size(); ++axis)
            if (shard.region.end(axis) > one.tensor.shape[axis])
                refuse(one.tensor.key, *one.stated_by, shard.file,
                       "axis " + std::to_string(axis) + ": a shard of the former ends at " +
                           std::to_string(shard.region.end(axis)) + ", beyond the global extent " +
                           std::to_string(one.tensor.shape[axis]) + " that the latter states");
}

} // namespace reshard::detail

#endif
