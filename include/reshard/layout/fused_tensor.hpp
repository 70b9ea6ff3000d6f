// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_FUSED_TENSOR_HPP
#define RESHARD_LAYOUT_FUSED_TENSOR_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/index_vector.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Which tensors have several others interleaved, so that they can be cut in some ways only.

namespace reshard::detail {

/// A tensor that has, block after block along an axis, a part of each of several others.
///
/// Whether its shards are those of a tensor-parallel job depends on the number of parts that it
/// was made for, which its elements do not show.
struct fused_tensor {
    std::string key;
    index_t axis = 0;
    index_t blocks = 1; ///< as many as ranks that it was cut for
    std::string macro;  ///< how a program writes it: `fused_ffn, axis=0`

    static constexpr void members(auto& self, auto&& visit) {
        visit(self.key, self.axis, self.blocks, self.macro);
    }

    bool operator==(fused_tensor const&) const = default;
};

/// \throws error with errc::bad_layout
inline void validate(fused_tensor const& one) {
    if (one.axis < 0 || one.blocks < 1)
        fail(errc::bad_layout, "it has '", one.key, "' interleaved in ", one.blocks,
             " blocks along axis ", one.axis);
}

/// The tensor of that key in a list, or null.
inline fused_tensor const* find_fused(std::vector<fused_tensor> const& list, std::string_view key) {
    auto const place = std::ranges::find(list, key, &fused_tensor::key);
    return place == list.end() ? nullptr : &*place;
}

} // namespace reshard::detail

#endif
