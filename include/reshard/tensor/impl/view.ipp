// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TENSOR_IMPL_VIEW_IPP
#define RESHARD_TENSOR_IMPL_VIEW_IPP

#include <reshard/tensor/view.hpp>

namespace reshard {

RESHARD_DECL std::string to_string(const_tensor_view const& elements) {
    return std::string(name(elements.dtype)) + " " + to_string(elements.shape) + " strides " +
           to_string(elements.strides) +
           (elements.memory.is_host() ? "" : " on " + to_string(elements.memory));
}

} // namespace reshard

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
