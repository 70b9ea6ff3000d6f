// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_STOPWATCH_HPP
#define RESHARD_BENCH_STOPWATCH_HPP

#include <chrono>
#include <ctime>

/// \file
/// Clocks that measure how long work takes.

namespace bench {

/// Measures the time from its construction on.
class stopwatch {
public:
    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    }

private:
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

/// Measures the processor time of this process from its construction on. Other programs on the
/// machine hardly change it. It includes waiting that spins.
class processor_stopwatch {
public:
    double seconds() const {
        return static_cast<double>(std::clock() - began_) / static_cast<double>(CLOCKS_PER_SEC);
    }

private:
    std::clock_t began_ = std::clock();
};

} // namespace bench

#endif
