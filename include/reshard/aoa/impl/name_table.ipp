// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_NAME_TABLE_IPP
#define RESHARD_AOA_IMPL_NAME_TABLE_IPP

#include <reshard/aoa/name_table.hpp>

#include <reshard/core/config.hpp>

namespace reshard::aoa::detail {

RESHARD_DECL std::uint32_t name_table::intern(std::string_view text) {
    auto const text_at = [this](std::uint32_t id) { return texts_[id]; };
    return places_.find_or_append(text, text_at, [&] { return texts_.push_back(text); });
}

} // namespace reshard::aoa::detail

#endif
