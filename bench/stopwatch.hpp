// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_STOPWATCH_HPP
#define RESHARD_BENCH_STOPWATCH_HPP

#include <chrono>
#include <ctime>

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

/// The processor time of this process from its construction on: other programs on the machine
/// hardly count, but waiting for other processes does if it spins.
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
