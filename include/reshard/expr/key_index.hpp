// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_KEY_INDEX_HPP
#define RESHARD_EXPR_KEY_INDEX_HPP

#include <reshard/core/hasher.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Where each key stands in a list that grows at its end.

namespace reshard::detail {

/// A hash table of the places of a list's keys; the keys stay in the list, which `key_at(place)`
/// shows.
///
/// What it holds depends on the list alone: equal lists have equal indices.
class key_index {
public:
    /// The place of `key`, if the list has it.
    template <class KeyAt>
    std::optional<std::uint32_t> find(std::string_view key, KeyAt&& key_at) const {
        if (slots_.empty())
            return std::nullopt;
        std::uint32_t const wanted = hash_of(key);
        for (std::size_t at = wanted & mask();; at = (at + 1) & mask())
            if (slots_[at].place == none)
                return std::nullopt;
            else if (slots_[at].hash == wanted && key_at(slots_[at].place) == key)
                return slots_[at].place;
    }

    /// Notes that `key` stands at `place`, the end of the list.
    ///
    /// \pre the list did not have it, and has noted the `place` keys before it
    void append(std::string_view key, std::uint32_t place) {
        if (2 * (std::size_t{place} + 1) > slots_.size())
            grow();
        put({hash_of(key), place});
    }

    bool operator==(key_index const&) const = default;

private:
    static constexpr std::uint32_t none = 0xffffffff;

    struct slot {
        std::uint32_t hash = 0;
        std::uint32_t place = none;

        bool operator==(slot const&) const = default;
    };

    static std::uint32_t hash_of(std::string_view key) {
        hasher digest;
        digest.add(key);
        return static_cast<std::uint32_t>(digest.value());
    }

    std::size_t mask() const { return slots_.size() - 1; }

    void put(slot one) {
        std::size_t at = one.hash & mask();
        while (slots_[at].place != none)
            at = (at + 1) & mask();
        slots_[at] = one;
    }

    void grow() {
        std::vector<slot> const before =
            std::exchange(slots_, std::vector<slot>(slots_.empty() ? 8 : 2 * slots_.size()));
        for (slot const& one : before)
            if (one.place != none)
                put(one);
    }

    std::vector<slot> slots_; ///< a power of two of them, at most half of them taken
};

} // namespace reshard::detail

#endif
