// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/group/check_objects.hpp>
#include <reshard/group/check_world.hpp>
#include <reshard/group/gather_layout.hpp>
#include <reshard/group/gather_parts.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/mpi/redistribute.hpp>

#include "support/agreed_error.hpp"

#include <optional>
#include <string>

/// \file
/// Ranks that make different calls: each error names both, and none waits.

using namespace reshard;
using namespace reshard::detail;
using reshard::test::agreed_error;

namespace {

struct disagreement {
    boost::mpi::communicator world;
    mpi_group group{world};
    int last = world.size() - 1;

    /// One rank makes `call`, the others redistribute nothing.
    template <class Call>
    void is_stated(std::string const& name, Call const& call) const {
        if (last == 0)
            return;
        auto const run = [&](bool calls) {
            if (calls)
                call(group);
            else
                redistribute(group, const_state_dict{}, state_dict{});
        };
        BOOST_TEST(agreed_error(world, [&] { run(world.rank() == last); }) ==
                   "ranks_disagree: rank 0 runs redistribute and rank " + std::to_string(last) +
                       " runs " + name + "; every rank must make the same call");
        BOOST_TEST(agreed_error(world, [&] { run(world.rank() == 0); }) ==
                   "ranks_disagree: rank 0 runs " + name +
                       " and rank 1 runs redistribute; every rank must make the same call");
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(mpi_different_calls, disagreement)

BOOST_AUTO_TEST_CASE(gather_parts_against_another_call_is_told) {
    is_stated("gather_parts", [](mpi_group const& ranks) {
        gather_parts(ranks, {{"w", data_type::f32, {2, 3}, 0}});
    });
}

BOOST_AUTO_TEST_CASE(checks_of_objects_values_and_layouts_against_another_call_are_told) {
    is_stated("check_objects", [](mpi_group const& ranks) { check_objects(ranks, {}); });
    is_stated("check_common", [](mpi_group const& ranks) { check_common(ranks, {{"lr", "0.1"}}); });
    is_stated("check_world of a layout", [](mpi_group const& ranks) {
        check_world(ranks, layout{static_cast<holder_t>(ranks.size()), {}, {}});
    });
}

BOOST_AUTO_TEST_CASE(layouts_that_are_gathered_against_another_call_are_told) {
    is_stated("gather_layout", [](mpi_group const& ranks) {
        gather_layout(ranks, std::vector<shard_descriptor>());
    });
}

BOOST_AUTO_TEST_SUITE_END()
