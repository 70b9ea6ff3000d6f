// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TEST_GROWTH_STEPS_HPP
#define RESHARD_TEST_GROWTH_STEPS_HPP

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

/// \file
/// How much work something is, counted and not timed: the same on every machine.

namespace reshard::test {

/// What this program has done so far: every basic block that it has run, and every 16 bytes that it
/// has allocated.
std::uint64_t steps_so_far();

/// How often this program has allocated so far.
std::uint64_t allocations_so_far();

/// The steps that `work(size)` takes; `work` prepares its input and returns the part that is
/// counted.
template <class Work>
std::uint64_t steps_of(Work const& work, std::size_t size) {
    auto const counted = work(size);
    std::uint64_t const before = steps_so_far();
    counted();
    return steps_so_far() - before;
}

/// Checks that twice the size is about twice the work, however much the first piece costs.
///
/// Doubled twice, linear work grows by twice as much the second time, `n log n` by a little more,
/// quadratic work by four times as much.
template <class Work>
void check_linear(char const* noun, Work const& work, std::size_t size = 500) {
    auto const once = static_cast<double>(steps_of(work, size));
    auto const twice = static_cast<double>(steps_of(work, 2 * size));
    auto const four_times = static_cast<double>(steps_of(work, 4 * size));
    BOOST_TEST(twice > once, noun);
    BOOST_TEST(four_times - twice < 2.6 * (twice - once),
               noun << ": " << once << ", " << twice << ", " << four_times << " steps");
}

} // namespace reshard::test

#endif
