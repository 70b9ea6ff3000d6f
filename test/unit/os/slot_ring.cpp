// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/os/slot_ring.hpp>

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <thread>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(node_slot_ring)

namespace {

/// Passes the numbers 0, 1, ... through a ring between two threads; how many came wrong. The slots are
/// plain memory, so that a sanitizer sees a ring that orders nothing.
int wrong_numbers(std::uint64_t slots, int numbers) {
    ring_state shared;
    std::vector<std::byte> memory(slots * sizeof(int));
    ring_slots const ring_slots{memory.data(), sizeof(int), slots};
    std::thread sending([&] {
        ring_sender sender(shared, ring_slots);
        for (int next = 0; next < numbers;)
            if (std::byte* const slot = sender.slot()) {
                std::memcpy(slot, &next, sizeof next);
                sender.pass();
                ++next;
            } else {
                std::this_thread::yield();
            }
    });
    ring_receiver receiver(shared, ring_slots);
    int wrong = 0;
    for (int next = 0; next < numbers;)
        if (std::byte const* const slot = receiver.slot()) {
            int index = 0;
            std::memcpy(&index, slot, sizeof index);
            wrong += index != next++;
            receiver.pass();
        } else {
            std::this_thread::yield();
        }
    sending.join();
    return wrong;
}

} // namespace

BOOST_AUTO_TEST_CASE(slots_come_in_order_and_whole) {
    BOOST_TEST(wrong_numbers(1, 2000) == 0);
    BOOST_TEST(wrong_numbers(3, 5000) == 0);
}

struct ring_of_two_slots {
    ring_state shared;
    std::vector<std::byte> memory = std::vector<std::byte>(2 * 8);
    ring_slots slots{memory.data(), 8, 2};
    ring_sender sender{shared, slots};
    ring_receiver receiver{shared, slots};
};

BOOST_FIXTURE_TEST_CASE(a_full_ring_gives_no_slot_and_an_empty_one_none_either, ring_of_two_slots) {
    BOOST_TEST(receiver.slot() == nullptr);
    BOOST_TEST(sender.slot() == memory.data());
    sender.pass();
    BOOST_TEST(sender.slot() == memory.data() + 8);
    sender.pass();
    BOOST_TEST(sender.slot() == nullptr);
    BOOST_TEST(receiver.slot() == memory.data());
    BOOST_TEST(sender.slot() == nullptr); // it is read still
    receiver.pass();
    BOOST_TEST(sender.slot() == memory.data());
    BOOST_TEST(receiver.slot() == memory.data() + 8);
    receiver.pass();
    BOOST_TEST(receiver.slot() == nullptr);
}

BOOST_FIXTURE_TEST_CASE(a_refused_list_is_replaced_by_bytes_in_its_slot, ring_of_two_slots) {
    BOOST_TEST(!sender.may_list());
    receiver.allow_lists(true);
    BOOST_TEST(sender.may_list());
    sender.pass();
    sender.pass(7);
    BOOST_TEST(receiver.slot() == memory.data());
    BOOST_TEST(receiver.runs() == 0u);
    BOOST_TEST(sender.refused() == 2u); // none
    receiver.pass();
    BOOST_TEST(receiver.slot() == memory.data() + 8);
    BOOST_TEST(receiver.runs() == 7u);
    receiver.refuse();
    BOOST_TEST(receiver.slot() == nullptr); // until it has bytes
    BOOST_TEST(!sender.may_list());
    BOOST_TEST(sender.refused() == 1u);
    BOOST_TEST(sender.at(1) == memory.data() + 8);
    sender.replace(1);
    BOOST_TEST(sender.refused() == 2u);
    BOOST_TEST(receiver.slot() == memory.data() + 8);
    BOOST_TEST(receiver.runs() == 0u);
    BOOST_TEST(!sender.is_empty());
    receiver.pass();
    BOOST_TEST(sender.is_empty());
}

BOOST_AUTO_TEST_SUITE_END()
