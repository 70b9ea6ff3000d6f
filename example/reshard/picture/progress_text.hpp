// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TOOL_PICTURE_PROGRESS_TEXT_HPP
#define RESHARD_TOOL_PICTURE_PROGRESS_TEXT_HPP

#include "byte_text.hpp"

#include <reshard/core/index_vector.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

/// \file
/// Shows the progress of work on bytes, on one line of a terminal.

namespace reshard {

/// For example `59 s`, `2 min 5 s` or `1 h 40 min`: rounded up.
inline std::string time_text(double seconds) {
    auto const total = static_cast<index_t>(std::ceil(std::clamp(seconds, 0.0, 3.6e9)));
    index_t const minutes = total / 60;
    if (total < 60)
        return std::to_string(total) + " s";
    if (minutes < 60)
        return std::to_string(minutes) + " min " + std::to_string(total % 60) + " s";
    return std::to_string(minutes / 60) + " h " + std::to_string(minutes % 60) + " min";
}

/// A bar, the finished and the total bytes, the rate, and the remaining time.
///
/// \pre `0 <= bytes <= total`
inline std::string progress_text(index_t bytes, index_t total, double seconds) {
    constexpr std::size_t width = 20;
    double const share = total == 0 ? 1 : static_cast<double>(bytes) / static_cast<double>(total);
    auto const filled = static_cast<std::size_t>(share * width);
    double const rate = static_cast<double>(bytes) / std::max(seconds, 1e-3);
    std::string text = "[" + std::string(filled, '#') + std::string(width - filled, ' ') + "] " +
                       std::to_string(static_cast<int>(100 * share)) + " %, " + byte_text(bytes) +
                       " of " + byte_text(total) + ", " + byte_text(static_cast<index_t>(rate)) +
                       "/s";
    if (bytes > 0 && bytes < total)
        text += ", " + time_text(static_cast<double>(total - bytes) / rate) + " left";
    return text;
}

} // namespace reshard

#endif
