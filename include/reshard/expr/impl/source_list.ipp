// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_SOURCE_LIST_IPP
#define RESHARD_EXPR_IMPL_SOURCE_LIST_IPP

#include <reshard/expr/source_list.hpp>

#include <reshard/core/config.hpp>

#include <boost/assert.hpp>

namespace reshard::detail {

RESHARD_DECL auto source_list::end() const -> iterator {
    return {*this, static_cast<key_id>(size())};
}

RESHARD_DECL mapping_source source_list::operator[](key_id id) const {
    BOOST_ASSERT(id < size());
    facts const& one = facts_[id];
    index_t const* const first = extents_.data() + one.first_extent;
    return {keys_[id], index_vector(first, first + one.ndim), one.dtype};
}

RESHARD_DECL void source_list::reserve(std::size_t tensors, std::size_t characters) {
    keys_.reserve_more(tensors, characters);
    facts_.reserve(tensors);
    extents_.reserve(2 * tensors);
}

RESHARD_DECL void source_list::push_back(mapping_source const& tensor) {
    keys_.push_back(tensor.key);
    facts_.push_back({static_cast<std::uint32_t>(extents_.size()), tensor.dtype,
                      static_cast<std::uint8_t>(tensor.shape.size())});
    extents_.insert(extents_.end(), tensor.shape.begin(), tensor.shape.end());
}

} // namespace reshard::detail

#endif
