// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_REGROUP_AXES_HPP
#define RESHARD_EXPR_REGROUP_AXES_HPP

#include <reshard/core/axis_joins.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

/// \file
/// Two shapes with the same elements in row-major order, as joins of the same factors.

namespace reshard::detail {

/// Factors of which both shapes are made.
struct common_factors {
    index_vector extent;
    std::uint8_t before = 0; ///< how they are joined to the axes of the first shape
    std::uint8_t after = 0;  ///< to those of the second
};

/// Factors from the last to the first, while they are found.
class factor_finder {
public:
    /// Adds a factor in front of those that there are; it begins an axis or continues one.
    ///
    /// \throws error with errc::limit_exceeded where there are more than `max_ndim`
    constexpr void push_front(index_t extent, bool begins_before, bool begins_after) {
        if (extents_.size() == max_ndim)
            fail(
                errc::limit_exceeded, "a reshape splits axes into at most ", max_ndim,
                " factors, but this one needs more; reshape before other axes are merged or split");
        extents_.push_back(extent);
        begins_before_.push_back(begins_before);
        begins_after_.push_back(begins_after);
    }

    constexpr common_factors factors() const {
        common_factors found;
        for (std::size_t k = extents_.size(); k-- > 0;)
            found.extent.push_back(extents_[k]);
        found.before = joins_of(begins_before_);
        found.after = joins_of(begins_after_);
        return found;
    }

private:
    /// Factors in front of the first axis, all of extent 1, are counted in it where there is one.
    static constexpr std::uint8_t joins_of(index_vector const& begins) {
        unsigned joins = 0;
        std::size_t first = 0; // the factor that begins the first axis
        std::size_t const last = begins.size();
        for (std::size_t k = 0; k < last; ++k)
            joins |= (begins[last - 1 - k] == 0 ? 1u : 0u) << k;
        while (first < last && (joins >> first & 1) != 0)
            ++first;
        if (first > 0 && first < last)
            joins = (joins & ~1u) | 1u << first;
        return static_cast<std::uint8_t>(joins);
    }

    index_vector extents_;
    index_vector begins_before_; ///< 1: begins an axis
    index_vector begins_after_;
};

/// The coarsest factors of which both shapes are made, or nothing where an extent of one shape ends
/// inside one of the other that it does not divide.
///
/// \pre both have the same number of elements, and at least one
constexpr std::optional<common_factors> factors_of(index_vector const& before,
                                                   index_vector const& after) {
    factor_finder found;
    std::size_t i = before.size(), j = after.size();
    index_t a = i > 0 ? before[i - 1] : 1, b = j > 0 ? after[j - 1] : 1;
    while (i > 0 || j > 0) {
        index_t const factor = i == 0 ? b : j == 0 ? a : std::min(a, b);
        if (a % factor != 0 || b % factor != 0)
            return std::nullopt;
        a /= factor;
        b /= factor;
        // an axis that is used up ends here; where both are, both do
        bool const ends_before = i > 0 && a == 1 && (factor != 1 || before[i - 1] == 1);
        bool const ends_after = j > 0 && b == 1 && (factor != 1 || after[j - 1] == 1);
        found.push_front(factor, ends_before, ends_after);
        if (ends_before)
            a = --i > 0 ? before[i - 1] : 1;
        if (ends_after)
            b = --j > 0 ? after[j - 1] : 1;
    }
    return found.factors();
}

/// The shape in which axes of two shapes are merged until both agree where axes begin.
///
/// \pre both have the same number of elements, and at least one
constexpr index_vector merged_shape(index_vector const& before, index_vector const& after) {
    index_vector merged;
    for (std::size_t i = 0, j = 0; i < before.size() || j < after.size();) {
        index_t a = i < before.size() ? before[i++] : 1;
        index_t b = j < after.size() ? after[j++] : 1;
        while (a != b)
            if (a < b)
                a *= before[i++];
            else
                b *= after[j++];
        merged.push_back(a);
    }
    return merged;
}

} // namespace reshard::detail

#endif
