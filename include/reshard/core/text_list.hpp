// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_TEXT_LIST_HPP
#define RESHARD_CORE_TEXT_LIST_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

/// \file
/// Many texts, packed.

namespace reshard::detail {

/// Texts one after the other in one allocation, numbered in the order in which they came.
class text_list {
public:
    /// Makes room for so many more texts, with so many characters altogether.
    void reserve_more(std::size_t texts, std::size_t characters);

    /// Appends a text with another one behind it; the result is its number.
    std::uint32_t push_back(std::string_view text, std::string_view behind = {});

    std::size_t size() const { return ends_.size(); }

    /// The text of that number; it lasts until the next `push_back`.
    std::string_view operator[](std::uint32_t id) const;

    bool operator==(text_list const&) const = default;

private:
    std::vector<char> characters_;
    std::vector<std::size_t> ends_;
};

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/core/impl/text_list.ipp>
#endif

#endif
