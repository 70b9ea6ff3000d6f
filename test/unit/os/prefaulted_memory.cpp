// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/os/prefaulted_memory.hpp>

#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

using namespace reshard;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(node_prefaulted_memory)

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
        prefaulted_memory memory(bytes + 128, {.huge = false, .populate = populate});
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

namespace {

constexpr std::size_t large_page = detail::private_mapping::alignment;

/// A system whose pages have a given cost, and that notes its requests.
struct fake_system {
    static inline std::string free_blocks;
    static inline double large_cost = 1;
    static inline std::size_t most_bytes = 0; ///< that it has

    static inline std::vector<bool> large;
    static inline std::size_t bytes = 0;
    static inline double now = 0;

    static detail::page_calls calls() {
        large.clear();
        bytes = 0;
        most_bytes = std::numeric_limits<std::size_t>::max();
        return {[] { return free_blocks; },
                [](void*, std::size_t, bool wanted) { large.push_back(wanted); },
                [](void*, std::size_t size) {
                    now += large.empty() || !large.back() ? 2 : large_cost;
                    bytes += size;
                    return bytes <= most_bytes;
                },
                [] { return now; }};
    }

    static std::ptrdiff_t large_pieces() { return std::ranges::count(large, true); }
};

/// The free blocks of a system with small pages only, and of one with this many of 2^10.
constexpr char const* fragmented = "Node 0, zone Normal 900000 800000 9000 900 90 9 0 0 0 0 0";
std::string const plenty = "Node 0, zone Normal 0 0 0 0 0 0 0 0 0 0 5000";

/// Takes this many pieces of memory, which is never touched.
void take(std::size_t pieces, bool huge, detail::page_calls const& calls) {
    std::size_t const bytes = pieces * large_page;
    void* const memory =
        ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    BOOST_REQUIRE(memory != MAP_FAILED);
    detail::take_pages(static_cast<std::byte*>(memory), bytes, huge, calls, {});
    ::munmap(memory, bytes);
}

} // namespace

BOOST_AUTO_TEST_CASE(large_pages_are_asked_for_where_they_are_free_and_cheap) {
    fake_system::free_blocks = plenty;
    fake_system::large_cost = 1;
    take(100, true, fake_system::calls());
    BOOST_TEST(fake_system::large_pieces() == 98); // two small ones to compare with
    BOOST_TEST(fake_system::bytes == 100 * large_page);
}

BOOST_AUTO_TEST_CASE(dear_large_pages_are_given_up_after_one) {
    fake_system::free_blocks = plenty;
    fake_system::large_cost = 20;
    take(100, true, fake_system::calls());
    BOOST_TEST(fake_system::large_pieces() == 1); // 18 lost; all take 218
    BOOST_TEST(fake_system::large.at(2));
    BOOST_TEST(fake_system::bytes == 100 * large_page);
}

BOOST_AUTO_TEST_CASE(without_free_large_pages_all_are_small_and_there) {
    fake_system::free_blocks = fragmented;
    fake_system::large_cost = 1;
    take(100, true, fake_system::calls());
    BOOST_TEST(fake_system::large_pieces() == 0);
    BOOST_TEST(fake_system::bytes == 100 * large_page);
}

BOOST_AUTO_TEST_CASE(where_nothing_is_said_of_free_pages_their_cost_decides) {
    fake_system::free_blocks.clear();
    fake_system::large_cost = 1;
    take(100, true, fake_system::calls());
    BOOST_TEST(fake_system::large_pieces() == 98);
}

BOOST_AUTO_TEST_CASE(no_page_is_asked_for_beyond_what_the_system_has) {
    fake_system::free_blocks = plenty;
    auto const calls = fake_system::calls();
    fake_system::most_bytes = 3 * large_page;
    take(100, true, calls);
    BOOST_TEST(fake_system::bytes == 4 * large_page);
    take(1, false, fake_system::calls());
    BOOST_TEST(fake_system::large.empty()); // nothing is advised if nothing is wanted
}

BOOST_AUTO_TEST_CASE(much_memory_is_taken_in_larger_pieces) {
    fake_system::free_blocks = fragmented;
    take(3 * 4096, true, fake_system::calls());
    BOOST_TEST(fake_system::large.size() == 3072u); // of 4 large pages each
    BOOST_TEST(fake_system::bytes == 3 * 4096 * large_page);
}

BOOST_AUTO_TEST_CASE(fresh_memory_is_zero_whatever_pages_are_free) {
    constexpr std::size_t bytes = std::size_t{9} << 20;
    for (bool const populate : {true, false}) {
        prefaulted_memory memory(bytes + 128, {.huge = true, .populate = populate},
                                 {.free_blocks = [] { return std::string(fragmented); }});
        auto* const data = static_cast<std::byte*>(memory.resource()->allocate(bytes));
        data[5000] = std::byte{9}; // while it is taken
        memory.wait();
        BOOST_TEST(reinterpret_cast<std::uintptr_t>(data) % 64 == 0u);
        BOOST_TEST(std::count(data, data + bytes, std::byte{0}) ==
                   static_cast<std::ptrdiff_t>(bytes - 1));
        BOOST_TEST((data[5000] == std::byte{9}));
    }
}

BOOST_AUTO_TEST_CASE(memory_may_be_used_and_freed_while_it_is_taken) {
    for (std::size_t const bytes : {0u, 1u, 100u, 5'000'000u}) {
        prefaulted_memory memory(static_cast<index_t>(bytes) + 256);
        std::pmr::vector<std::uint8_t> vector(bytes, std::uint8_t{7}, memory.resource());
        std::pmr::vector<std::uint8_t> two(1, std::uint8_t{8}, memory.resource());
        BOOST_TEST(static_cast<std::size_t>(std::ranges::count(vector, 7)) == bytes);
        BOOST_TEST(reinterpret_cast<std::uintptr_t>(two.data()) % 64 == 0u);
    }
}

BOOST_AUTO_TEST_CASE(sizes_that_no_memory_has_are_errors) {
    BOOST_CHECK_EXCEPTION(
        prefaulted_memory(-1), error,
        says(errc::usage,
             "cannot provide -1 bytes of memory; the number must be from 0 to 2^62 - 1"));
    BOOST_CHECK_THROW(prefaulted_memory{std::numeric_limits<index_t>::max()}, error);
    BOOST_CHECK_THROW(prefaulted_memory(index_t{1} << 61), error); // more than addresses
    prefaulted_memory small(1000);
    BOOST_CHECK_THROW(static_cast<void>(small.resource()->allocate(5000)), error);
}

BOOST_AUTO_TEST_SUITE_END()
