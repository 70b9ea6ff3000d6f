// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_PICTURE_LINK_TIMELINES_HPP
#define RESHARD_TOOL_PICTURE_LINK_TIMELINES_HPP

#include "picture/byte_text.hpp"
#include "picture/duration_text.hpp"
#include "picture/svg.hpp"
#include <reshard/analysis/simulation.hpp>
#include <reshard/core/vector.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

/// \file
/// Draws the load of links over the time of a plan, as strips in a picture or as characters.

namespace reshard {

/// A link of a simulated plan, and the time of the plan.
struct link_strip {
    simulation::link link;
    double seconds = 0;  ///< time of the full plan
    bool bounds = false; ///< no other link has a larger load
};

namespace detail {

/// The utilisation of a link at a rate; 1 is full.
inline double share_at(link_strip const& strip, double bytes_per_second) {
    double const mean = static_cast<double>(strip.link.bytes) / strip.seconds;
    return mean > 0 ? std::min(1.0, strip.link.utilisation * bytes_per_second / mean) : 0;
}

/// The time that an interval overlaps with the time from `begin` to `end`.
inline double seconds_within(simulation::interval const& part, double begin, double end) {
    return std::max(0.0, std::min(end, part.end) - std::max(begin, part.begin));
}

/// The mean utilisation from `begin` to `end`.
inline double mean_share(link_strip const& strip, double begin, double end) {
    double shares = 0;
    for (simulation::interval const& part : strip.link.timeline)
        shares += share_at(strip, part.bytes_per_second) * seconds_within(part, begin, end);
    return end > begin ? shares / (end - begin) : 0;
}

/// The timeline to draw. If it has more intervals than pixels, it is replaced by means over equal
/// intervals.
inline reshard::vector<simulation::interval> drawn_timeline(link_strip const& strip) {
    constexpr std::size_t most = 400;
    reshard::vector<simulation::interval> const& timeline = strip.link.timeline;
    if (timeline.size() <= most)
        return timeline;
    double const part = strip.seconds / most;
    reshard::vector<simulation::interval> means;
    for (std::size_t i = 0; i < most; ++i)
        means.push_back({part * static_cast<double>(i), part * static_cast<double>(i + 1), 0});
    for (simulation::interval const& interval : timeline) {
        auto const first = static_cast<std::size_t>(std::max(0.0, interval.begin / part));
        for (std::size_t i = first; i < most && means[i].begin < interval.end; ++i)
            means[i].bytes_per_second += interval.bytes_per_second / part *
                                         seconds_within(interval, means[i].begin, means[i].end);
    }
    return means;
}

/// The colour of a strip; links that bound the plan are darker.
inline std::string_view strip_colour(link_strip const& strip) {
    return strip.bounds ? "#1f5a94" : "#7fb0dc";
}

inline std::string percent_text(double share) {
    char text[32];
    std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
    return text;
}

inline std::string interval_text(link_strip const& strip, simulation::interval const& part) {
    return name(strip.link) + ", " + duration_text(part.begin) + " to " + duration_text(part.end) +
           ": " + byte_text(static_cast<index_t>(part.bytes_per_second)) + " a second, " +
           percent_text(share_at(strip, part.bytes_per_second)) + " of its rate";
}

/// The position of time zero, and the length of the full time, in pixels.
inline constexpr double strips_left = 240, strips_width = 400;
inline constexpr double strip_height = 16, strip_distance = 22;

/// Draws a strip. Its background is the full capacity of the link.
inline std::string draw_strip(link_strip const& strip, svg_point corner) {
    std::string drawn =
        svg_text({corner.x - 8, corner.y + 12}, name(strip.link), "end") +
        svg_box(corner, {strips_width, strip_height}, "#f2f2f2",
                name(strip.link) + ": " + byte_text(strip.link.bytes) + ", " +
                    percent_text(strip.link.utilisation) + " of its rate on average");
    for (simulation::interval const& part : drawn_timeline(strip)) {
        double const share = share_at(strip, part.bytes_per_second);
        if (share > 0)
            drawn += svg_box({corner.x + strips_width * part.begin / strip.seconds,
                              corner.y + strip_height * (1 - share)},
                             {std::max(0.5, strips_width * (part.end - part.begin) / strip.seconds),
                              strip_height * share},
                             strip_colour(strip), interval_text(strip, part));
    }
    return drawn;
}

} // namespace detail

/// The load of a link in `parts` equal parts of the time: ` ` none, `.` less than a quarter of its
/// rate, `:` a quarter, `+` half, `#` three quarters or more.
inline std::string strip_text(link_strip const& strip, std::size_t parts) {
    std::string text;
    for (std::size_t i = 0; i < parts; ++i) {
        double const part = strip.seconds / static_cast<double>(parts);
        double const share = detail::mean_share(strip, part * static_cast<double>(i),
                                                part * static_cast<double>(i + 1));
        constexpr double rounding = 1e-9;
        text += share <= rounding ? ' ' : ".:+##"[static_cast<std::size_t>(4 * (share + rounding))];
    }
    return text;
}

/// The size of the strips for `links` links, with labels.
constexpr svg_point link_timelines_size(std::size_t links) {
    return {680, 86 + detail::strip_distance * static_cast<double>(links)};
}

/// Draws links at `corner` of a larger picture: time goes to the right, and a line marks the least
/// time of any order. The omitted links have at most the load of the drawn links.
inline std::string draw_link_timelines(reshard::vector<link_strip> const& links,
                                       double least_seconds, svg_point corner,
                                       std::size_t left_out = 0) {
    svg_point const first{corner.x + detail::strips_left, corner.y + 30};
    if (links.empty())
        return svg_text({first.x + detail::strips_width / 2, first.y}, "nothing moves", "middle");
    double const seconds = links.front().seconds;
    double const lower = first.y + detail::strip_distance * static_cast<double>(links.size());
    std::string drawn;
    for (std::size_t i = 0; i < links.size(); ++i)
        drawn += detail::draw_strip(
            links[i], {first.x, first.y + detail::strip_distance * static_cast<double>(i)});
    for (int i = 0; i <= 4; ++i)
        drawn += svg_text({first.x + detail::strips_width / 4 * i, lower + 14},
                          duration_text(seconds / 4 * i), "middle");
    double const least = first.x + detail::strips_width * std::min(1.0, least_seconds / seconds);
    return drawn + svg_line({least, first.y - 6}, {least, lower}, "#c2410c", "6 4") +
           svg_text({least, first.y - 10},
                    "no order of the transfers takes less than " + duration_text(least_seconds),
                    "end") +
           svg_text({first.x + detail::strips_width / 2, lower + 32},
                    "time; the height of a strip is the used share of its link's rate", "middle") +
           (left_out == 0 ? ""
                          : svg_text({first.x + detail::strips_width / 2, lower + 48},
                                     "not shown, with at most as much to do: " +
                                         std::to_string(left_out) + " more",
                                     "middle"));
}

} // namespace reshard

#endif
