// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_KEY_INDEX_HPP
#define RESHARD_CORE_KEY_INDEX_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// Finds keys: the index of each key in a growing list, and the key nearest to a misspelt one.

namespace reshard::detail {

/// The minimum number of characters to insert, remove, replace or swap with a neighbour to turn `a`
/// into `b`. Returns `most + 1` if the number exceeds `most`.
///
/// \par Source the optimal string alignment distance, within a band of width `most` around the
///             diagonal
RESHARD_DECL std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t most);

/// Finds the text that is nearest to an unknown text, if it is near enough.
///
/// At most a quarter of the characters may differ, and at most 8. If several texts are equally
/// near, the first one is the result. The time for each text is proportional to its length; at most
/// 4096 texts are compared in full.
class nearest_text {
public:
    /// \param same_numbers whether the digits must match: layer 3 is not a typo of layer 2
    nearest_text(std::string_view wanted, bool same_numbers);

    void look_at(std::string_view text) { look_at(text, text); }

    /// Considers `text` as a candidate. The question shows it as `shown`.
    void look_at(std::string_view text, std::string_view shown);

    /// The question ` (did you mean 'model.norm.weight'?)`, or an empty text.
    std::string question() const {
        return found_.empty() ? std::string() : " (did you mean '" + found_ + "'?)";
    }

private:
    static constexpr std::size_t longest = 512;
    static constexpr std::size_t most_compared = 4096;

    static constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

    /// True if a quick test shows that a text is further away than the best match.
    bool is_far(std::string_view text) const;

    bool has_same_numbers(std::string_view text) const;

    /// A lower bound of the distance: the number of letters that only one of the texts has.
    std::size_t other_letters(std::string_view text) const;

    std::string_view wanted_;
    bool same_numbers_;
    std::size_t limit_; ///< the largest distance of a better match
    std::size_t compared_ = 0;
    std::array<int, 256> letters_{};
    std::string found_;
};

/// Returns ` (did you mean 'axis'?)` if one of `words` is near, otherwise an empty text. `text_of`
/// returns the text of a word.
template <class Words, class TextOf = std::identity>
std::string did_you_mean(std::string_view wanted, Words const& words, TextOf const& text_of = {}) {
    nearest_text search(wanted, false);
    for (auto const& word : words)
        search.look_at(std::invoke(text_of, word));
    return search.question();
}

/// `did_you_mean` for the keys of tensors: a different number in a key is not a typo.
template <class Keys, class KeyOf = std::identity>
std::string did_you_mean_key(std::string_view wanted, Keys const& keys, KeyOf const& key_of = {}) {
    nearest_text search(wanted, true);
    for (auto const& element : keys)
        search.look_at(std::invoke(key_of, element));
    return search.question();
}

/// Texts in one block of memory, numbered from 0.
class text_list {
public:
    /// Reserves memory for `texts` more texts with `characters` characters in total.
    void reserve_more(std::size_t texts, std::size_t characters);

    /// Appends the concatenation of two texts, and returns its number.
    std::uint32_t push_back(std::string_view text, std::string_view behind = {});

    /// Removes all texts but keeps their memory.
    void clear() {
        characters_.clear();
        ends_.clear();
    }

    std::size_t size() const { return ends_.size(); }

    /// The text with that number. It is valid until the next `push_back`.
    std::string_view operator[](std::uint32_t id) const;

    bool operator==(text_list const&) const = default;

private:
    vector<char> characters_;
    vector<std::size_t> ends_;
};

/// A hash table from the keys of a list to their indices. The keys stay in the list;
/// `key_at(index)` returns a key.
///
/// Uses linear probing. Unlike a set of views of the keys, the table can be copied together with
/// the list.
class key_index {
public:
    /// The index of `key`, or std::nullopt if the list lacks it.
    std::optional<std::uint32_t> find(std::string_view key, auto&& key_at) const {
        if (slots_.empty())
            return std::nullopt;
        slot const& found_slot = slots_[slot_of(key, hash_of(key), key_at)];
        return found_slot.position == none ? std::nullopt : std::optional(found_slot.position);
    }

    /// Records that `key` has the index `index`.
    ///
    /// \pre the table does not have the key
    void append(std::string_view key, std::uint32_t index);

    /// The index of `key`; if the list lacks it, `add()` appends it and returns its index.
    template <class KeyAt, class Add>
    std::uint32_t find_or_append(std::string_view key, KeyAt&& key_at, Add&& add) {
        make_room();
        std::uint32_t const hash = hash_of(key);
        slot& found_slot = slots_[slot_of(key, hash, key_at)];
        if (found_slot.position == none) {
            found_slot = {hash, add()};
            ++count_;
        }
        return found_slot.position;
    }

private:
    static constexpr std::uint32_t none = 0xffffffff;

    /// An index and the hash of its key. Comparing hashes avoids most comparisons of keys.
    struct slot {
        std::uint32_t hash = 0;
        std::uint32_t position = none;
    };

    static std::uint32_t hash_of(std::string_view key) {
        return static_cast<std::uint32_t>(std::hash<std::string_view>{}(key));
    }

    std::size_t mask() const { return slots_.size() - 1; }

    /// The slot of `key`, or the empty slot for it.
    std::size_t slot_of(std::string_view key, std::uint32_t hash, auto& key_at) const {
        std::size_t at = hash & mask();
        while (slots_[at].position != none &&
               (slots_[at].hash != hash || key_at(slots_[at].position) != key))
            at = (at + 1) & mask();
        return at;
    }

    void put(slot current_slot);

    /// Enlarges the table if one more key does not fit.
    void make_room();

    vector<slot> slots_; ///< their number is a power of two; at most half of them are used
    std::uint32_t count_ = 0;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/core/impl/key_index.ipp>
#endif

#endif
