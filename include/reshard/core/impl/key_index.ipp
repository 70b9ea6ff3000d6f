// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_IMPL_KEY_INDEX_IPP
#define RESHARD_CORE_IMPL_KEY_INDEX_IPP

#include <reshard/core/key_index.hpp>

#include <reshard/core/config.hpp>

#include <utility>

namespace reshard::detail {

RESHARD_DECL void key_index::append(std::string_view key, std::uint32_t place) {
    make_room();
    put({hash_of(key), place});
    ++count_;
}

RESHARD_DECL void key_index::put(slot one) {
    std::size_t at = one.hash & mask();
    while (slots_[at].place != none)
        at = (at + 1) & mask();
    slots_[at] = one;
}

RESHARD_DECL void key_index::make_room() {
    if (2 * (std::size_t{count_} + 1) <= slots_.size())
        return;
    std::vector<slot> const before =
        std::exchange(slots_, std::vector<slot>(slots_.empty() ? 64 : 2 * slots_.size()));
    for (slot const& one : before)
        if (one.place != none)
            put(one);
}

} // namespace reshard::detail

#endif
