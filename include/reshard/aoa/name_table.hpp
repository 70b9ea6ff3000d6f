// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_NAME_TABLE_HPP
#define RESHARD_AOA_NAME_TABLE_HPP

#include <reshard/core/key_index.hpp>

#include <boost/assert.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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
class name_table {
public:
    /// The number of `text`, a new one where there is none yet.
    std::uint32_t intern(std::string_view text) {
        auto const text_at = [this](std::uint32_t id) { return texts_[id]; };
        return places_.find_or_append(text, text_at, [&] { return texts_.push_back(text); });
    }

    /// The number of `text`, or nothing.
    std::optional<std::uint32_t> find(std::string_view text) const {
        return places_.find(text, [this](std::uint32_t id) { return texts_[id]; });
    }

    std::string_view operator[](std::uint32_t id) const { return texts_[id]; }
    std::size_t size() const { return texts_.size(); }

private:
    text_list texts_;
    reshard::detail::key_index places_;
};

} // namespace reshard::aoa

#endif
