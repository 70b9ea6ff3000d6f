// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/testing/fake_device.hpp>

#include "support/child_process.hpp"
#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <unistd.h>

using namespace reshard;
using namespace reshard::detail;
using testing::fake_device;
using testing::fake_order;

/// Faults that a program with a real device may have, and how each shows.
BOOST_AUTO_TEST_SUITE(device_fake_device)

namespace {

constexpr std::size_t capacity = std::size_t{1} << 20;

/// A copy of `count` floats from the device to the device.
device_copy floats(void const* source, void* target, index_t count) {
    return {{{count}, 0, {1}, 0, {1}}, {data_type::f32}, source, target, true, true};
}

device_copy floats_from_host(float const* source, void* target, index_t count) {
    device_copy work = floats(source, target, count);
    work.reads_device = false;
    return work;
}

/// Whether the system ends a process that does that.
bool is_access_refused(auto const& work) {
    return test::child_process([&] {
               std::signal(SIGSEGV, SIG_DFL); // not the test framework's
               work();
               return true;
           })
        .wait_until_killed(SIGSEGV);
}

float first_of(fake_device& device, void const* memory) {
    float value = 0;
    device.read(&value, memory, sizeof value);
    return value;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_processor_cannot_use_it_in_any_thread) {
    fake_device device(capacity);
    auto* const memory = static_cast<float volatile*>(device.allocate(64));
    BOOST_TEST(is_access_refused([&] { return *memory; }));
    BOOST_TEST(is_access_refused([&] { *memory = 1; }));
    BOOST_TEST(is_access_refused([&] { std::thread([&] { *memory = 1; }).join(); }));
}

BOOST_AUTO_TEST_CASE(system_calls_cannot_use_it) {
    fake_device device(capacity);
    void* const memory = device.allocate(64);
    int pipe[2] = {-1, -1};
    BOOST_REQUIRE(::pipe(pipe) == 0);
    BOOST_TEST(::write(pipe[1], memory, 64) == -1);
    BOOST_TEST(errno == EFAULT);
    char const byte = 1;
    BOOST_TEST(::write(pipe[1], &byte, 1) == 1);
    BOOST_TEST(::read(pipe[0], memory, 1) == -1);
    BOOST_TEST(errno == EFAULT);
    ::close(pipe[0]);
    ::close(pipe[1]);
}

BOOST_AUTO_TEST_CASE(without_a_wait_the_value_is_old) {
    for (auto const order : {fake_order::reversed, fake_order::shuffled}) {
        fake_device device(capacity, 0, order);
        void* const memory = device.allocate(64);
        float const one = 1;
        device.copy(floats_from_host(&one, memory, 1));
        BOOST_TEST(first_of(device, memory) == 0.0F);
        device.wait();
        BOOST_TEST(first_of(device, memory) == 1.0F);
    }
}

BOOST_AUTO_TEST_CASE(a_host_buffer_that_changes_before_the_wait_is_copied_as_it_is_then) {
    fake_device device(capacity);
    void* const memory = device.allocate(64);
    float value = 1;
    device.copy(floats_from_host(&value, memory, 1));
    value = 2;
    device.wait();
    BOOST_TEST(first_of(device, memory) == 2.0F);
}

BOOST_AUTO_TEST_CASE(elements_written_twice_between_waits_are_refused) {
    fake_device device(capacity);
    void* const memory = device.allocate(64);
    float const values[] = {1, 2};
    device.copy(floats_from_host(values, memory, 1));
    device.copy(floats_from_host(values + 1, memory, 1));
    BOOST_CHECK_EXCEPTION(device.wait(), error,
                          test::says(errc::usage,
                                     "fake device 0: byte 0 is written twice by copies "
                                     "without a wait between them"));
}

BOOST_AUTO_TEST_CASE(elements_read_and_written_between_waits_are_refused) {
    fake_device device(capacity);
    void* const memory = device.allocate(128);
    float const value = 1;
    device.copy(floats_from_host(&value, memory, 1));
    device.copy(floats(memory, static_cast<std::byte*>(memory) + 64, 1));
    BOOST_CHECK_EXCEPTION(device.wait(), error,
                          test::says(errc::usage, "fake device 0: byte 0 is read and written by "
                                                  "copies without a wait between them"));
}

BOOST_AUTO_TEST_CASE(interleaved_elements_are_accepted) {
    fake_device device(capacity, 0, fake_order::reversed);
    void* const memory = device.allocate(16);
    float const values[] = {1, 2, 3, 4};
    for (index_t first : {0, 1}) {
        device_copy work = floats_from_host(values, memory, 2);
        work.loop = {{2}, first, {2}, first, {2}};
        device.copy(work);
    }
    device.wait();
    float result[4] = {};
    device.read(result, memory, sizeof result);
    BOOST_TEST(result == values, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(freed_memory_is_refused_even_if_it_is_freed_after_the_copy_started) {
    fake_device device(capacity);
    void* const kept = device.allocate(64);
    void* const freed = device.allocate(64);
    device.copy(floats(kept, freed, 4));
    device.deallocate(freed);
    BOOST_CHECK_EXCEPTION(device.wait(), error,
                          test::mentions(errc::usage, "not in one allocation"));
    BOOST_CHECK_EXCEPTION(device.copy(floats(freed, kept, 4)), error,
                          test::says(errc::usage, "fake device 0: bytes 64 to 80 are not in one "
                                                  "allocation: they were freed, or exceed it"));
}

BOOST_AUTO_TEST_CASE(elements_after_the_end_of_an_allocation_are_refused) {
    fake_device device(capacity);
    void* const memory = device.allocate(16);
    void* const next = device.allocate(64);
    BOOST_CHECK_EXCEPTION(device.copy(floats(memory, next, 5)), error,
                          test::mentions(errc::usage, "bytes 0 to 20 are not in one allocation"));
}

BOOST_AUTO_TEST_CASE(elements_before_an_allocation_are_refused) {
    fake_device device(capacity);
    static_cast<void>(device.allocate(64));
    void* const memory = device.allocate(64);
    device_copy work = floats(memory, memory, 2);
    work.loop.source_strides = {-1};
    BOOST_CHECK_EXCEPTION(device.copy(work), error,
                          test::mentions(errc::usage, "not in one allocation"));
}

BOOST_AUTO_TEST_CASE(elements_before_the_first_allocation_are_refused) {
    fake_device device(capacity);
    auto* const memory = static_cast<std::byte*>(device.allocate(64));
    void* const target = device.allocate(64);
    BOOST_CHECK_EXCEPTION(device.copy(floats(memory - 8, target, 4)), error,
                          test::mentions(errc::usage, "is not in its memory"));
    float values[4] = {};
    BOOST_CHECK_EXCEPTION(device.read(values, memory - 8, 16), error,
                          test::mentions(errc::usage, "is not in its memory"));
}

BOOST_AUTO_TEST_CASE(memory_is_freed_once_and_by_its_address) {
    fake_device device(capacity);
    auto* const memory = static_cast<std::byte*>(device.allocate(64));
    auto const refused =
        test::says(errc::usage, "fake device 0: no allocation begins at this address");
    BOOST_CHECK_EXCEPTION(device.deallocate(memory + 1), error, refused);
    device.deallocate(memory);
    BOOST_CHECK_EXCEPTION(device.deallocate(memory), error, refused);
}

BOOST_AUTO_TEST_CASE(memory_of_another_device_is_refused) {
    fake_device device(capacity, 0), other(capacity, 1);
    void* const memory = device.allocate(64);
    void* const elsewhere = other.allocate(64);
    BOOST_CHECK_EXCEPTION(
        device.copy(floats(elsewhere, memory, 4)), error,
        test::mentions(errc::usage, "is not in its memory; does the tensor name"));
}

BOOST_AUTO_TEST_CASE(host_memory_given_as_device_memory_is_refused) {
    fake_device device(capacity);
    void* const memory = device.allocate(64);
    float const values[4] = {};
    BOOST_CHECK_EXCEPTION(device.copy(floats(values, memory, 4)), error,
                          test::mentions(errc::usage, "is not in its memory"));
}

BOOST_AUTO_TEST_CASE(device_memory_given_as_host_memory_is_refused) {
    fake_device device(capacity);
    void* const memory = device.allocate(64);
    void* const next = device.allocate(64);
    BOOST_CHECK_EXCEPTION(
        device.copy(floats_from_host(static_cast<float*>(memory), next, 4)), error,
        test::says(errc::usage, "fake device 0: a host end is in its memory; does the tensor "
                                "name its device?"));
}

BOOST_AUTO_TEST_CASE(more_bytes_than_it_has_are_refused) {
    fake_device device(capacity);
    BOOST_CHECK_EXCEPTION(static_cast<void>(device.allocate(capacity + 1)), error,
                          test::mentions(errc::limit_exceeded, "has no 1048577 bytes left"));
}

BOOST_AUTO_TEST_SUITE_END()
