// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_IMPL_INDEX_VECTOR_IPP
#define RESHARD_CORE_IMPL_INDEX_VECTOR_IPP

#include <reshard/core/index_vector.hpp>

namespace reshard {

namespace detail {

RESHARD_DECL void fail_many_axes() {
    fail(errc::limit_exceeded, "a tensor has more than ", max_ndim, " axes");
}

RESHARD_DECL void fail_product(index_t a, index_t b, std::string_view noun) {
    fail(errc::overflow, "the product of ", noun, " ", a, " and ", b, " does not fit in 64 bits");
}

RESHARD_DECL void fail_sum(index_t a, index_t b, std::string_view noun) {
    fail(errc::overflow, "the sum of ", noun, " ", a, " and ", b, " does not fit in 64 bits");
}

} // namespace detail

RESHARD_DECL std::string to_string(index_vector const& numbers) {
    std::string text = "[";
    for (index_t const number : numbers)
        text += (text.size() > 1 ? ", " : "") + std::to_string(number);
    return text + "]";
}

} // namespace reshard

#endif
