// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_MEASUREMENT_HPP
#define RESHARD_BENCH_MEASUREMENT_HPP

#include "json_list.hpp"
#include "method.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

/// \file
/// The measured times of one method in one case, and functions that write them.

namespace bench {

/// The measurements of one method.
///
/// \par Units seconds: the slowest rank's, by repetition; traffic and bytes: the sum over all ranks
struct measurement {
    std::string case_name;
    int ranks = 0;
    std::string method;
    bool warm = true;
    std::string refusal; ///< why the method cannot do the case; then it has no figures
    index_t read = 0;    ///< the bytes of the source elements from which the targets are made
    double bound = 0;    ///< B0's median
    std::vector<double> seconds;
    index_t peak_extra_bytes = 0; ///< of the rank that needs most
    traffic sent;

    double best() const { return *std::min_element(seconds.begin(), seconds.end()); }

    double worst() const { return *std::max_element(seconds.begin(), seconds.end()); }

    double median() const {
        std::vector<double> sorted = seconds;
        std::sort(sorted.begin(), sorted.end());
        std::size_t const half = sorted.size() / 2;
        return sorted.size() % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    }

    double ratio() const { return bound / median(); }
    double gigabytes_a_second() const { return static_cast<double>(read) / median() / 1e9; }
};

/// Keeps the faster of the two variants of the bound as "B0", and gives its median to all methods.
inline void choose_bound(std::vector<measurement>& measurements) {
    bool const first_is_faster = measurements[0].median() <= measurements[1].median();
    measurements.erase(measurements.begin() + (first_is_faster ? 1 : 0));
    measurements[0].method = "B0";
    for (measurement& measurement : measurements)
        measurement.bound = measurements[0].median();
}

inline void print_head() {
    std::printf(
        "case        ranks  method   target  median ms   best ms  worst ms    GB/s  ratio to B0"
        "  extra MiB  messages   sent MiB\n");
}

inline void print(measurement const& m) {
    constexpr double mebi = 1 << 20;
    std::printf("%-10s  %5d  %-7s  %-6s  ", m.case_name.c_str(), m.ranks, m.method.c_str(),
                m.warm ? "warm" : "cold");
    if (!m.refusal.empty())
        std::printf("cannot: %s\n", m.refusal.c_str());
    else
        std::printf("%9.1f  %8.1f  %8.1f  %6.2f  %11.2f  %9.1f  %8lld  %9.1f\n", m.median() * 1e3,
                    m.best() * 1e3, m.worst() * 1e3, m.gigabytes_a_second(), m.ratio(),
                    static_cast<double>(m.peak_extra_bytes) / mebi,
                    static_cast<long long>(m.sent.messages),
                    static_cast<double>(m.sent.bytes) / mebi);
    std::fflush(stdout);
}

inline std::string to_json(measurement const& m) {
    json_object text;
    text.add("case", m.case_name).add("ranks", m.ranks).add("method", m.method);
    text.add("warm", m.warm);
    if (!m.refusal.empty())
        return text.add("cannot", m.refusal).text();
    return text.add("median_ms", m.median() * 1e3)
        .add("best_ms", m.best() * 1e3)
        .add("worst_ms", m.worst() * 1e3)
        .add("gb_per_s", m.gigabytes_a_second())
        .add("ratio_to_b0", m.ratio())
        .add("peak_extra_bytes", m.peak_extra_bytes)
        .add("messages", m.sent.messages)
        .add("bytes_sent", m.sent.bytes)
        .text();
}

} // namespace bench

#endif
