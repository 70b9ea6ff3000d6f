// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/os/shared_barrier.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <thread>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

namespace {

/// Threads that each write their own number, meet, and read the numbers of all others; how many
/// were wrong. Numbers are plain, so that a sanitizer sees a barrier that orders nothing.
int wrong_numbers(std::uint32_t members, int rounds) {
    barrier_state shared;
    std::vector<int> numbers(members, -1);
    std::vector<int> wrong(members, 0);
    std::vector<std::thread> threads;
    for (std::uint32_t me = 0; me < members; ++me)
        threads.emplace_back([&, me] {
            shared_barrier const barrier(shared, members);
            for (int round = 0; round < rounds; ++round) {
                numbers[me] = round;
                barrier.wait();
                for (int const number : numbers)
                    wrong[me] += number != round;
                barrier.wait();
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    int sum = 0;
    for (int const count : wrong)
        sum += count;
    return sum;
}

} // namespace

BOOST_AUTO_TEST_SUITE(node_shared_barrier)

BOOST_AUTO_TEST_CASE(nobody_passes_before_all_have_come) {
    BOOST_TEST(wrong_numbers(1, 3) == 0);
    BOOST_TEST(wrong_numbers(2, 200) == 0);
    BOOST_TEST(wrong_numbers(7, 50) == 0);
}

BOOST_AUTO_TEST_CASE(who_waits_does_other_work) {
    // The second member comes only after the first has been idle.
    barrier_state shared;
    shared_barrier const barrier(shared, 2);
    std::atomic<int> worked = 0;
    std::thread waiting([&] { barrier.wait([&] { ++worked; }); });
    while (worked == 0)
        std::this_thread::yield();
    barrier.wait();
    waiting.join();
    BOOST_TEST(worked > 0);
}

BOOST_AUTO_TEST_CASE(another_barrier_goes_on_with_the_same_state) {
    barrier_state shared;
    shared_barrier(shared, 1).wait();
    shared_barrier(shared, 1).wait();
    BOOST_TEST(shared.round == 2u);
    BOOST_TEST(shared.arrived == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
