// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/device/staged_device.hpp>

#include <reshard/testing/check_device.hpp>

#include "support.hpp"
#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>

using namespace reshard;
using namespace reshard::detail;
using test::fake_device;

BOOST_AUTO_TEST_SUITE(device_staged_device)

namespace {

testing::device_case functions_of(fake_device& memory) {
    return {
        [&](std::size_t bytes) { return memory.allocate(bytes); },
        [&](void* bytes) { memory.deallocate(bytes); },
        [&](void* host, void const* from, std::size_t bytes) { memory.read(host, from, bytes); },
        [&](void* to, void const* host, std::size_t bytes) { memory.write(to, host, bytes); }};
}

} // namespace

BOOST_AUTO_TEST_CASE(two_functions_make_a_device) {
    fake_device memory(std::size_t{1} << 24);
    staged_device staged = test::staged_by(memory, std::size_t{1} << 22);
    testing::check_device(staged, functions_of(memory));
}

BOOST_AUTO_TEST_CASE(parts_of_a_few_bytes_are_staged) {
    fake_device memory(std::size_t{1} << 24);
    for (std::size_t const bytes : {16u, 100u, 1000u}) {
        staged_device staged = test::staged_by(memory, bytes);
        testing::check_device(staged, functions_of(memory));
    }
}

BOOST_AUTO_TEST_CASE(a_fake_device_is_a_device) {
    for (auto const order :
         {test::fake_order::at_once, test::fake_order::reversed, test::fake_order::shuffled}) {
        fake_device memory(std::size_t{1} << 24, 0, order);
        testing::check_device(memory, functions_of(memory));
    }
}

BOOST_AUTO_TEST_CASE(a_check_without_functions_is_refused) {
    fake_device memory(std::size_t{1} << 20);
    BOOST_CHECK_EXCEPTION(testing::check_device(memory, {}), error,
                          test::says(errc::usage, "check_device: give functions that allocate, "
                                                  "deallocate, read and write"));
}

BOOST_AUTO_TEST_SUITE_END()
