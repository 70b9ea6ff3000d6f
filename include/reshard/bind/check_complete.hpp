// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_CHECK_COMPLETE_HPP
#define RESHARD_BIND_CHECK_COMPLETE_HPP

#include <reshard/bind/shard_views.hpp>
#include <reshard/core/config.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// \file
/// Does a rank hold everything that a layout assigns to it?

namespace reshard::detail {

/// The shards of a holder that have elements.
RESHARD_DECL std::vector<std::uint32_t> shards_held(tensor_shards const& shards, holder_t holder);

/// Refuses tensors among which a shard is missing that `whole` gives to `holder`. A shard without
/// elements may be left out.
///
/// Looks at each way of spreading once.
///
/// \throws error with errc::bad_layout that names the shard
template <class View>
void check_complete(shard_views<View> const& views, compact_layout const& whole, holder_t holder) {
    std::vector<std::optional<std::vector<std::uint32_t>>> held(whole.spreads.size());
    for (std::uint32_t t = 0; t < whole.tensors.size(); ++t) {
        compact_tensor const& tensor = whole.tensors[t];
        tensor_spread const& spread = whole.spread_of(tensor);
        auto& shards = held[tensor.spread];
        if (!shards)
            shards = shards_held(spread.view(), holder);
        for (std::uint32_t const i : *shards)
            if (!views.contains(t, i))
                fail(errc::bad_layout,
                     "rank " + std::to_string(holder) + " holds no tensor for " +
                         to_string(shard_descriptor{tensor.key, tensor.dtype, spread.shape,
                                                    spread.view().region(i), spread.view().flat(i),
                                                    spread.view().cycles(i)}) +
                         ", which the layout assigns to it; add it to the state dict");
    }
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/bind/impl/check_complete.ipp>
#endif

#endif
