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
/// The times of one method in one case, and how they are written down.

namespace bench {

/// What was measured of one method.
///
/// \par Units seconds: the slowest rank's, by repetition; traffic: of all ranks together
struct measurement {
    std::string method;
    bool warm = true;
    std::vector<double> seconds;
    index_t peak_extra_bytes = 0; ///< the neediest rank's
    traffic sent;

    double best() const { return *std::min_element(seconds.begin(), seconds.end()); }

    double median() const {
        std::vector<double> sorted = seconds;
        std::sort(sorted.begin(), sorted.end());
        std::size_t const half = sorted.size() / 2;
        return sorted.size() % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    }
};

/// Leaves the faster one of the two variants of the bound, as "B0", in front of the other methods.
inline void choose_bound(std::vector<measurement>& all) {
    bool const first_is_faster = all[0].median() <= all[1].median();
    all.erase(all.begin() + (first_is_faster ? 1 : 0));
    all[0].method = "B0";
}

/// The bytes that are written in a run, by all ranks together.
inline index_t written_bytes(redistribution_case const& moved) {
    index_t elements = 0;
    for (rank_part const& part : moved.target)
        elements += part.elements();
    return elements * index_t{sizeof(double)};
}

inline void print_head() {
    std::printf("case       ranks  method   target  median ms   best ms    GB/s  ratio to B0"
                "  extra MiB  messages   sent MiB\n");
}

inline void print(redistribution_case const& moved, measurement const& m, double bound) {
    constexpr double mebi = 1 << 20;
    std::printf("%-9s  %5zu  %-7s  %-6s  %9.1f  %8.1f  %6.2f  %11.2f  %9.1f  %8lld  %9.1f\n",
                moved.name.c_str(), moved.source.size(), m.method.c_str(), m.warm ? "warm" : "cold",
                m.median() * 1e3, m.best() * 1e3,
                static_cast<double>(written_bytes(moved)) / m.median() / 1e9, bound / m.median(),
                static_cast<double>(m.peak_extra_bytes) / mebi,
                static_cast<long long>(m.sent.messages), static_cast<double>(m.sent.bytes) / mebi);
    std::fflush(stdout);
}

inline std::string to_json(redistribution_case const& moved, measurement const& m, double bound) {
    return json_object{}
        .add("case", moved.name)
        .add("ranks", moved.source.size())
        .add("method", m.method)
        .add("warm", m.warm)
        .add("median_s", m.median())
        .add("best_s", m.best())
        .add("ratio_to_b0", bound / m.median())
        .add("bytes", m.sent.bytes)
        .add("peak_extra_bytes", m.peak_extra_bytes)
        .add("messages", m.sent.messages)
        .text();
}

} // namespace bench

#endif
