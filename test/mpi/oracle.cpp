// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/mpi/redistribute.hpp>

#include "oracle/generate.hpp"
#include "support/experiment.hpp"

#include <boost/mpi/collectives/all_reduce.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <iostream>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(mpi_oracle)

namespace {

/// This rank's tensors of a scenario, and what they should become.
class rank_experiment {
public:
    rank_experiment(oracle::scenario const& all, int rank)
        : source_(all.sources, rank), target_(all.targets, rank), expected_(target_) {
        oracle::world const before = oracle::world_of(all);
        source_.fill(before.sources);
        expected_.fill(oracle::answers(all, before));
    }

    void run(boost::mpi::communicator const& world, mapping const& program,
             redistribute_options const& options) {
        redistribute(world, source_.shards(), target_.shards(), program, options);
    }

    std::int64_t elements() const { return target_.elements(); }
    std::optional<std::string> difference() const { return target_.difference(expected_); }

private:
    test::rank_memory source_;
    test::rank_memory target_;
    test::rank_memory expected_;
};

} // namespace

BOOST_AUTO_TEST_CASE(programs_do_what_the_oracle_does_on_any_number_of_ranks) {
    boost::mpi::communicator const world;
    test::tally mine;
    for (std::uint64_t seed = 0; seed < test::program_count; ++seed) {
        oracle::scenario const all = oracle::generator(seed, world.size()).make();
        BOOST_TEST_CONTEXT("seed " << seed << ":\n" << all.text) {
            rank_experiment one(all, world.rank());
            // Every other program finds its sources in a directory.
            one.run(world, test::mapping_of(all), {.gather_up_to = seed % 2 == 0 ? 256u : 0u});
            mine.elements += one.elements();
            if (auto const where = one.difference()) {
                ++mine.differences;
                BOOST_TEST_ERROR("rank " << world.rank() << " differs: " << *where);
            }
        }
    }
    auto const sum = [&](std::int64_t number) {
        return boost::mpi::all_reduce(world, number, std::plus<>());
    };
    test::tally const total{static_cast<std::int64_t>(test::program_count), sum(mine.elements),
                            sum(mine.differences)};
    if (world.rank() == 0)
        std::cout << world.size() << " ranks: " << total.text() << std::endl;
    BOOST_TEST(total.differences == 0);
}

BOOST_AUTO_TEST_SUITE_END()
