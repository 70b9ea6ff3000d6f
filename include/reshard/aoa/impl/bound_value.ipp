// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_BOUND_VALUE_IPP
#define RESHARD_AOA_IMPL_BOUND_VALUE_IPP

#include <reshard/aoa/bound_value.hpp>

#include <boost/assert.hpp>

namespace reshard::aoa::detail {

RESHARD_DECL reshard::detail::key_id bound_value::first_source() const {
    for (std::size_t i = 0; i < tensor.pieces.size(); ++i)
        if (tensor.pieces.source(i) != reshard::detail::zero_source)
            return tensor.pieces.source(i);
    BOOST_ASSERT(!sources.empty());
    return sources.front();
}

RESHARD_DECL bool has_source_elements(expression const& tensor) {
    for (std::size_t i = 0; i < tensor.pieces.size(); ++i)
        if (tensor.pieces.source(i) != reshard::detail::zero_source)
            return true;
    return false;
}

} // namespace reshard::aoa::detail

#endif
