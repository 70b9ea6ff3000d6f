// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_PICTURE_HEAT_MAP_HPP
#define RESHARD_TOOL_PICTURE_HEAT_MAP_HPP

#include "picture/byte_text.hpp"
#include "picture/svg.hpp"
#include <reshard/plan/cost.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// \file
/// Who sends whom how much, as a picture: ranks that give downwards, ranks that get to the right.

namespace reshard {

/// The bytes that ranks send one another, ranks that follow one another together where there are
/// many.
class heat_bins {
public:
    /// The most bins that a side has.
    static constexpr holder_t most = 64;

    /// \pre there are ranks on both sides
    heat_bins(holder_t sources, holder_t targets)
        : sources_(sources),
          targets_(targets),
          width_((std::max(sources, targets) - 1) / most + 1),
          bytes_(std::size_t{rows()} * columns(), 0) {
        BOOST_ASSERT(sources > 0 && targets > 0);
    }

    /// What stays on a rank is not counted.
    ///
    /// \pre    both ends are ranks
    /// \throws error with errc::overflow when all bytes of a bin do not fit 64 bits
    void add(detail::flow const& one) {
        if (one.source == one.target)
            return;
        BOOST_ASSERT(one.source < sources_ && one.target < targets_);
        index_t& sum = bytes_[std::size_t{one.source / width_} * columns() + one.target / width_];
        constexpr auto what = "the bytes of all transfers";
        sum = detail::checked_add(sum, detail::checked_multiply(one.bytes, one.count, what), what);
    }

    holder_t sources() const { return sources_; }
    holder_t targets() const { return targets_; }
    /// How many ranks a bin has; the last one may have fewer.
    holder_t width() const { return width_; }
    holder_t rows() const { return (sources_ - 1) / width_ + 1; }
    holder_t columns() const { return (targets_ - 1) / width_ + 1; }

    /// \pre `row < rows()` and `column < columns()`
    index_t bytes(holder_t row, holder_t column) const {
        return bytes_[std::size_t{row} * columns() + column];
    }
    index_t most_bytes() const { return *std::max_element(bytes_.begin(), bytes_.end()); }

private:
    holder_t sources_;
    holder_t targets_;
    holder_t width_;
    std::vector<index_t> bytes_; ///< by row, then by column
};

namespace detail {

/// From near white to dark blue: also without colours, darker is more. Nothing at all is grey.
inline std::string heat_colour(index_t bytes, index_t most) {
    if (bytes == 0)
        return "#f2f2f2";
    double const share = static_cast<double>(bytes) / static_cast<double>(most);
    auto const mixed = [&](int light, int dark) {
        return static_cast<int>(std::lround(light + (dark - light) * share));
    };
    char text[8];
    std::snprintf(text, sizeof text, "#%02x%02x%02x", mixed(0xdc, 0x08) & 0xff,
                  mixed(0xe9, 0x30) & 0xff, mixed(0xf6, 0x6b) & 0xff);
    return text;
}

/// `rank 3`, or `ranks 8 to 15`.
inline std::string bin_text(holder_t bin, holder_t width, holder_t ranks) {
    holder_t const first = bin * width;
    holder_t const last = std::min(first + width, ranks) - 1;
    return first == last ? "rank " + std::to_string(first)
                         : "ranks " + std::to_string(first) + " to " + std::to_string(last);
}

/// The side of a cell: cells are square, and the longer side of the map has the same length always.
inline double cell_side(heat_bins const& bins) {
    return 400.0 / std::max(bins.rows(), bins.columns());
}

inline std::string draw_cells(heat_bins const& bins, svg_point corner) {
    double const side = cell_side(bins);
    std::string cells;
    for (holder_t row = 0; row < bins.rows(); ++row)
        for (holder_t column = 0; column < bins.columns(); ++column) {
            index_t const bytes = bins.bytes(row, column);
            cells += svg_box({corner.x + side * column, corner.y + side * row},
                             {side * 0.96, side * 0.96}, heat_colour(bytes, bins.most_bytes()),
                             bytes == 0 ? ""
                                        : bin_text(row, bins.width(), bins.sources()) + " to " +
                                              bin_text(column, bins.width(), bins.targets()) +
                                              ": " + byte_text(bytes));
        }
    return cells;
}

/// The ranks at which eight bins or fewer begin, along both sides.
inline std::string draw_bin_labels(heat_bins const& bins, svg_point corner) {
    double const side = cell_side(bins);
    holder_t const step = (std::max(bins.rows(), bins.columns()) - 1) / 8 + 1;
    std::string labels;
    for (holder_t row = 0; row < bins.rows(); row += step)
        labels += svg_text({corner.x - 6, corner.y + side * (row + 0.5) + 4},
                           std::to_string(row * bins.width()), "end");
    for (holder_t column = 0; column < bins.columns(); column += step)
        labels += svg_text({corner.x + side * (column + 0.5), corner.y - 6},
                           std::to_string(column * bins.width()), "middle");
    return labels;
}

/// Nothing, and then five shades with the bytes that they stand for.
inline std::string draw_heat_legend(heat_bins const& bins, svg_point corner) {
    std::string legend =
        svg_text(corner, bins.width() == 1 ? "bytes sent"
                                           : "bytes sent by " + std::to_string(bins.width()) +
                                                 " ranks to " + std::to_string(bins.width()));
    for (int i = 0; i <= 5; ++i) {
        index_t const bytes = bins.most_bytes() / 5 * i + bins.most_bytes() % 5 * i / 5;
        double const y = corner.y + 10 + 22 * i;
        legend += svg_box({corner.x, y}, {18, 18}, heat_colour(bytes, bins.most_bytes()));
        legend += svg_text({corner.x + 26, y + 13}, byte_text(bytes));
    }
    return legend;
}

} // namespace detail

/// How large a heat map is, with labels and legend.
inline constexpr svg_point heat_map_size{680, 480};

/// A picture, part of another, of bins at `corner`: axes with ranks, a legend with bytes.
inline std::string draw_heat_map(heat_bins const& bins, svg_point corner) {
    svg_point const map{corner.x + 80, corner.y + 60};
    std::string const every =
        bins.width() == 1 ? "" : ", in bins of " + std::to_string(bins.width());
    return svg_text({map.x + 200, corner.y + 20}, "ranks that get" + every, "middle") +
           svg_upright_text({corner.x + 20, map.y + 200}, "ranks that give" + every) +
           detail::draw_bin_labels(bins, map) + detail::draw_cells(bins, map) +
           detail::draw_heat_legend(bins, {map.x + 430, map.y + 10});
}

} // namespace reshard

#endif
