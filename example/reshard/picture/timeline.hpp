// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_PICTURE_TIMELINE_HPP
#define RESHARD_TOOL_PICTURE_TIMELINE_HPP

#include "picture/byte_text.hpp"
#include "picture/svg.hpp"
#include <reshard/core/vector.hpp>
#include <reshard/plan/rounds.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

/// \file
/// Draws rounds as bars: their width is the bytes that a round writes, their height the memory that
/// it needs.

namespace reshard {

namespace detail {

/// Consecutive rounds that are drawn as one bar.
struct timeline_bar {
    std::size_t first = 0; ///< first round
    std::size_t last = 0;  ///< last round
    index_t bytes = 0;
    index_t peak_bytes = 0;
    holder_t peak_process = 0;
};

/// At most 500 bars. All bars except the last have the same number of rounds.
inline reshard::vector<timeline_bar> bars_of(reshard::vector<detail::plan_round> const& rounds) {
    std::size_t const width = rounds.size() / 500 + 1;
    reshard::vector<timeline_bar> bars;
    for (std::size_t i = 0; i < rounds.size(); ++i) {
        if (i % width == 0)
            bars.push_back({i, i, 0, 0, 0});
        timeline_bar& bar = bars.back();
        bar.last = i;
        bar.bytes = detail::checked_add(bar.bytes, rounds[i].bytes, "the bytes of all rounds");
        if (rounds[i].peak_bytes > bar.peak_bytes) {
            bar.peak_bytes = rounds[i].peak_bytes;
            bar.peak_process = rounds[i].peak_process;
        }
    }
    return bars;
}

inline std::string bar_text(timeline_bar const& bar) {
    std::string const number = std::to_string(bar.first + 1);
    return (bar.first == bar.last ? "round " + number
                                  : "rounds " + number + " to " + std::to_string(bar.last + 1)) +
           ": " + byte_text(bar.bytes) + " written, " + byte_text(bar.peak_bytes) +
           " needed by rank " + std::to_string(bar.peak_process);
}

/// The position of the bars, and the scales of the axes.
struct timeline_scale {
    svg_point corner; ///< lower left corner
    svg_point size;
    index_t bytes = 1;  ///< total bytes written
    index_t memory = 1; ///< memory at the upper edge

    double x(index_t written) const {
        return corner.x + size.x * static_cast<double>(written) / static_cast<double>(bytes);
    }
    double y(index_t needed) const {
        return corner.y - size.y * static_cast<double>(needed) / static_cast<double>(memory);
    }
};

inline std::string draw_bars(reshard::vector<timeline_bar> const& bars,
                             timeline_scale const& scale) {
    std::string drawn;
    index_t before = 0;
    bool is_odd = false;
    for (timeline_bar const& bar : bars) {
        double const left = scale.x(before), top = scale.y(bar.peak_bytes);
        before += bar.bytes;
        double const width = scale.x(before) - left;
        drawn += svg_box({left, top}, {std::max(0.5, width - 1), scale.corner.y - top},
                         is_odd ? "#1f5a94" : "#3b7dbd", bar_text(bar));
        is_odd = !is_odd;
        if (width >= 24 && bar.first == bar.last)
            drawn += svg_text({left + width / 2, top - 4}, std::to_string(bar.first + 1), "middle");
    }
    return drawn;
}

/// Draws up to five lines with their bytes along each axis.
inline std::string draw_grid(timeline_scale const& scale) {
    std::string grid;
    for (int i = 0; i <= 4; ++i) {
        index_t const memory = scale.memory / 4 * i, written = scale.bytes / 4 * i;
        double const x = scale.x(written), y = scale.y(memory);
        if (i == 0 || memory > 0)
            grid += svg_line({scale.corner.x, y}, {scale.corner.x + scale.size.x, y}, "#ddd") +
                    svg_text({scale.corner.x - 6, y + 4}, byte_text(memory), "end");
        if (i == 0 || written > 0)
            grid += svg_text({x, scale.corner.y + 16}, byte_text(written), "middle");
    }
    return grid;
}

} // namespace detail

/// The size of a timeline with its labels.
inline constexpr svg_point timeline_size{680, 300};

/// Draws rounds at `corner` of a larger picture, with a line at the budget.
///
/// The time of a round is not known in advance, so its width is the number of bytes that it writes.
inline std::string draw_timeline(reshard::vector<detail::plan_round> const& rounds,
                                 std::optional<index_t> budget, svg_point corner) {
    reshard::vector<detail::timeline_bar> const bars = detail::bars_of(rounds);
    detail::timeline_scale scale{{corner.x + 80, corner.y + 240}, {560, 190}, 0, 1};
    for (detail::timeline_bar const& bar : bars) {
        scale.bytes = detail::checked_add(scale.bytes, bar.bytes, "the bytes of all rounds");
        scale.memory = std::max(scale.memory, bar.peak_bytes);
    }
    scale.bytes = std::max<index_t>(1, scale.bytes);
    if (budget)
        scale.memory = std::max(scale.memory, *budget);
    std::string drawn = detail::draw_grid(scale) + detail::draw_bars(bars, scale);
    if (budget)
        drawn += svg_line({scale.corner.x, scale.y(*budget)},
                          {scale.corner.x + scale.size.x, scale.y(*budget)}, "#c2410c", "6 4") +
                 svg_text({scale.corner.x + scale.size.x, scale.y(*budget) - 5},
                          "memory budget: " + byte_text(*budget), "end");
    bool const is_empty = std::all_of(
        bars.begin(), bars.end(), [](detail::timeline_bar const& bar) { return bar.bytes == 0; });
    if (is_empty)
        drawn += svg_text({scale.corner.x + 280, scale.corner.y - 95}, "no round writes anything",
                          "middle");
    return drawn +
           svg_text({scale.corner.x + 280, scale.corner.y + 36},
                    "written so far; each bar is a round", "middle") +
           svg_upright_text({corner.x + 14, scale.corner.y - 95}, "most memory of a rank");
}

} // namespace reshard

#endif
