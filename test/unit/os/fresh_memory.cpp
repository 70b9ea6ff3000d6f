// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/os/fresh_memory.hpp>

#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

using namespace reshard;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(node_fresh_memory)

namespace {

bool system_populates() {
    detail::private_mapping const probe(4096, false);
    return detail::populate(probe.data(), 4096);
}

} // namespace

BOOST_AUTO_TEST_CASE(pages_are_there_before_they_are_written) {
    // Of three pieces, the last one short; the first may be there without being asked for.
    constexpr std::size_t bytes = std::size_t{70} << 20;
    for (bool const populate : {true, false}) {
        fresh_memory memory(bytes + 128, {.huge = false, .populate = populate});
        auto* const data = static_cast<std::byte*>(memory.resource()->allocate(bytes));
        memory.wait();
        auto const page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
        auto const first = (reinterpret_cast<std::uintptr_t>(data) + page - 1) / page * page;
        std::size_t const count = bytes / page - 1;
        std::vector<unsigned char> there(count);
        BOOST_REQUIRE(::mincore(reinterpret_cast<void*>(first), count * page, there.data()) == 0);
        auto const present = static_cast<std::size_t>(
            std::ranges::count_if(there, [](unsigned char one) { return (one & 1) != 0; }));
        if (system_populates())
            BOOST_TEST((present == count) == populate);
        memory.resource()->deallocate(data, bytes);
    }
}

BOOST_AUTO_TEST_CASE(memory_may_be_used_and_freed_while_it_is_taken) {
    for (std::size_t const bytes : {0u, 1u, 100u, 5'000'000u}) {
        fresh_memory memory(static_cast<index_t>(bytes) + 256);
        std::pmr::vector<std::uint8_t> one(bytes, std::uint8_t{7}, memory.resource());
        std::pmr::vector<std::uint8_t> two(1, std::uint8_t{8}, memory.resource());
        BOOST_TEST(static_cast<std::size_t>(std::ranges::count(one, 7)) == bytes);
        BOOST_TEST(reinterpret_cast<std::uintptr_t>(two.data()) % 64 == 0u);
    }
}

BOOST_AUTO_TEST_CASE(sizes_that_no_memory_has_are_errors) {
    BOOST_CHECK_EXCEPTION(fresh_memory(-1), error,
                          says(errc::usage, "fresh memory of -1 bytes; it must be 0 or more, and "
                                            "less than 2^62"));
    BOOST_CHECK_THROW(fresh_memory{std::numeric_limits<index_t>::max()}, error);
    BOOST_CHECK_THROW(fresh_memory(index_t{1} << 61), error); // more than addresses
    fresh_memory small(1000);
    BOOST_CHECK_THROW(static_cast<void>(small.resource()->allocate(5000)), error);
}

BOOST_AUTO_TEST_SUITE_END()
