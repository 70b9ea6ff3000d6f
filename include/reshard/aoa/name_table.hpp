// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_NAME_TABLE_HPP
#define RESHARD_AOA_NAME_TABLE_HPP

#include <boost/assert.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Texts by number: a program of a hundred thousand names stores each once and compares integers.

namespace reshard::aoa {

/// Texts one after the other in one allocation, numbered in the order in which they came.
class text_list {
public:
    /// Appends a text with another one behind it; the result is its number.
    std::uint32_t push_back(std::string_view text, std::string_view behind = {}) {
        characters_ += text;
        characters_ += behind;
        ends_.push_back(characters_.size());
        return static_cast<std::uint32_t>(ends_.size() - 1);
    }

    std::size_t size() const { return ends_.size(); }

    /// The text of that number; it lasts until the next `push_back`.
    std::string_view operator[](std::uint32_t id) const {
        BOOST_ASSERT(id < ends_.size());
        std::size_t const first = id == 0 ? 0 : ends_[id - 1];
        return std::string_view(characters_).substr(first, ends_[id] - first);
    }

private:
    std::string characters_;
    std::vector<std::size_t> ends_;
};

/// A `text_list` in which no text stands twice.
///
/// A hash table with linear probing over the numbers: a value that may be copied, which a set of
/// views into its own text may not.
class name_table {
public:
    /// The number of `text`, a new one where there is none yet.
    std::uint32_t intern(std::string_view text) {
        if (2 * (texts_.size() + 1) > slots_.size())
            grow();
        std::uint32_t const hash = hash_of(text);
        slot& found = slots_[slot_of(text, hash)];
        if (found.id == none)
            found = {hash, texts_.push_back(text)};
        return found.id;
    }

    /// The number of `text`, or nothing.
    std::optional<std::uint32_t> find(std::string_view text) const {
        if (slots_.empty())
            return std::nullopt;
        slot const& found = slots_[slot_of(text, hash_of(text))];
        return found.id == none ? std::nullopt : std::optional(found.id);
    }

    std::string_view operator[](std::uint32_t id) const { return texts_[id]; }
    std::size_t size() const { return texts_.size(); }

private:
    static constexpr std::uint32_t none = 0xffffffff;

    /// A text and its hash, so that other texts are seldom looked at.
    struct slot {
        std::uint32_t hash = 0;
        std::uint32_t id = none;
    };

    static std::uint32_t hash_of(std::string_view text) {
        return static_cast<std::uint32_t>(std::hash<std::string_view>{}(text));
    }

    std::size_t slot_of(std::string_view text, std::uint32_t hash) const {
        std::size_t const mask = slots_.size() - 1;
        std::size_t at = hash & mask;
        while (slots_[at].id != none && (slots_[at].hash != hash || texts_[slots_[at].id] != text))
            at = (at + 1) & mask;
        return at;
    }

    void grow() {
        std::vector<slot> const before =
            std::exchange(slots_, std::vector<slot>(slots_.empty() ? 64 : 2 * slots_.size()));
        std::size_t const mask = slots_.size() - 1;
        for (slot const& moved : before) {
            std::size_t at = moved.hash & mask;
            while (moved.id != none && slots_[at].id != none)
                at = (at + 1) & mask;
            if (moved.id != none)
                slots_[at] = moved;
        }
    }

    text_list texts_;
    std::vector<slot> slots_;
};

} // namespace reshard::aoa

#endif
