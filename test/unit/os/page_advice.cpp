// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/os/page_advice.hpp>

#include <reshard/os/prefaulted_memory.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(node_page_advice)

BOOST_AUTO_TEST_CASE(free_large_pages_are_counted_in_every_zone) {
    char const* const text = "Node 0, zone      DMA      0      0      0      0      0      0      "
                             "0      0      1      1  "
                             "    3 \n"
                             "Node 0, zone   Normal   4691   5981   5044   3913   2298   1602   "
                             "1114    845    616    462 "
                             "  1819 \n";
    BOOST_TEST(free_large_pages(text, 9).value() == 1 + 2 * 3 + 462 + 2 * 1819);
    BOOST_TEST(free_large_pages(text, 10).value() == 3 + 1819);
    BOOST_TEST(free_large_pages(text, 0).value() > 4691);
    BOOST_TEST(free_large_pages(text, 13).value() == 0); // larger than any block
    BOOST_TEST(free_large_pages("Node 1, zone  Movable  7 7 7 7 7 7 7 7 7 0 0", 9).value() == 0);
}

BOOST_AUTO_TEST_CASE(text_without_zones_says_nothing) {
    for (char const* const text : {"", "\n\n", "no such file", "Node 0, zone"})
        BOOST_TEST(!free_large_pages(text, 9).has_value());
}

BOOST_AUTO_TEST_CASE(small_pages_come_first_and_large_ones_as_long_as_they_are_cheap) {
    page_choice choice;
    for (int i = 0; i < 2; ++i) {
        BOOST_TEST(!choice.is_large());
        choice.note(false, 2);
    }
    for (int i = 0; i < 100; ++i) {
        BOOST_TEST(choice.is_large());
        choice.note(true, 1);
    }
    choice.note(true, 22); // 20 more than small ones; all took 126 so far
    for (int i = 0; i < 97; ++i) {
        BOOST_TEST(!choice.is_large());
        choice.note(false, 2);
    }
    BOOST_TEST(choice.is_large()); // 320 of which 20 are a sixteenth
}

BOOST_AUTO_TEST_CASE(large_pages_lose_a_sixteenth_and_one_piece_at_most) {
    std::minstd_rand random(7);
    auto const any_cost = [&](double most) {
        return 1 + (most - 1) * static_cast<double>(random() % 1000) / 1000;
    };
    for (int trial = 0; trial < 200; ++trial) {
        page_choice choice;
        double const most_large = any_cost(30);
        double total = 0, lost = 0, worst = 0;
        for (int piece = 0; piece < 500; ++piece) {
            bool const large = choice.is_large();
            double const cost = large ? any_cost(most_large) : 1;
            choice.note(large, cost);
            total += cost;
            lost += cost - 1;
            worst = std::max(worst, cost);
            BOOST_REQUIRE(lost <= total / 16 + worst);
        }
    }
}

BOOST_AUTO_TEST_CASE(touched_pages_are_there_and_hold_what_they_held) {
    auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    private_mapping const memory(5 * page, false);
    std::fill_n(memory.data() + page, page, std::byte{7});
    touch_pages(memory.data(), 5 * page - 1);
    std::vector<unsigned char> there(5);
    BOOST_REQUIRE(::mincore(memory.data(), 5 * page, there.data()) == 0);
    BOOST_TEST(std::ranges::count_if(there, [](unsigned char one) { return (one & 1) != 0; }) == 5);
    BOOST_TEST(std::count(memory.data(), memory.data() + 5 * page, std::byte{7}) ==
               static_cast<std::ptrdiff_t>(page));
    BOOST_TEST(std::count(memory.data(), memory.data() + 5 * page, std::byte{0}) ==
               static_cast<std::ptrdiff_t>(4 * page));
}

BOOST_AUTO_TEST_SUITE_END()
