// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/error.hpp>
#include <reshard/os/arena_resource.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

namespace {

struct alignas(64) line {
    std::byte bytes[64];
};

/// Memory, and a resource made of it.
struct arena_fixture {
    std::vector<line> memory = std::vector<line>(1024);
    arena_resource resource{memory.data(), memory.size() * sizeof(line)};

    bool is_inside(void const* part, std::size_t bytes) const {
        auto const first = reinterpret_cast<std::uintptr_t>(memory.data());
        auto const begin = reinterpret_cast<std::uintptr_t>(part);
        return begin >= first && begin + bytes <= first + memory.size() * sizeof(line);
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(node_arena_resource, arena_fixture)

BOOST_AUTO_TEST_CASE(every_part_begins_at_a_line_and_lies_inside_apart_from_the_others) {
    std::vector<std::pair<unsigned char*, std::size_t>> parts;
    for (std::size_t const bytes : {1u, 64u, 100u, 4096u, 0u, 7u}) {
        auto* const part = static_cast<unsigned char*>(resource.allocate(bytes));
        BOOST_TEST(reinterpret_cast<std::uintptr_t>(part) % 64 == 0u);
        BOOST_TEST(is_inside(part, bytes));
        std::fill_n(part, bytes, static_cast<unsigned char>(parts.size()));
        parts.emplace_back(part, bytes);
    }
    for (std::size_t i = 0; i < parts.size(); ++i)
        BOOST_TEST(std::count(parts[i].first, parts[i].first + parts[i].second, i) ==
                   static_cast<std::ptrdiff_t>(parts[i].second));
    for (auto const& [part, bytes] : parts)
        resource.deallocate(part, bytes);
}

BOOST_AUTO_TEST_CASE(what_is_freed_is_allocated_again) {
    std::size_t const before = resource.free_bytes();
    for (int i = 0; i < 100; ++i) {
        void* const first = resource.allocate(20'000);
        void* const second = resource.allocate(30'000);
        BOOST_TEST(resource.free_bytes() <= before - 50'000);
        resource.deallocate(first, 20'000);
        resource.deallocate(second, 30'000);
    }
    BOOST_TEST(resource.free_bytes() == before);
}

BOOST_AUTO_TEST_CASE(containers_live_in_it) {
    std::pmr::vector<double> numbers(1000, 2.5, &resource);
    BOOST_TEST(is_inside(numbers.data(), 8000));
    BOOST_TEST(numbers.back() == 2.5);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_an_error_with_the_numbers) {
    std::string text;
    try {
        static_cast<void>(resource.allocate(70'000));
    } catch (error const& problem) {
        BOOST_TEST((problem.code() == errc::limit_exceeded));
        text = problem.what();
    }
    BOOST_TEST(text == "an arena of 65536 bytes has no room for 70000 more: " +
                           std::to_string(resource.free_bytes()) +
                           " are free, perhaps fragmented; make it larger");
    BOOST_CHECK_THROW(static_cast<void>(resource.allocate(PTRDIFF_MAX - 100)), error);
    resource.deallocate(resource.allocate(60'000), 60'000);
}

BOOST_AUTO_TEST_CASE(the_least_memory_is_enough_for_a_small_part) {
    arena_resource small(memory.data(), arena_resource::least_bytes);
    small.deallocate(small.allocate(64), 64);
}

BOOST_AUTO_TEST_SUITE_END()
