// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_DOWNSTREAM_IPP
#define RESHARD_AOA_IMPL_DOWNSTREAM_IPP

#include <reshard/aoa/downstream.hpp>

#include <reshard/core/config.hpp>

namespace reshard::aoa::detail {

RESHARD_DECL std::uint32_t downstream::of(std::string_view key) const {
    auto const id = code_.find(key);
    return !id || source_[*id] == none ? none : first_[source_[*id]];
}

} // namespace reshard::aoa::detail

#endif
