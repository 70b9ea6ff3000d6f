// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_NAME_TABLE_HPP
#define RESHARD_AOA_NAME_TABLE_HPP

#include <reshard/core/key_index.hpp>
#include <reshard/core/text_list.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

/// \file
/// Texts by number: a program of a hundred thousand names stores each once and compares integers.

namespace reshard::aoa::detail {

/// A `text_list` in which no text stands twice.
class name_table {
public:
    /// The number of `text`, a new one where there is none yet.
    std::uint32_t intern(std::string_view text);

    /// The number of `text`, or nothing.
    std::optional<std::uint32_t> find(std::string_view text) const {
        return places_.find(text, [this](std::uint32_t id) { return texts_[id]; });
    }

    std::string_view operator[](std::uint32_t id) const { return texts_[id]; }
    std::size_t size() const { return texts_.size(); }

private:
    reshard::detail::text_list texts_;
    reshard::detail::key_index places_;
};

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/name_table.ipp>
#endif

#endif
