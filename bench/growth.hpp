// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_GROWTH_HPP
#define RESHARD_BENCH_GROWTH_HPP

#include <cmath>
#include <utility>
#include <vector>

/// \file
/// How a time grows with the size of a problem.

namespace bench {

/// The exponent `e` for which `seconds ~ size ^ e` fits best, by least squares of the logarithms.
///
/// \pre at least two sizes differ, and no number is zero
inline double growth_exponent(std::vector<std::pair<double, double>> const& size_and_seconds) {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (auto const& [size, seconds] : size_and_seconds) {
        double const a = std::log(size), b = std::log(seconds);
        n += 1;
        x += a;
        y += b;
        xx += a * a;
        xy += a * b;
    }
    return (n * xy - x * y) / (n * xx - x * x);
}

} // namespace bench

#endif
