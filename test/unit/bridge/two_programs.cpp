// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bridge.hpp>

#include "support/child_process.hpp"
#include "support/guarded_memory.hpp"
#include "unit/bridge/weights.hpp"

#include <reshard/expr/algebra.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <initializer_list>
#include <mutex>
#include <thread>

using namespace reshard;
using namespace reshard::test;

namespace {

/// Longer than any test takes: who waits for so long waits for ever.
constexpr double ever = 500;

/// A tensor of one page, in guarded memory, after the tensors of `tensors` in the order of keys.
void add_page(state_dict& tensors, guarded_page const& page) {
    index_t const count = guarded_page::bytes / sizeof(float);
    tensors.add({"z", data_type::f32, {count}, whole({count})},
                adapt::raw_tensor(static_cast<float*>(page.data()), {count}));
}

/// Publishes version 1, and is killed in the middle of version 2.
[[noreturn]] void die_in_publish(port_path const& port, cut_along along, bool named) {
    weights have({"a", "b"}, 6, 4, along);
    guarded_page const page;
    state_dict tensors = have.views();
    add_page(tensors, page);
    bridge_source source(solo(), tensors, port, {.named_memory = named});
    have.set(1);
    source.publish();
    source.wait_for_readers(1, ever);
    have.set(2);
    page.forbid();
    source.publish();
    ::_exit(1);
}

/// Reads until a version, and is right where every set is of one version, the one that it says.
bool read_until(bridge_target& target, weights<>& first, weights<>& second, int last) {
    for (int version = 0; version < last;) {
        version = static_cast<int>(target.update(static_cast<std::uint64_t>(version) + 1));
        if ((target.front() == 0 ? first : second).version() != version)
            return false;
    }
    return true;
}

bool read_as(cut_along along, port_path const& port, int last) {
    weights first({"a", "b"}, 6, 4, along), second({"a", "b"}, 6, 4, along);
    bridge_target target(solo(), first.views(), second.views(), port, {.deadline = ever});
    return read_until(target, first, second, last);
}

/// Segments with names that are left of some processes; other tests may run beside this one.
std::size_t segments_with_names(std::initializer_list<pid_t> of) {
    std::size_t count = 0;
    for (auto const& element : std::filesystem::directory_iterator("/dev/shm"))
        for (pid_t const process : of)
            count += element.path().filename().string().starts_with("reshard-" +
                                                                    std::to_string(process) + "-");
    return count;
}

} // namespace

BOOST_AUTO_TEST_SUITE(bridge_two_programs)

BOOST_AUTO_TEST_CASE(a_source_that_is_killed_leaves_its_last_version_and_another_one_goes_on) {
    for (bool const named : {false, true}) {
        port_path const port;
        child_process killed([&]() -> bool { die_in_publish(port, cut_along::rows, named); });
        auto const names_left = [number = killed.number()] {
            return segments_with_names({number, ::getpid()});
        };
        weights first({"a", "b"}, 6, 4, cut_along::columns);
        weights second({"a", "b"}, 6, 4, cut_along::columns);
        bridge_target target(solo(), first.views(), second.views(), port, {.deadline = ever});
        BOOST_TEST(target.update(1) == 1u);
        BOOST_TEST(killed.wait_until_killed(SIGKILL));
        BOOST_TEST(target.update() == 1u);
        BOOST_TEST((target.front() == 0 ? first : second).version().value() == 1);
        BOOST_TEST(!target.stats().other_lives);
        BOOST_TEST(names_left() == (named ? 2u : 0u));

        // Of another layout; its numbers continue after the version that was never complete.
        weights have({"a", "b"}, 6, 4, cut_along::columns);
        {
            bridge_source source(solo(), have.views(), port);
            BOOST_TEST(names_left() == 0u);
            BOOST_TEST(target.update() == 1u);
            have.set(7);
            BOOST_TEST(source.publish() == 3u);
            BOOST_TEST(target.update() == 3u);
            BOOST_TEST((target.front() == 0 ? first : second).version().value() == 7);
            BOOST_TEST(target.stats().others == 2u);
            BOOST_TEST(target.stats().other_lives);
        }
        BOOST_TEST(!std::filesystem::exists(port));
        BOOST_TEST(!target.stats().other_lives);
        BOOST_TEST(target.update() == 3u);
    }
}

BOOST_AUTO_TEST_CASE(a_target_that_is_killed_while_it_reads_does_not_hold_up_the_source) {
    port_path const port;
    weights have({"a", "b"}, 6, 4, cut_along::rows);
    guarded_page const page;
    state_dict tensors = have.views();
    add_page(tensors, page);
    bridge_source source(solo(), tensors, port, {.deadline = ever});
    have.set(1);
    source.publish();
    child_process killed([&] {
        weights want({"a", "b"}, 6, 4, cut_along::columns);
        guarded_page const own;
        state_dict wanted = want.views();
        add_page(wanted, own);
        bridge_target target(solo(), wanted, port);
        own.forbid();
        target.update();
        return true;
    });
    BOOST_TEST(killed.wait_until_killed(SIGKILL));
    for (int version = 2; version <= 6; ++version) {
        have.set(version);
        source.publish();
    }
    BOOST_TEST(source.stats().overwritten == 0u);
    BOOST_TEST(source.stats().others == 0u);
    BOOST_TEST(source.stats().version == 6u);
}

