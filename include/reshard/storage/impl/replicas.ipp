// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_REPLICAS_IPP
#define RESHARD_STORAGE_IMPL_REPLICAS_IPP

#include <reshard/storage/replicas.hpp>

namespace reshard::detail {

RESHARD_DECL std::vector<std::size_t> tensors_used(plan_problem const& work, layout const& held) {
    std::vector<bool> is_used(held.tensors.size(), false);
    for (target_side const& target : work.targets)
        for (std::size_t i = 0; i < target.pieces->size(); ++i) {
            key_id const source = target.pieces->source(i);
            if (source == zero_source)
                continue;
            if (tensor_layout const* const tensor = held.find(work.sources[source].key))
                is_used[static_cast<std::size_t>(tensor - held.tensors.data())] = true;
        }
    std::vector<std::size_t> used;
    for (std::size_t i = 0; i < is_used.size(); ++i)
        if (is_used[i])
            used.push_back(i);
    return used;
}

} // namespace reshard::detail

#endif
