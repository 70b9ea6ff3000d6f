// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_IMPL_TEXT_LIST_IPP
#define RESHARD_CORE_IMPL_TEXT_LIST_IPP

#include <reshard/core/text_list.hpp>

#include <reshard/core/config.hpp>

#include <boost/assert.hpp>

namespace reshard::detail {

RESHARD_DECL void text_list::reserve_more(std::size_t texts, std::size_t characters) {
    characters_.reserve(characters_.size() + characters);
    ends_.reserve(ends_.size() + texts);
}

RESHARD_DECL std::uint32_t text_list::push_back(std::string_view text, std::string_view behind) {
    characters_.insert(characters_.end(), text.begin(), text.end());
    characters_.insert(characters_.end(), behind.begin(), behind.end());
    ends_.push_back(characters_.size());
    return static_cast<std::uint32_t>(ends_.size() - 1);
}

RESHARD_DECL std::string_view text_list::operator[](std::uint32_t id) const {
    BOOST_ASSERT(id < ends_.size());
    std::size_t const first = id == 0 ? 0 : ends_[id - 1];
    return {characters_.data() + first, ends_[id] - first};
}

} // namespace reshard::detail

#endif
