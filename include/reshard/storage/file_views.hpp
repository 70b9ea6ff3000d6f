// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_FILE_VIEWS_HPP
#define RESHARD_STORAGE_FILE_VIEWS_HPP

#include <reshard/bind/shard_views.hpp>
#include <reshard/format/checkpoint_metadata.hpp>

#include <cstdint>
#include <vector>

/// \file
/// The tensors in mapped files, as tensors in memory.

namespace reshard::detail {

/// A shard of a file as a tensor; `file` is the file's first byte.
template <class View, class Byte>
View view_in_file(checkpoint_tensor const& tensor, checkpoint_shard const& shard, Byte* file) {
    index_vector const shape = shard.flat ? index_vector{shard.flat->size()} : shard.region.shape;
    return View{file + shard.begin, tensor.dtype, shape, row_major_strides(shape)};
}

/// The shards of the files that are there, found by their place in `layout_of(metadata)`.
///
/// `files[i]` is the first byte of file `i`, or null where this process does not have it.
template <class View, class Byte>
shard_views<View> views_in_files(checkpoint_metadata const& metadata,
                                 std::vector<Byte*> const& files) {
    shard_views<View> views;
    for (std::uint32_t t = 0; t < metadata.tensors.size(); ++t) {
        checkpoint_tensor const& tensor = metadata.tensors[t];
        for (std::uint32_t i = 0; i < tensor.shards.size(); ++i)
            if (Byte* const file = files[tensor.shards[i].file])
                views.add(t, i, view_in_file<View>(tensor, tensor.shards[i], file));
    }
    return views;
}

} // namespace reshard::detail

#endif
