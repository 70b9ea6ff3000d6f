// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BIND_IMPL_COPY_TABLE_IPP
#define RESHARD_BIND_IMPL_COPY_TABLE_IPP

#include <reshard/bind/copy_table.hpp>

#include <reshard/core/config.hpp>
#include <reshard/core/hasher.hpp>

#include <span>

namespace reshard::detail {

RESHARD_DECL std::uint32_t copy_table::add(affine_copy const& copy,
                                           element_conversion const& conversion, stores how) {
    auto const number = static_cast<std::uint32_t>(copies_.size());
    auto const [place, is_new] = numbers_.try_emplace({copy, conversion, how}, number);
    if (is_new)
        copies_.push_back(prepare(copy, conversion, how));
    return place->second;
}

RESHARD_DECL std::size_t copy_table::hash::operator()(description const& one) const {
    hasher digest;
    digest.add(std::span<index_t const>(one.copy.extent));
    digest.add(std::span<index_t const>(one.copy.source_strides));
    digest.add(std::span<index_t const>(one.copy.target_strides));
    digest.add(static_cast<std::uint64_t>(one.copy.source_offset));
    digest.add(static_cast<std::uint64_t>(one.copy.target_offset));
    return digest.value();
}

} // namespace reshard::detail

#endif
