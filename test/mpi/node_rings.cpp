// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/mpi/node_rings.hpp>

#include "support/agreed_error.hpp"
#include "support/matrix_part.hpp"
#include "support/ranks_per_node.hpp"

#include <reshard/mpi/redistribute.hpp>

#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <string>

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

} // namespace

BOOST_FIXTURE_TEST_SUITE(mpi_node_rings, rings_fixture)

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
    shape = {2000, 5};
    rows = part(0, 2000);
    columns = part(1, 5);
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
        BOOST_TEST(rings->slot_bytes() == 131'072u);
    BOOST_TEST(node_rings::slot_bytes_for(8) == 131'072u);
    BOOST_TEST(node_rings::slot_bytes_for(33) == 32'768u); // 4 MiB / (32 * 4)
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
