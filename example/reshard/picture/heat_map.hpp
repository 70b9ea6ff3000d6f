// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_PICTURE_HEAT_MAP_HPP
#define RESHARD_TOOL_PICTURE_HEAT_MAP_HPP

#include "picture/byte_text.hpp"
#include "picture/svg.hpp"
#include <reshard/core/vector.hpp>
#include <reshard/plan/cost.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

/// \file
/// A picture of the bytes between pairs of ranks: a row for each sender, a column for each
/// receiver.

namespace reshard {

/// The bytes between pairs of ranks. If there are many ranks, neighbouring ranks share a bin.
class heat_bins {
public:
    /// The maximum number of bins on a side.
    static constexpr holder_t most = 64;

    /// \param sender the noun for one sender
    /// \pre   there are ranks on both sides
    heat_bins(holder_t sources, holder_t targets, std::string sender = "rank")
        : sender_(std::move(sender)),
          sources_(sources),
          targets_(targets),
          width_((std::max(sources, targets) - 1) / most + 1),
          bytes_(std::size_t{rows()} * columns(), 0),
          kept_(bytes_) {
        BOOST_ASSERT(sources > 0 && targets > 0);
    }

    /// Adds a flow. Bytes that stay on a rank are counted separately.
    ///
    /// \pre    both ends are ranks
    /// \throws error with errc::overflow if the bytes of a bin exceed 64 bits
    void add(detail::flow const& flow) {
        add_to(flow.source == flow.target ? kept_ : bytes_, flow);
    }

    /// Adds a flow if a source and a target with the same number are different holders.
    void add_between(detail::flow const& flow) { add_to(bytes_, flow); }

    std::string const& sender() const { return sender_; }
    holder_t sources() const { return sources_; }
    holder_t targets() const { return targets_; }
    /// The number of ranks in a bin; the last bin may have fewer.
    holder_t width() const { return width_; }
    holder_t rows() const { return (sources_ - 1) / width_ + 1; }
    holder_t columns() const { return (targets_ - 1) / width_ + 1; }

    /// \pre `row < rows()` and `column < columns()`
    index_t bytes(holder_t row, holder_t column) const { return bytes_[place(row, column)]; }
    /// The bytes that stay on their rank in this bin.
    index_t kept(holder_t row, holder_t column) const { return kept_[place(row, column)]; }
    bool keeps_any() const {
        return std::any_of(kept_.begin(), kept_.end(), [](index_t bytes) { return bytes > 0; });
    }
    index_t most_bytes() const { return *std::max_element(bytes_.begin(), bytes_.end()); }

private:
    void add_to(reshard::vector<index_t>& sums, detail::flow const& flow) {
        BOOST_ASSERT(flow.source < sources_ && flow.target < targets_);
        index_t& sum = sums[place(flow.source / width_, flow.target / width_)];
        constexpr auto noun = "the bytes of all transfers";
        sum =
            detail::checked_add(sum, detail::checked_multiply(flow.bytes, flow.count, noun), noun);
    }

    std::size_t place(holder_t row, holder_t column) const {
        return std::size_t{row} * columns() + column;
    }