BOOST_AUTO_TEST_CASE(a_target_that_is_stopped_is_waited_for_once_and_then_reads_what_is_newer) {
    port_path const port;
    weights have({"a", "b"}, 6, 4, cut_along::rows);
    bridge_source source(solo(), have.views(), port, {.deadline = 0.05});
    have.set(1);
    source.publish();
    child_process stopped([&] {
        weights want({"a", "b"}, 6, 4, cut_along::columns);
        bool stops = true;
        bridge_target target(solo(), want.views(), port,
                             {.deadline = ever, .ready = [&](std::string const&, std::uint64_t) {
                                  if (std::exchange(stops, false))
                                      ::raise(SIGSTOP);
                              }});
        return target.update() == 5 && want.version() == 5 && target.stats().overwritten == 1;
    });
    BOOST_TEST(stopped.wait_until_stopped());
    for (int version = 2; version <= 5; ++version) {
        have.set(version);
        source.publish();
    }
    BOOST_TEST(source.stats().overwritten == 1u);
    BOOST_TEST(source.stats().others == 1u);
    stopped.kill(SIGCONT);
    BOOST_TEST(stopped.wait());
}

BOOST_AUTO_TEST_CASE(
    targets_of_other_layouts_that_come_early_and_late_have_every_version_they_read) {
    port_path const port;
    child_process early([&] { return read_as(cut_along::columns, port, 10); });
    weights have({"a", "b"}, 6, 4, cut_along::rows);
    bridge_source source(solo(), have.views(), port, {.deadline = ever});
    BOOST_TEST(source.wait_for_readers(1, ever));
    for (int version = 1; version <= 5; ++version) {
        have.set(version);
        source.publish();
    }
    child_process late([&] {
        weights want({"a", "b"}, 6, 4, cut_along::rows);
        bridge_target target(solo(), want.views(), port, {.deadline = ever});
        bool const is_right = target.update() == 5 && want.version() == 5;
        return is_right && read_as(cut_along::rows, port, 10);
    });
    BOOST_TEST(source.wait_for_readers(2, ever));
    for (int version = 6; version <= 10; ++version) {
        have.set(version);
        source.publish();
    }
    BOOST_TEST(early.wait());
    BOOST_TEST(late.wait());
}

// The source waits for nobody, once the first read has begun. Now and then a read is not half done
// before the source is two versions on; another thread looks at the set in front all the time.
BOOST_AUTO_TEST_CASE(half_a_version_is_never_seen) {
    port_path const port;
    constexpr int versions = 400, rows = 256, columns = 128;
    shared_value<std::atomic<bool>> is_read;
    child_process writer([&] {
        weights have({"a", "b", "c"}, rows, columns, cut_along::rows);
        bridge_source source(solo(), have.views(), port, {.deadline = 0.0});
        source.wait_for_readers(1, ever);
        for (int version = 1; version <= versions; ++version) {
            have.set(version);
            source.publish();
            while (!*is_read)
                std::this_thread::yield();
        }
        return source.wait_for_readers(1, ever);
    });
    weights first({"a", "b", "c"}, rows, columns, cut_along::columns);
    weights second({"a", "b", "c"}, rows, columns, cut_along::columns);
    bridge_target* reading = nullptr;
    std::uint64_t dawdles_at = 1;
    auto const dawdle = [&](std::string const& key, std::uint64_t version) {
        *is_read = true;
        if (key != "b" || version < dawdles_at || version + 2 > versions)
            return;
        dawdles_at = version + 20;
        while (reading->latest_complete_version() < version + 2)
            std::this_thread::yield();
    };
    bridge_target target(solo(), first.views(), second.views(), port,
                         {.deadline = ever, .ready = dawdle});
    reading = &target;
    std::mutex swapping;
    weights<>* front = nullptr;
    int expected = 0;
    std::size_t looks = 0, wrong = 0;
    std::atomic<bool> ends = false, has_looked = false;
    std::thread user([&] {
        while (!ends) {
            std::scoped_lock const lock(swapping);
            if (front) {
                ++looks;
                has_looked = true;
                wrong += front->version() != expected;
            }
        }
    });
    for (int version = 0; version < versions;) {
        version = static_cast<int>(target.update(static_cast<std::uint64_t>(version) + 1));
        std::scoped_lock const lock(swapping);
        front = target.front() == 0 ? &first : &second;
        expected = version;
    }
    // A machine that stands still: the user has not looked yet.
    auto const limit = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (!has_looked && std::chrono::steady_clock::now() < limit)
        std::this_thread::yield();
    ends = true;
    user.join();
    BOOST_TEST(wrong == 0u);
    BOOST_TEST(looks > 0u);
    BOOST_TEST(target.stats().overwritten > 0u);
    BOOST_TEST(writer.wait());
}

BOOST_AUTO_TEST_SUITE_END()
