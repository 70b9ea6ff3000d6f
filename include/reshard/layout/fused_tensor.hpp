// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_FUSED_TENSOR_HPP
#define RESHARD_LAYOUT_FUSED_TENSOR_HPP

#include <reshard/core/index_vector.hpp>

#include <functional>
#include <map>
#include <string>

/// \file
/// Which tensors have several others interleaved, so that they can be cut in some ways only.

namespace reshard::detail {

/// A tensor that has, block after block along an axis, a part of each of several others.
///
/// Whether its shards suit a tensor-parallel job depends on the number of parts that it was made
/// for, which its elements do not show.
struct fused_tensor {
    index_t axis = 0;
    index_t blocks = 1; ///< one for each rank that it was cut for
    std::string macro;  ///< how a program writes it: `fused_ffn, axis=0`

    auto operator<=>(fused_tensor const&) const = default;
};

/// Fused tensors by key.
using fused_tensors = std::map<std::string, fused_tensor, std::less<>>;

} // namespace reshard::detail

#endif
