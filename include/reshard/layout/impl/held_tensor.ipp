// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_IMPL_HELD_TENSOR_IPP
#define RESHARD_LAYOUT_IMPL_HELD_TENSOR_IPP

#include <reshard/layout/held_tensor.hpp>

namespace reshard::detail {

RESHARD_DECL held_tensor held_in(layout const&, tensor_layout const& tensor) {
    return {tensor.shape, tensor.dtype, &tensor.shards, no_spread};
}

RESHARD_DECL held_tensor held_in(compact_layout const& all, compact_tensor const& tensor) {
    tensor_spread const& spread = all.spread_of(tensor);
    return {spread.shape, tensor.dtype, spread.view(), tensor.spread};
}

} // namespace reshard::detail

#endif
