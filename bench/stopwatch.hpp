// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_STOPWATCH_HPP
#define RESHARD_BENCH_STOPWATCH_HPP

#include <chrono>

/// \file
/// How long something takes.

namespace bench {

/// Runs from its construction on.
class stopwatch {
public:
    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    }

private:
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

} // namespace bench

#endif
