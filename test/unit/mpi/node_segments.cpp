// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/mpi/node_segments.hpp>

#include <reshard/group/solo.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(node_node_segments)

// Several ranks: test/mpi/shared_arena.cpp.

BOOST_AUTO_TEST_CASE(a_rank_has_aligned_memory_of_the_wanted_size_and_a_new_barrier) {
    for (segment_kind const kind : {segment_kind::unnamed, segment_kind::named}) {
        node_segments const node_segments(solo(), 1000, {kind, {}, {}});
        BOOST_TEST(node_segments.range(0).bytes() == 1000u);
        BOOST_TEST(reinterpret_cast<std::uintptr_t>(node_segments.data(0)) % 64 == 0u);
        shared_barrier(node_segments.barrier(), 1).wait();
        BOOST_TEST(node_segments.barrier().round == 1u);
        // The barrier lies apart from the memory.
        BOOST_TEST(std::count(node_segments.data(0), node_segments.data(0) + 1000, std::byte{0}) ==
                   1000);
    }
}

BOOST_AUTO_TEST_CASE(what_the_system_refuses_is_an_error) {
    segment_request full;
    full.calls.reserve = [](int, off_t) { return ENOSPC; };
    BOOST_CHECK_THROW(node_segments(solo(), 1000, full), error);
}

BOOST_AUTO_TEST_SUITE_END()
