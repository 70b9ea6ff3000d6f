// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_IMPL_SHARD_RULES_IPP
#define RESHARD_LAYOUT_IMPL_SHARD_RULES_IPP

#include <reshard/layout/shard_rules.hpp>

namespace reshard {

RESHARD_DECL detail::ruled_shards apply(shard_rules const& layer,
                                        std::vector<detail::named_tensor> const& tensors,
                                        detail::equal_share share) {
    detail::ruled_shards result{{}, std::vector<bool>(layer.rules.size()), {}};
    for (detail::named_tensor const& tensor : tensors) {
        std::string const key = layer.prefix + tensor.name;
        std::size_t i = 0;
        while (i < layer.rules.size() && !layer.rules[i].match.matches(tensor.name))
            ++i;
        if (i == layer.rules.size())
            result.unruled.push_back(key);
        else
            result.used[i] = true;
        auto const axis = i < layer.rules.size() ? layer.rules[i].axis : std::nullopt;
        result.shards.push_back(axis ? equal_shares(key, tensor.dtype, tensor.shape,
                                                    {{*axis, share.index, share.count}})
                                     : replicated(key, tensor.dtype, tensor.shape));
    }
    return result;
}

} // namespace reshard

#endif
