// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TENSOR_IMPL_JOIN_NEIGHBOURS_IPP
#define RESHARD_TENSOR_IMPL_JOIN_NEIGHBOURS_IPP

#include <reshard/tensor/join_neighbours.hpp>

namespace reshard::detail {

RESHARD_DECL address_range addresses(const_tensor_view const& elements) {
    auto const base = reinterpret_cast<std::uintptr_t>(elements.data);
    if (element_count(elements.shape) == 0)
        return {base, base};
    auto const reach = reach_of(elements.shape, elements.strides);
    return {base - static_cast<std::uintptr_t>(byte_count(reach.before, elements.dtype)),
            base + static_cast<std::uintptr_t>(
                       byte_count(checked_add(reach.behind, 1, strides_reach), elements.dtype))};
}

RESHARD_DECL bool may_share_memory(const_tensor_view const& a, const_tensor_view const& b) {
    return a.memory == b.memory && overlap(addresses(a), addresses(b));
}

} // namespace reshard::detail

#endif
