// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_HELD_TENSOR_HPP
#define RESHARD_LAYOUT_HELD_TENSOR_HPP

#include <reshard/core/config.hpp>
#include <reshard/layout/compact_layout.hpp>
#include <reshard/layout/tensor_shards.hpp>

#include <cstdint>

/// \file
/// A tensor of either kind of layout, seen alike.

namespace reshard::detail {

/// A tensor of a layout that lists its shards, or of one that computes them. Refers to the layout.
struct held_tensor {
    index_vector const& shape; ///< global
    data_type dtype;
    tensor_shards shards;
    std::uint32_t spread; ///< tensors of one number have the same shards
};

/// \pre `tensor` is one of the layout's
RESHARD_DECL held_tensor held_in(layout const&, tensor_layout const& tensor);

RESHARD_DECL held_tensor held_in(compact_layout const& all, compact_tensor const& tensor);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/layout/impl/held_tensor.ipp>
#endif

#endif
