// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_KEY_INDEX_HPP
#define RESHARD_CORE_KEY_INDEX_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

/// \file
/// Where each key stands in a list that grows at its end.

namespace reshard::detail {

/// A hash table of the places of a list's keys; the keys stay in the list, which `key_at(place)`
/// shows.
///
/// Linear probing over the places: a value that may be copied, which a set of views into the keys
/// may not.
class key_index {
public:
    /// The place of `key`, if the list has it.
    template <class KeyAt>
    std::optional<std::uint32_t> find(std::string_view key, KeyAt&& key_at) const {
        if (slots_.empty())
            return std::nullopt;
        slot const& found = slots_[slot_of(key, hash_of(key), key_at)];
        return found.place == none ? std::nullopt : std::optional(found.place);
    }

    /// Notes that `key` stands at `place`.
    ///
    /// \pre the list did not have it
    void append(std::string_view key, std::uint32_t place);

    /// The place of `key`; where the list does not have it, `add()` appends it and returns its
    /// place.
    template <class KeyAt, class Add>
    std::uint32_t find_or_append(std::string_view key, KeyAt&& key_at, Add&& add) {
        make_room();
        std::uint32_t const hash = hash_of(key);
        slot& found = slots_[slot_of(key, hash, key_at)];
        if (found.place == none) {
            found = {hash, add()};
            ++count_;
        }
        return found.place;
    }

private:
    static constexpr std::uint32_t none = 0xffffffff;

    /// A place and the hash of its key, so that other keys are seldom looked at.
    struct slot {
        std::uint32_t hash = 0;
        std::uint32_t place = none;
    };

    static std::uint32_t hash_of(std::string_view key) {
        return static_cast<std::uint32_t>(std::hash<std::string_view>{}(key));
    }

    std::size_t mask() const { return slots_.size() - 1; }

    /// The slot that has `key`, or the empty one that it would be put into.
    template <class KeyAt>
    std::size_t slot_of(std::string_view key, std::uint32_t hash, KeyAt& key_at) const {
        std::size_t at = hash & mask();
        while (slots_[at].place != none &&
               (slots_[at].hash != hash || key_at(slots_[at].place) != key))
            at = (at + 1) & mask();
        return at;
    }

    void put(slot one);

    /// Makes the table large enough for one more.
    void make_room();

    std::vector<slot> slots_; ///< a power of two of them, at most half of them taken
    std::uint32_t count_ = 0;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/core/impl/key_index.ipp>
#endif

#endif
