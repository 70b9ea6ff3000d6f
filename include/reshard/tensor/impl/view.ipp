// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TENSOR_IMPL_VIEW_IPP
#define RESHARD_TENSOR_IMPL_VIEW_IPP

#include <reshard/tensor/view.hpp>

namespace reshard {

RESHARD_DECL std::string to_string(const_tensor_view const& elements) {
    return std::string(name(elements.dtype)) + " " + to_string(elements.shape) + " strides " +
           to_string(elements.strides) +
           (elements.memory == memory_kind::device ? " on a device" : "");
}

} // namespace reshard

#endif
