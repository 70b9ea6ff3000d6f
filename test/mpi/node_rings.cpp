// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/mpi/node_rings.hpp>

#include "support/agreed_error.hpp"
#include "support/matrix_part.hpp"
#include "support/ranks_per_node.hpp"

#include <reshard/mpi/redistribute.hpp>

#include <boost/test/unit_test.hpp>

#include <mpi.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::agreed_error;
using reshard::test::matrix_part;
using reshard::test::ranks_per_node_variable;

namespace {

/// A matrix of rows over all ranks that becomes columns; 5 columns, so that some of 7 ranks have none.
struct rings_fixture {
    boost::mpi::communicator world;
    int rank = world.rank();
    int size = world.size();
    index_vector shape{60'000, 5};
    box rows = part(0, 60'000);
    box columns = part(1, 5);

    box part(std::size_t axis, index_t extent) const {
        box box = whole(shape);
        box.offset[axis] = extent * rank / size;
        box.shape[axis] = extent * (rank + 1) / size - box.offset[axis];
        return box;
    }

    /// The bytes of this rank's target that ranks of nodes of `per_node` ranks have in their rows.
    index_t bytes_from_node(int per_node) const {
        index_t sum = 0;
        for (int other = 0; other < size; ++other)
            if (other != rank && (per_node == 0 || other / per_node == rank / per_node))
                sum += 4 * columns.shape[1] * (60'000 * (other + 1) / size - 60'000 * other / size);
        return sum;
    }

    /// Has the matrix of another shape.
    void reshape(index_vector other) {
        shape = std::move(other);
        rows = part(0, shape[0]);
        columns = part(1, shape[1]);
    }

    /// Moves the matrix several times, and returns the cost.
    process_cost move(node_exchange exchange, index_t gap) {
        matrix_part source(shape, rows, gap), target(shape, columns, gap);
        source.number();
        job moving = prepare(world, source.views(), target.views(), {.on_node = exchange});
        for (int i = 0; i < 4; ++i)
            run(moving);
        BOOST_TEST(target.wrong() == 0u);
        return moving.cost();
    }
};

/// Uses rings in one way until its end.
struct forced_way {
    explicit forced_way(ring_ways const& ways, system_calls const& calls = {}) {
        rings_by_force() = forced_rings{ways, calls};
    }
    ~forced_way() { rings_by_force() = std::nullopt; }
};

/// Calls of `read_process` that were for elements, and the number of the first one that is refused.
int element_reads = 0, first_refused = 0;

/// System calls that let others' memory be read, and refuse it later.
system_calls refusing_from(int number) {
    element_reads = 0;
    first_refused = number;
    system_calls calls;
    calls.read_process = [](std::uint64_t process, std::span<memory_run const> runs,
                            std::byte* target) {
        bool const is_token = runs.size() == 1 && runs[0].bytes == sizeof(std::uint64_t);
        return (is_token || element_reads++ < first_refused) && read_process(process, runs, target);
    };
    return calls;
}

constexpr int never = 1 << 30;

} // namespace

BOOST_FIXTURE_TEST_SUITE(mpi_node_rings, rings_fixture)

BOOST_AUTO_TEST_CASE(every_way_moves_the_same_bytes) {
    ranks_per_node_variable const one_node("");
    // Rows of a few bytes, and rows in several slots; targets that are one run, and rows.
    for (index_vector const& tried : {index_vector{60'000, 5}, {40, 30'000}, {3, 700'000}})
        for (ring_ways const& ways : {ring_ways{}, ring_ways{true}, ring_ways{false, 1},
                                      ring_ways{true, 4096}, ring_ways{false, 1 << 20}})
            for (index_t const gap : {0, 3}) {
                forced_way const forced(ways);
                reshape(tried);
                BOOST_TEST((move(node_exchange::rings, gap).bytes_node_in > 0) ==
                           (size > 1 && columns.shape[1] > 0));
            }
}

BOOST_AUTO_TEST_CASE(long_runs_are_read_and_short_ones_are_not) {
    ranks_per_node_variable const one_node("");
    for (index_t const gap : {0, 3}) {
        reshape({40, 30'000});
        {
            forced_way const forced(ring_ways{false, 4096}, refusing_from(never));
            move(node_exchange::rings, gap);
            BOOST_TEST((element_reads > 0) == (size > 1));
        }
        forced_way const forced(ring_ways{false, 1 << 18}, refusing_from(never));
        move(node_exchange::rings, gap);
        BOOST_TEST(element_reads == 0);
    }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_comes_in_slots) {
    ranks_per_node_variable const one_node("");
    for (int const first : {0, 1, 5}) {
        forced_way const forced(ring_ways{true, 4096}, refusing_from(first));
        reshape({40, 30'000});
        move(node_exchange::rings, 0); // compares all bytes
        BOOST_TEST((element_reads > first) == (size > 1));
    }
}

BOOST_AUTO_TEST_CASE(a_rank_that_may_not_read_others_gets_bytes) {
    system_calls calls;
    if (rank == 0)
        calls.read_process = [](std::uint64_t, std::span<memory_run const>, std::byte*) {
            return false;
        };
    forced_way const forced(ring_ways{false, 1}, calls);
    reshape({40, 30'000});
    move(node_exchange::rings, 0);
}

BOOST_AUTO_TEST_CASE(the_source_may_change_after_a_run) {
    forced_way const forced(ring_ways{false, 4096});
    reshape({40, 30'000});
    matrix_part source(shape, rows, 0), target(shape, columns, 0);
    job moving = prepare(world, source.views(), target.views(), {.on_node = node_exchange::rings});
    for (int i = 0; i < 20; ++i) {
        source.number();
        run(moving);
        source.clear();
        BOOST_TEST(target.wrong() == 0u);
    }
}

BOOST_AUTO_TEST_CASE(ranks_keep_what_they_measure_and_choose_the_same) {
    mpi_group const group(world);
    auto const agreed = [&](node_rings const& rings) {
        auto const all =
            gather_values(group, index_t{rings.ways().streams} + rings.ways().least_read / 2 * 2);
        return std::ranges::count(all, all.front()) == size;
    };
    std::vector<double> in_cache;
    double const began = MPI_Wtime();
    for (int i = 0; i < 3; ++i)
        if (auto const rings = detail::make_rings(node_of(group, 0))) {
            rings->choose_ways(true);
            BOOST_TEST(agreed(*rings));
            auto const kept = kept_measurement(rings->node().group);
            if (!kept)
                continue;
            in_cache.push_back(kept->in_cache);
            BOOST_TEST((kept->in_cache > 0) == ((rank ^ 1) < size));
        }
    if (MPI_Wtime() - began > kept_seconds)
        return; // others may have taken the cores
    BOOST_TEST((size == 1 || in_cache.size() == 3));
    BOOST_TEST(std::ranges::count(in_cache, in_cache.empty() ? 0 : in_cache.front()) ==
               std::ssize(in_cache));
}

BOOST_AUTO_TEST_CASE(the_fastest_way_is_chosen) {
    // Seconds: in a cache, streamed, read in one run, read in runs of 16 KiB.
    BOOST_TEST((measured_ways{1, 2, 0, 0}.best() == ring_ways{}));
    BOOST_TEST((measured_ways{1, 0.5, 0, 0}.best() == ring_ways{true}));
    BOOST_TEST((measured_ways{1, 0.95, 0.92, 1}.best() == ring_ways{})); // too little gain
    // 128 runs cost 0.25 s, and whole bytes gain 0.5: 2 MiB in 256 runs would take as long as slots.
    BOOST_TEST((measured_ways{1, 2, 0.5, 0.75}.best() == ring_ways{false, 8192}));
    BOOST_TEST((measured_ways{1, 2, 0.5, 0.5}.best() == ring_ways{false, 4096}));
}

BOOST_AUTO_TEST_CASE(ranks_of_a_node_exchange_no_messages) {
    for (int const per_node : {0, 1, 2, 3}) {
        ranks_per_node_variable const variable(per_node == 0 ? "" : std::to_string(per_node));
        process_cost const cost = move(node_exchange::rings, per_node);
        index_t const on_node = bytes_from_node(per_node);
        index_t const own = 4 * columns.shape[1] * rows.shape[0];
        BOOST_TEST(cost.bytes_node_in == on_node);
        BOOST_TEST(cost.bytes_in == 4 * element_count(columns.shape) - on_node - own);
        BOOST_TEST(((cost.bytes_in == 0) == (cost.messages_in == 0)));
        if (per_node == 0)
            BOOST_TEST(cost.messages_out == 0);
    }
}

BOOST_AUTO_TEST_CASE(messages_are_taken_where_they_are_asked_for) {
    process_cost const cost = move(node_exchange::messages, 0);
    BOOST_TEST(cost.bytes_node_in == 0);
    BOOST_TEST(cost.bytes_in == bytes_from_node(0));
}

BOOST_AUTO_TEST_CASE(a_little_is_not_worth_a_ring) {
    // 40 KB in all: messages, unless rings are asked for.
    reshape({2000, 5});
    BOOST_TEST(move(node_exchange::chosen, 0).bytes_node_in == 0);
    bool const has_neighbour = size > 1 && columns.shape[1] > 0;
    BOOST_TEST((move(node_exchange::rings, 0).bytes_node_in > 0) == has_neighbour);
}

BOOST_AUTO_TEST_CASE(nodes_that_are_refused_memory_have_no_rings) {
    mpi_group const group(world);
    node_ranks const node = node_of(group, 0);
    system_calls calls;
    if (rank == size - 1)
        calls.reserve = [](int, off_t) { return ENOSPC; };
    BOOST_TEST(detail::make_rings(node, calls) == nullptr);
    BOOST_TEST((detail::make_rings(node) != nullptr) == (size > 1));
}

BOOST_AUTO_TEST_CASE(slots_get_smaller_as_ranks_get_more) {
    mpi_group const group(world);
    if (auto const rings = detail::make_rings(node_of(group, 0)))
        BOOST_TEST(rings->slot_bytes() == node_rings::slot_bytes_for(size));
    BOOST_TEST(node_rings::slot_bytes_for(2) == 262'144u);
    BOOST_TEST(node_rings::slot_bytes_for(8) == 73'728u);  // 2 MiB / (7 * 4), whole pages
    BOOST_TEST(node_rings::slot_bytes_for(17) == 32'768u); // 2 MiB / (16 * 4)
    BOOST_TEST(node_rings::slot_bytes_for(1000) == 16'384u);
}

BOOST_AUTO_TEST_CASE(a_variable_that_is_no_number_is_an_error_on_every_rank) {
    for (char const* const text : {"0", "-1", "two", "2x", "4194305"}) {
        ranks_per_node_variable const variable(text);
        if (size > 1)
            BOOST_TEST(agreed_error(world, [&] { move(node_exchange::rings, 0); }) ==
                       "usage: RESHARD_RANKS_PER_NODE: '" + std::string(text) +
                           "' is not a whole number from 1 to 4194304");
    }
}

BOOST_AUTO_TEST_CASE(a_variable_that_only_some_ranks_have_is_an_error_on_every_rank) {
    ranks_per_node_variable const variable(rank == 0 ? "1" : "");
    if (size > 1)
        BOOST_TEST(agreed_error(world, [&] {
                       move(node_exchange::rings, 0);
                   }).starts_with("ranks_disagree: "));
}

BOOST_AUTO_TEST_SUITE_END()
