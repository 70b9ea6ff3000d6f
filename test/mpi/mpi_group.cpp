// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/mpi/mpi_group.hpp>

#include "support/says.hpp"

#include <reshard/mpi/redistribute.hpp>

#include <boost/test/unit_test.hpp>
#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

using namespace reshard;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(mpi_mpi_group)

namespace {

/// What rank `rank` says: nothing on every third one, else longer from rank to rank, with zeros in it.
std::string text_of(int rank) {
    std::string text;
    for (int i = 0; rank % 3 != 1 && i < 3 + 5 * rank; ++i)
        text += static_cast<char>(i % 4 == 0 ? 0 : 'a' + (rank + i) % 26);
    return text;
}

void check_gathered(std::size_t count_limit) {
    mpi_group const ranks(boost::mpi::communicator(), count_limit);
    std::vector<std::string> const all = ranks.all_gather(text_of(ranks.rank()));
    BOOST_TEST_REQUIRE(all.size() == static_cast<std::size_t>(ranks.size()));
    for (int rank = 0; rank < ranks.size(); ++rank)
        BOOST_TEST(all[static_cast<std::size_t>(rank)] == text_of(rank));
}

} // namespace

BOOST_AUTO_TEST_CASE(uneven_and_empty_texts_are_gathered_in_one_round) { check_gathered(1 << 20); }

BOOST_AUTO_TEST_CASE(texts_longer_than_a_round_are_gathered_in_several) {
    for (std::size_t const count_limit : {1u, 2u, 3u, 7u, 64u})
        check_gathered(count_limit);
}

BOOST_AUTO_TEST_CASE(ranks_that_all_say_nothing_are_gathered_in_no_round) {
    mpi_group const ranks(boost::mpi::communicator(), 1);
    BOOST_TEST(
        (ranks.all_gather("") == std::vector<std::string>(static_cast<std::size_t>(ranks.size()))));
}

BOOST_AUTO_TEST_CASE(a_long_text_of_the_last_rank_alone_arrives_everywhere) {
    mpi_group const ranks(boost::mpi::communicator(), 1000);
    std::string text;
    for (int i = 0; i < 12'345; ++i)
        text += static_cast<char>(i % 251);
    auto const last = static_cast<std::size_t>(ranks.size()) - 1;
    auto const elements = ranks.all_gather(ranks.rank() + 1 == ranks.size() ? text : "");
    for (std::size_t rank = 0; rank < elements.size(); ++rank)
        BOOST_TEST((elements[rank] == (rank == last ? text : "")));
}

BOOST_AUTO_TEST_CASE(ranks_with_different_limits_are_told_so) {
    boost::mpi::communicator const world;
    if (world.size() == 1)
        return;
    bool const is_last = world.rank() + 1 == world.size();
    std::string const last = std::to_string(world.size() - 1);
    BOOST_CHECK_EXCEPTION(mpi_group(world, is_last ? 7u : 1000u).all_gather("text"), error,
                          says(errc::ranks_disagree,
                               "rank 0 limits the count of an MPI call to 1000, but rank " + last +
                                   " to 7; every rank must give mpi_group the same limit"));
}

// A text of 2,032 bytes fills the row that every rank sends first, on up to 32 ranks.
BOOST_AUTO_TEST_CASE(texts_around_the_length_of_a_row_arrive) {
    mpi_group const group{boost::mpi::communicator()};
    for (std::size_t const bytes : {0u, 1u, 239u, 240u, 241u, 2031u, 2032u, 2033u, 5000u}) {
        std::string text(bytes, static_cast<char>(group.rank()));
        std::vector<std::string> const texts = group.all_gather(text);
        BOOST_TEST_REQUIRE(texts.size() == static_cast<std::size_t>(group.size()));
        for (std::size_t rank = 0; rank < texts.size(); ++rank)
            BOOST_TEST((texts[rank] == std::string(bytes, static_cast<char>(rank))),
                       bytes << " bytes of rank " << rank);
    }
}

BOOST_AUTO_TEST_CASE(a_communicator_of_mpi_is_a_group_that_stays_the_callers) {
    MPI_Comm all = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    int rank = -1, size = 0;
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    {
        mpi_group const group = all;
        BOOST_TEST(group.rank() == rank);
        BOOST_TEST(group.all_gather("text").size() == static_cast<std::size_t>(size));
        redistribute(all, const_state_dict(), state_dict());
    }
    int result = MPI_UNEQUAL; // MPI ends the program if the communicator is gone
    MPI_Comm_compare(all, MPI_COMM_WORLD, &result);
    BOOST_TEST(result == MPI_CONGRUENT);
    MPI_Comm_free(&all);
}

BOOST_AUTO_TEST_SUITE_END()
