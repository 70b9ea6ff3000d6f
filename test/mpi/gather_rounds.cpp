// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/mpi/mpi_group.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(mpi_gather_rounds)

BOOST_AUTO_TEST_CASE(rounds_are_full_and_keep_to_their_limit) {
    // Texts of 5, 0, 2 and 6 bytes in rounds of 4: 4 | 1 + 2 + 1 | 4 | 1.
    detail::gather_rounds const rounds({5, 0, 2, 6}, 4);
    BOOST_TEST(rounds.size() == 4u);
    using numbers = std::vector<int>;
    BOOST_TEST(rounds.counts(0) == (numbers{4, 0, 0, 0}), boost::test_tools::per_element());
    BOOST_TEST(rounds.counts(1) == (numbers{1, 0, 2, 1}), boost::test_tools::per_element());
    BOOST_TEST(rounds.counts(2) == (numbers{0, 0, 0, 4}), boost::test_tools::per_element());
    BOOST_TEST(rounds.counts(3) == (numbers{0, 0, 0, 1}), boost::test_tools::per_element());
    BOOST_TEST(rounds.bytes(2) == 4u);
    BOOST_TEST(rounds.bytes(3) == 1u);
    BOOST_TEST(rounds.offset(0, 0) == 0u);
    BOOST_TEST(rounds.offset(0, 1) == 4u);
    BOOST_TEST(rounds.offset(0, 2) == 5u);
    BOOST_TEST(rounds.offset(2, 0) == 0u);
    BOOST_TEST(rounds.offset(3, 1) == 0u);
    BOOST_TEST(rounds.offset(3, 3) == 5u);
}

BOOST_AUTO_TEST_CASE(lengths_beyond_32_bits_are_counted_whole) {
    // 3 GiB, nothing, 5 GiB: 8 rounds of 1 GiB.
    std::uint64_t const gibibyte = std::uint64_t{1} << 30;
    detail::gather_rounds const rounds({3 * gibibyte, 0, 5 * gibibyte}, gibibyte);
    BOOST_TEST(rounds.size() == 8u);
    BOOST_TEST(rounds.counts(3) == (std::vector<int>{0, 0, 1 << 30}),
               boost::test_tools::per_element());
    BOOST_TEST(rounds.offset(0, 2) == 2 * gibibyte);
    BOOST_TEST(rounds.offset(2, 7) == 4 * gibibyte);
}

BOOST_AUTO_TEST_CASE(nothing_is_gathered_in_no_round) {
    BOOST_TEST(detail::gather_rounds({0, 0, 0}, 4).size() == 0u);
    BOOST_TEST(detail::gather_rounds({}, 4).size() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
