// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_TEXT_LIST_HPP
#define RESHARD_CORE_TEXT_LIST_HPP

#include <boost/assert.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

/// \file
/// Many texts, packed.

namespace reshard {

/// Texts one after the other in one allocation, numbered in the order in which they came.
class text_list {
public:
    /// Makes room for so many more texts, with so many characters altogether.
    void reserve_more(std::size_t texts, std::size_t characters) {
        characters_.reserve(characters_.size() + characters);
        ends_.reserve(ends_.size() + texts);
    }

    /// Appends a text with another one behind it; the result is its number.
    std::uint32_t push_back(std::string_view text, std::string_view behind = {}) {
        characters_.insert(characters_.end(), text.begin(), text.end());
        characters_.insert(characters_.end(), behind.begin(), behind.end());
        ends_.push_back(characters_.size());
        return static_cast<std::uint32_t>(ends_.size() - 1);
    }

    std::size_t size() const { return ends_.size(); }

    /// The text of that number; it lasts until the next `push_back`.
    std::string_view operator[](std::uint32_t id) const {
        BOOST_ASSERT(id < ends_.size());
        std::size_t const first = id == 0 ? 0 : ends_[id - 1];
        return {characters_.data() + first, ends_[id] - first};
    }

    bool operator==(text_list const&) const = default;

private:
    std::vector<char> characters_;
    std::vector<std::size_t> ends_;
};

} // namespace reshard

#endif
