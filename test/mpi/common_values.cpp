// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/group/gather_values.hpp>

#include <reshard/group/check_objects.hpp>
#include <reshard/mpi/mpi_group.hpp>

#include "support/says.hpp"

/// \file
/// Values and objects that ranks compare.

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(mpi_common_values)

namespace {

struct comparing {
    mpi_group world{boost::mpi::communicator()};
    int rank = world.rank();
    int last = world.size() - 1;
};

} // namespace

BOOST_AUTO_TEST_CASE(values_that_are_equal_on_every_rank_pass_in_any_order) {
    comparing const comparing;
    if (comparing.rank == comparing.last)
        check_common(comparing.world, {{"lr", "0.1"}, {"iteration", "7"}});
    else
        check_common(comparing.world, {{"iteration", "7"}, {"lr", "0.1"}});
}

BOOST_AUTO_TEST_CASE(a_value_that_differs_on_the_last_rank_is_the_same_error_on_every_rank) {
    comparing const comparing;
    std::string const lr = comparing.rank == comparing.last && comparing.last > 0 ? "0.25" : "0.1";
    std::vector<common_value> const values{{"lr", lr}, {"iteration", "7"}};
    if (comparing.last == 0)
        check_common(comparing.world, values);
    else
        BOOST_CHECK_EXCEPTION(check_common(comparing.world, values), error,
                              says(errc::ranks_disagree,
                                   "the common value 'lr' differs: it has 3 bytes on rank 0 and "
                                   "4 bytes on rank " +
                                       std::to_string(comparing.last)));
}

BOOST_AUTO_TEST_CASE(each_rank_has_a_cell_of_an_array) {
    comparing const comparing;
    check_objects(comparing.world,
                  {{{"rng", {comparing.world.size()}, {comparing.rank}}, "state"}});
}

BOOST_AUTO_TEST_CASE(a_cell_that_no_rank_has_is_the_same_error_on_every_rank) {
    comparing const comparing;
    std::string const size = std::to_string(comparing.world.size());
    BOOST_CHECK_EXCEPTION(
        check_objects(comparing.world,
                      {{{"rng", {comparing.world.size() + 1}, {comparing.rank}}, ""}}),
        error,
        says(errc::not_covered, "'rng': no rank has the object [" + size +
                                    "] of an array of shape [" +
                                    std::to_string(comparing.world.size() + 1) + "]"));
}

BOOST_AUTO_TEST_CASE(a_bad_cell_of_one_rank_is_its_error_on_every_rank) {
    comparing const comparing;
    index_t const index = comparing.rank == comparing.last ? 2 : 0;
    BOOST_CHECK_EXCEPTION(
        check_objects(comparing.world, {{{"rng", {2}, {index}}, ""}}), error,
        says(errc::bad_layout, "'rng': axis 0: an array of extent 2 has no index 2"));
}

BOOST_AUTO_TEST_CASE(a_cell_with_two_contents_names_the_ranks) {
    comparing const comparing;
    std::vector<held_object> const objects{
        {{"rng", {1}, {0}}, comparing.rank == comparing.last ? "ab" : "cd"}};
    if (comparing.last == 0)
        check_objects(comparing.world, objects);
    else
        BOOST_CHECK_EXCEPTION(
            check_objects(comparing.world, objects), error,
            says(errc::overlap, "'rng' [0] of [1] differs: it has 2 bytes on rank " +
                                    std::to_string(comparing.last - 1) +
                                    " and 2 different bytes on rank " +
                                    std::to_string(comparing.last)));
}

BOOST_AUTO_TEST_SUITE_END()
