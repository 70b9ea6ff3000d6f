// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bridge/control.hpp>

#include "support/child_process.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>

using namespace reshard::detail;
using namespace reshard::test;

namespace {

/// Publishes a version of nothing, waiting for nobody.
std::size_t publish(control_block& control, std::uint64_t version) {
    std::size_t const late = begin_version(control, version, 0);
    finish_version(control, version, 1);
    return late;
}

} // namespace

BOOST_AUTO_TEST_SUITE(bridge_control)

BOOST_AUTO_TEST_CASE(a_version_is_there_when_the_last_rank_has_written_it) {
    auto const control = std::make_unique<control_block>();
    taken_seat reader(*control);
    BOOST_TEST(reader.begin_reading() == 0u);
    for (std::uint64_t version = 1; version <= 4; ++version) {
        BOOST_TEST(begin_version(*control, version, 0) == 0u);
        for (int rank = 0; rank < 3; ++rank) {
            BOOST_TEST(reader.begin_reading() == version - 1);
            reader.end_reading();
            BOOST_TEST(!is_intact(*control, version));
            finish_version(*control, version, 3);
        }
        BOOST_TEST(is_intact(*control, version));
        BOOST_TEST(reader.begin_reading() == version);
        reader.end_reading();
    }
}

BOOST_AUTO_TEST_CASE(the_version_before_stays_while_one_is_written_and_then_goes) {
    auto const control = std::make_unique<control_block>();
    publish(*control, 1);
    publish(*control, 2);
    BOOST_TEST(is_intact(*control, 1));
    begin_version(*control, 3, 0);
    BOOST_TEST(is_intact(*control, 2));
    BOOST_TEST(!is_intact(*control, 1));
    finish_version(*control, 3, 1);
    BOOST_TEST(is_intact(*control, 3));
    BOOST_TEST(!is_intact(*control, 1)); // which was in the same buffer
}

BOOST_AUTO_TEST_CASE(who_reads_the_buffer_is_late_once_and_who_reads_the_other_never) {
    auto const control = std::make_unique<control_block>();
    taken_seat slow(*control), quick(*control);
    publish(*control, 1);
    BOOST_TEST(slow.begin_reading() == 1u);
    BOOST_TEST(publish(*control, 2) == 0u);
    BOOST_TEST(quick.begin_reading() == 2u);
    BOOST_TEST(publish(*control, 3) == 1u);
    BOOST_TEST(publish(*control, 4) == 1u); // the quick one, now
    BOOST_TEST(publish(*control, 5) == 0u);
    slow.end_reading();
    BOOST_TEST(slow.begin_reading() == 5u);
    BOOST_TEST(publish(*control, 6) == 0u);
    slow.end_reading();
    BOOST_TEST(publish(*control, 7) == 0u);
}

BOOST_AUTO_TEST_CASE(the_source_goes_on_as_soon_as_the_buffer_is_free) {
    shared_value<control_block> control;
    publish(*control, 1);
    child_process reader([&] {
        taken_seat seat(*control);
        seat.begin_reading();
        ::raise(SIGSTOP);
        seat.end_reading();
        return true;
    });
    BOOST_TEST(reader.wait_until_stopped());
    publish(*control, 2);
    reader.kill(SIGCONT);
    BOOST_TEST(begin_version(*control, 3, 50) == 0u);
    BOOST_TEST(reader.wait());
}

BOOST_AUTO_TEST_CASE(who_has_ended_loses_its_seat) {
    shared_value<control_block> control;
    publish(*control, 1);
    child_process killed([&] {
        taken_seat seat(*control);
        seat.begin_reading();
        ::raise(SIGKILL);
        return true;
    });
    BOOST_TEST(killed.wait_until_killed(SIGKILL));
    BOOST_TEST(control->seats[0].process.load() != 0u);
    publish(*control, 2);
    BOOST_TEST(begin_version(*control, 3, 50) == 0u);
    BOOST_TEST(control->seats[0].process.load() == 0u);
    BOOST_TEST(look_at_readers(*control).count == 0u);
}

BOOST_AUTO_TEST_CASE(readers_beyond_the_seats_read_unseen) {
    auto const control = std::make_unique<control_block>();
    std::vector<taken_seat> seats;
    for (std::size_t i = 0; i < control_block::most_seats; ++i)
        seats.emplace_back(*control);
    publish(*control, 1);
    taken_seat more(*control);
    BOOST_TEST(more.begin_reading() == 1u);
    more.set_has(1);
    more.end_reading();
    BOOST_TEST(look_at_readers(*control).count == control_block::most_seats);
    seats.pop_back();
    BOOST_TEST(look_at_readers(*control).count == control_block::most_seats - 1);
}

BOOST_AUTO_TEST_CASE(the_slowest_reader_counts) {
    auto const control = std::make_unique<control_block>();
    taken_seat first(*control), second(*control);
    first.set_has(5);
    second.set_has(3);
    BOOST_TEST(look_at_readers(*control).count == 2u);
    BOOST_TEST(look_at_readers(*control).slowest == 3u);
    second = {};
    BOOST_TEST(look_at_readers(*control).slowest == 5u);
}

BOOST_AUTO_TEST_CASE(who_has_left_with_the_newest_version_is_counted_until_there_is_another) {
    auto const control = std::make_unique<control_block>();
    auto const left = [&] { return look_at_readers(*control).left_with_newest; };
    publish(*control, 1);
    for (std::uint64_t const version : {0u, 1u, 1u}) {
        taken_seat seat(*control);
        seat.set_has(version);
    }
    BOOST_TEST(left() == 2u);
    publish(*control, 2);
    BOOST_TEST(left() == 0u);
    for (std::uint64_t const version : {2u, 1u, 2u, 2u}) {
        taken_seat seat(*control);
        seat.set_has(version);
    }
    BOOST_TEST(left() == 3u);
}

BOOST_AUTO_TEST_SUITE_END()
