// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_CORE_FACTOR_ROWS_HPP
#define RESHARD_CORE_FACTOR_ROWS_HPP

#include <reshard/core/axis_joins.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// The few rows of a packed list whose axes are several factors in one.

namespace reshard::detail {

/// What a packed list does not have room for: the factors of one of its rows.
struct factor_row {
    std::uint32_t row = 0;
    axis_joins joins;
    index_vector extent; ///< of the factors, in the order of the target
    index_vector source_offset;

    constexpr bool operator==(factor_row const&) const = default;
};

/// Factors by row, for the rows that a reshape has touched.
class factor_rows {
public:
    /// \pre rows come in ascending order
    constexpr void push_back(factor_row const& one) { rows_.push_back(one); }

    /// Those of a table behind the first `rows` rows.
    constexpr void append_behind(std::size_t rows, factor_rows const& other) {
        for (factor_row one : other.rows_) {
            one.row += static_cast<std::uint32_t>(rows);
            rows_.push_back(one);
        }
    }

    /// The factors of a row, or null where each of its axes is one factor.
    constexpr factor_row const* find(std::size_t row) const {
        if (rows_.empty())
            return nullptr;
        auto const place = std::lower_bound(
            rows_.begin(), rows_.end(), row,
            [](factor_row const& one, std::size_t sought) { return one.row < sought; });
        return place != rows_.end() && place->row == row ? &*place : nullptr;
    }

    /// The memory that they take.
    ///
    /// \par Units bytes
    constexpr std::size_t bytes() const { return rows_.capacity() * sizeof(factor_row); }

    constexpr bool operator==(factor_rows const&) const = default;

private:
    std::vector<factor_row> rows_;
};

} // namespace reshard::detail

#endif
