// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_OS_WAITING_HPP
#define RESHARD_OS_WAITING_HPP

#include <algorithm>
#include <chrono>
#include <thread>

/// \file
/// Waits for another program that does not announce when it is ready.

namespace reshard::detail {

/// Measures the elapsed time, and gives other processes time to run. The longer the wait, the
/// longer the process sleeps between two checks.
class waiting {
public:
    explicit waiting(double most_seconds) : most_(most_seconds) {}

    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    }

    bool is_over() const { return seconds() >= most_; }

    void pause() {
        if (++pauses_ < 20)
            return std::this_thread::yield();
        std::this_thread::sleep_for(sleep_);
        sleep_ = std::min(2 * sleep_, std::chrono::microseconds(2000));
    }

private:
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    double most_;
    int pauses_ = 0;
    std::chrono::microseconds sleep_{20};
};

} // namespace reshard::detail

#endif
