// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_IMPL_INDEX_VECTOR_IPP
#define RESHARD_CORE_IMPL_INDEX_VECTOR_IPP

#include <reshard/core/index_vector.hpp>

namespace reshard {

RESHARD_DECL std::string to_string(index_vector const& numbers) {
    std::string text = "[";
    for (index_t const number : numbers)
        text += (text.size() > 1 ? ", " : "") + std::to_string(number);
    return text + "]";
}

} // namespace reshard

#endif