    std::string sender_;
    holder_t sources_;
    holder_t targets_;
    holder_t width_;
    reshard::vector<index_t> bytes_; ///< by row, then by column
    reshard::vector<index_t> kept_;  ///< in the same order
};

namespace detail {

/// The colour for bytes that stay on their rank.
inline constexpr char const kept_colour[] = "#ecd9a6";

/// A shade from light to dark blue: more bytes are darker, also without colours. Grey for no bytes.
inline std::string heat_colour(index_t bytes, index_t most) {
    if (bytes == 0)
        return "#f2f2f2";
    double const share = static_cast<double>(bytes) / static_cast<double>(most);
    auto const mixed = [&](int light, int dark) {
        return static_cast<int>(std::lround(light + (dark - light) * share));
    };
    char text[8];
    std::snprintf(text, sizeof text, "#%02x%02x%02x", mixed(0xc6, 0x08) & 0xff,
                  mixed(0xdb, 0x30) & 0xff, mixed(0xef, 0x6b) & 0xff);
    return text;
}

/// For example `rank 3` or `ranks 8 to 15`.
inline std::string bin_text(holder_t bin, holder_t width, holder_t ranks,
                            std::string const& noun = "rank") {
    holder_t const first = bin * width;
    holder_t const last = std::min(first + width, ranks) - 1;
    return first == last ? noun + " " + std::to_string(first)
                         : noun + "s " + std::to_string(first) + " to " + std::to_string(last);
}

/// The side of a square cell. The longer side of the map always has the same length.
inline double cell_side(heat_bins const& bins) {
    return 400.0 / std::max(bins.rows(), bins.columns());
}

/// The description of a cell; empty for an empty cell.
inline std::string cell_text(heat_bins const& bins, holder_t row, holder_t column) {
    index_t const bytes = bins.bytes(row, column), kept = bins.kept(row, column);
    std::string const sender = bin_text(row, bins.width(), bins.sources(), bins.sender());
    std::string text;
    if (bytes > 0)
        text = sender + " to " + bin_text(column, bins.width(), bins.targets()) + ": " +
               byte_text(bytes);
    if (kept > 0)
        text += (text.empty() ? "" : "; ") + sender + ": " + byte_text(kept) + " stay there";
    return text;
}

inline std::string draw_cells(heat_bins const& bins, svg_point corner) {
    double const side = cell_side(bins);
    std::string cells;
    for (holder_t row = 0; row < bins.rows(); ++row)
        for (holder_t column = 0; column < bins.columns(); ++column) {
            index_t const bytes = bins.bytes(row, column);
            bool const only_keeps = bytes == 0 && bins.kept(row, column) > 0;
            cells += svg_box({corner.x + side * column, corner.y + side * row},
                             {side * 0.96, side * 0.96},
                             only_keeps ? kept_colour : heat_colour(bytes, bins.most_bytes()),
                             cell_text(bins, row, column));
        }
    return cells;
}

/// Draws the first ranks of at most eight bins, along both sides.
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

/// Draws the shade for no bytes, and five shades with their bytes if they differ.
inline std::string draw_heat_legend(heat_bins const& bins, svg_point corner) {
    std::string legend =
        svg_text(corner, bins.width() == 1 ? "bytes sent"
                                           : "bytes sent by " + std::to_string(bins.width()) +
                                                 " ranks to " + std::to_string(bins.width()));
    index_t const most = bins.most_bytes();
    double y = corner.y + 10;
    auto const add = [&](std::string const& colour, std::string const& words) {
        legend += svg_box({corner.x, y}, {18, 18}, colour);
        legend += svg_text({corner.x + 26, y + 13}, words);
        y += 22;
    };
    index_t before = -1;
    for (int i = 0; i <= 5; ++i) {
        index_t const bytes = most / 5 * i + most % 5 * i / 5;
        if (bytes != before)
            add(heat_colour(bytes, most), byte_text(bytes));
        before = bytes;
    }
    if (bins.keeps_any())
        add(kept_colour, "stays on its rank");
    return legend;
}

} // namespace detail

/// The size of a heat map with labels and legend.
inline constexpr svg_point heat_map_size{680, 480};

/// Draws bins at `corner` of a larger picture: axes with ranks, and a legend with bytes.
inline std::string draw_heat_map(heat_bins const& bins, svg_point corner) {
    svg_point const map{corner.x + 80, corner.y + 60};
    std::string const every =
        bins.width() == 1 ? "" : ", in bins of " + std::to_string(bins.width());
    return svg_text({map.x + 200, corner.y + 20}, "ranks that receive" + every, "middle") +
           svg_upright_text({corner.x + 20, map.y + 200}, bins.sender() + "s that send" + every) +
           detail::draw_bin_labels(bins, map) + detail::draw_cells(bins, map) +
           (bins.most_bytes() > 0 ? ""
                                  : svg_text({map.x + 430, map.y - 20},
                                             bins.keeps_any() ? "nothing is sent: all bytes stay"
                                                              : "nothing is sent")) +
           detail::draw_heat_legend(bins, {map.x + 430, map.y + 10});
}

} // namespace reshard

#endif
