// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/mpi/shared_arena.hpp>

#include "support/agreed_error.hpp"
#include "support/ranks_per_node.hpp"

#include <boost/mpi/collectives/all_reduce.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <memory_resource>
#include <string>
#include <vector>

#include <unistd.h>

using namespace reshard;
using reshard::test::agreed_error;
using reshard::test::ranks_per_node_variable;

namespace {

struct arena_fixture {
    boost::mpi::communicator world;
    int rank = world.rank();
    int size = world.size();

    /// True if every rank of the node reads in this rank's memory what this rank wrote.
    bool is_seen(shared_arena const& arena) const {
        auto const& state = *arena.state();
        auto* const own = static_cast<int*>(arena.resource()->allocate(4000));
        std::fill_n(own, 1000, rank);
        auto const offset =
            reinterpret_cast<std::byte*>(own) - state.segments->data(state.node.rank());
        world.barrier();
        bool all_right = true;
        std::vector<std::ptrdiff_t> offsets;
        boost::mpi::all_gather(world, offset, offsets);
        for (int i = 0; i < state.node.size(); ++i) {
            int const other = arena.node_ranks()[static_cast<std::size_t>(i)];
            auto const* const theirs = reinterpret_cast<int const*>(
                state.segments->data(i) + offsets[static_cast<std::size_t>(other)]);
            all_right &= std::count(theirs, theirs + 1000, other) == 1000;
        }
        world.barrier();
        arena.resource()->deallocate(own, 4000);
        return all_right;
    }

    /// Segments with names that are left.
    /// Of this rank; other tests may run beside this one.
    static int names_left() {
        int count = 0;
        std::string const own = "reshard-" + std::to_string(::getpid()) + "-";
        if (std::filesystem::exists("/dev/shm"))
            for (auto const& element : std::filesystem::directory_iterator("/dev/shm"))
                count += element.path().filename().string().starts_with(own);
        return count;
    }
};

/// How often a text occurs in another one.
int count_of(std::string const& text, std::string const& full_text) {
    int count = 0;
    for (auto at = full_text.find(text); at != full_text.npos; at = full_text.find(text, at + 1))
        ++count;
    return count;
}

int refused(char const*) {
    errno = EPERM;
    return -1;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(mpi_shared_arena, arena_fixture)

BOOST_AUTO_TEST_CASE(ranks_of_a_node_see_one_anothers_memory) {
    shared_arena const arena(world, 10'000 + 100 * rank);
    BOOST_TEST(arena.is_shared() == (size > 1));
    BOOST_TEST(arena.is_shared() == arena.refusal().empty());
    BOOST_TEST(arena.node_ranks().size() == static_cast<std::size_t>(size));
    BOOST_TEST((!arena.is_shared() || is_seen(arena)));
}

BOOST_AUTO_TEST_CASE(a_machine_is_divided_into_nodes) {
    for (int const per_node : {1, 2, 3}) {
        shared_arena const arena(world, 5000, {.ranks_per_node = per_node});
        std::vector<int> expected;
        for (int i = rank / per_node * per_node;
             i < std::min(size, (rank / per_node + 1) * per_node); ++i)
            expected.push_back(i);
        BOOST_TEST(arena.node_ranks() == expected, boost::test_tools::per_element());
        BOOST_TEST(arena.is_shared() == (expected.size() > 1));
        bool const right =
            !arena.is_shared() || expected.size() == 0 || arena.resource() != nullptr;
        BOOST_TEST(right);
    }
}

BOOST_AUTO_TEST_CASE(the_environment_divides_it_too) {
    {
        ranks_per_node_variable const variable("2");
        BOOST_TEST(shared_arena(world, 100).node_ranks().size() ==
                   static_cast<std::size_t>(rank == size - 1 && size % 2 == 1 ? 1 : 2));
        BOOST_TEST(shared_arena(world, 100, {.ranks_per_node = 1}).node_ranks().size() == 1u);
    }
    {
        ranks_per_node_variable const variable("two");
        BOOST_TEST(agreed_error(world, [&] { shared_arena(world, 100); }) ==
                   "usage: RESHARD_RANKS_PER_NODE: 'two' is not a whole number from 1 to 4194304");
    }
    ranks_per_node_variable const variable(rank == 0 ? "1" : "2");
    if (size > 1)
        BOOST_TEST(
            agreed_error(world, [&] { shared_arena(world, 100); }) ==
            "ranks_disagree: rank 0 runs make an arena with ranks_per_node 1 and rank 1 with "
            "2; every rank must make the same call");
}

BOOST_AUTO_TEST_CASE(where_unnamed_segments_are_refused_they_have_names_for_a_moment) {
    arena_options options;
    options.calls.create_unnamed = refused;
    {
        shared_arena const arena(world, 10'000, options);
        BOOST_TEST(arena.is_shared() == (size > 1));
        BOOST_TEST((!arena.is_shared() || is_seen(arena)));
        world.barrier();
        BOOST_TEST(names_left() == 0);
        world.barrier();
    }
    // The files of another process are hidden.
    options = {};
    options.calls.open_unnamed = refused;
    BOOST_TEST(shared_arena(world, 10'000, options).is_shared() == (size > 1));
    world.barrier();
    BOOST_TEST(names_left() == 0);
}

BOOST_AUTO_TEST_CASE(what_one_rank_is_refused_all_do_without) {
    for (int const noun : {0, 1, 2}) {
        arena_options options;
        if (rank == size - 1) {
            if (noun == 0)
                options.calls.reserve = [](int, off_t) { return ENOSPC; };
            if (noun == 1)
                options.calls.create_unnamed = options.calls.create_named = refused;
            if (noun == 2)
                options.calls.open_unnamed = options.calls.open_named = refused;
        }
        shared_arena const arena(world, 10'000, options);
        BOOST_TEST(!arena.is_shared());
        if (size == 1)
            BOOST_TEST(arena.refusal() == "this rank is alone on its node");
        else if (noun == 0) // both kinds of segments are refused for one reason
            BOOST_TEST(count_of("No space left on device", arena.refusal()) == 1, arena.refusal());
        else if (noun == 1)
            BOOST_TEST(count_of("Operation not permitted", arena.refusal()) == 1, arena.refusal());
        else // each with the name of a segment
            BOOST_TEST(count_of("Operation not permitted", arena.refusal()) == 2, arena.refusal());
        std::pmr::vector<double> numbers(1000, 1.5, arena.resource());
        BOOST_TEST(numbers[999] == 1.5);
        world.barrier();
        BOOST_TEST(names_left() == 0);
        world.barrier();
    }
}

BOOST_AUTO_TEST_CASE(a_refusal_stays_on_its_node) {
    arena_options options{.ranks_per_node = 2};
    if (rank == 0)
        options.calls.reserve = [](int, off_t) { return ENOSPC; };
    shared_arena const arena(world, 10'000, options);
    BOOST_TEST(arena.is_shared() == (arena.node_ranks().size() == 2 && rank > 1));
}

BOOST_AUTO_TEST_CASE(no_bytes_are_enough_and_fewer_are_an_error) {
    shared_arena const empty(world, 0);
    BOOST_TEST(empty.is_shared() == (size > 1));
    BOOST_TEST(agreed_error(world, [&] { shared_arena(world, rank == size - 1 ? -1 : 5); }) ==
               "usage: an arena cannot have -1 bytes and 0 ranks per node; both must be 0 or more");
}

BOOST_AUTO_TEST_SUITE_END()
