// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/program.hpp>
#include <reshard/mpi/directory_query.hpp>
#include <reshard/mpi/node_rings.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/mpi/shared_arena.hpp>
#include <reshard/plan/between_nodes.hpp>

#include "oracle/generate.hpp"
#include "support/experiment.hpp"
#include "support/ranks_per_node.hpp"

#include <boost/mpi/collectives/all_reduce.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory_resource>
#include <optional>
#include <set>
#include <string>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(mpi_oracle)

namespace {

/// One of this number of programs is tried: as the environment says, or each. It shares no factor
/// with the numbers by which cases choose.
std::uint64_t stride() {
    char const* const text = std::getenv("RESHARD_TEST_EVERY");
    return text ? std::stoull(text) : 1;
}

void run_twice(job& moving) {
    run(moving);
    run(moving);
}

/// Null: that side has none.
struct side_arena_pair {
    shared_arena const* source;
    shared_arena const* target;
};

/// An arena, from which two of three tensors come; the third lies elsewhere.
class mixed_memory : public std::pmr::memory_resource {
public:
    explicit mixed_memory(std::pmr::memory_resource* arena) : arena_(arena) {}

private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        bool const is_elsewhere = ++count_ % 3 == 0;
        void* const part = (is_elsewhere ? heap_ : arena_)->allocate(bytes, alignment);
        if (is_elsewhere)
            elsewhere_.insert(part);
        return part;
    }
    void do_deallocate(void* part, std::size_t bytes, std::size_t alignment) override {
        (elsewhere_.erase(part) ? heap_ : arena_)->deallocate(part, bytes, alignment);
    }
    bool do_is_equal(memory_resource const& resource) const noexcept override {
        return this == &resource;
    }

    std::pmr::memory_resource* heap_ = std::pmr::new_delete_resource();
    std::pmr::memory_resource* arena_;
    std::set<void*> elsewhere_;
    int count_ = 0;
};

/// This rank's tensors of a scenario, and their expected values.
class rank_experiment {
public:
    rank_experiment(oracle::scenario const& scenario, int rank,
                    std::pmr::memory_resource* where = std::pmr::get_default_resource())
        : source_(scenario.sources, rank, where),
          target_(scenario.targets, rank, where),
          expected_(target_) {
        oracle::world const before = oracle::world_of(scenario);
        source_.fill(before.sources);
        expected_.fill(oracle::answers(scenario, before));
    }

    void run(boost::mpi::communicator const& world, mapping const& program, options options) {
        options.program = program;
        redistribute(world, source_.shards(), target_.shards(), options);
    }

    /// The same, with arenas for the source, the target, or both.
    void run_with(boost::mpi::communicator const& world, mapping const& program, options options,
                  side_arena_pair const& arenas) {
        options.program = program;
        job moving = prepare(world, {source_.shards(), {}, arenas.source},
                             {target_.shards(), {}, arenas.target}, options);
        run_twice(moving);
        cost = moving.cost();
    }

    process_cost cost;

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
    test::tally tally;
    for (std::uint64_t seed = 0; seed < test::program_count; seed += stride()) {
        oracle::scenario const scenario = oracle::generator(seed, world.size(), true).make();
        BOOST_TEST_CONTEXT("seed " << seed << ":\n" << scenario.text) {
            rank_experiment experiment(scenario, world.rank());
            // Every other program finds its sources in a directory; of the others, every other one
            // balances its senders.
            experiment.run(
                world, test::mapping_of(scenario),
                {.between_nodes = seed % 4 == 0 ? balanced_senders() : detail::node_traffic{},
                 .lookup = directory(seed % 2 == 0 ? 256u : 0u)});
            ++tally.programs;
            tally.elements += experiment.elements();
            if (auto const where = experiment.difference()) {
                ++tally.differences;
                BOOST_TEST_ERROR("rank " << world.rank() << " differs: " << *where);
            }
        }
    }
    auto const sum = [&](std::int64_t number) {
        return boost::mpi::all_reduce(world, number, std::plus<>());
    };
    test::tally const total{tally.programs, sum(tally.elements), sum(tally.differences)};
    if (world.rank() == 0)
        std::cout << world.size() << " ranks: " << total.text() << std::endl;
    BOOST_TEST(total.differences == 0);
}

BOOST_AUTO_TEST_CASE(in_arenas_programs_do_what_the_oracle_does) {
    boost::mpi::communicator const world;
    std::int64_t differences = 0;
    index_t bytes_node = 0;
    // One machine as one node, and as nodes of two and three ranks.
    for (int const per_node : {0, 2, 3}) {
        shared_arena const arena(world, 1 << 20, {.ranks_per_node = per_node});
        mixed_memory memory(arena.resource());
        for (std::uint64_t seed = static_cast<std::uint64_t>(per_node); seed < test::program_count;
             seed += 16 * stride()) {
            oracle::scenario const scenario = oracle::generator(seed, world.size(), true).make();
            BOOST_TEST_CONTEXT("seed " << seed << ", " << per_node << ":\n" << scenario.text) {
                rank_experiment experiment(scenario, world.rank(), &memory);
                experiment.run_with(
                    world, test::mapping_of(scenario),
                    {.lookup = directory(seed % 32 < 16 ? 256u : 0u)},
                    {seed % 3 == 0 ? nullptr : &arena, seed % 3 == 1 ? nullptr : &arena});
                bytes_node += experiment.cost.bytes_node_in;
                if (auto const where = experiment.difference()) {
                    ++differences;
                    BOOST_TEST_ERROR("rank " << world.rank() << " differs: " << *where);
                }
            }
        }
    }
    auto const sum = [&](std::int64_t number) {
        return boost::mpi::all_reduce(world, number, std::plus<>());
    };
    BOOST_TEST(sum(differences) == 0);
    BOOST_TEST((sum(bytes_node) > 0) == (world.size() > 1));
}

namespace {

/// Lets ranks of a node exchange in that way, and compares with the oracle.
void compare_on_node(node_exchange exchange) {
    boost::mpi::communicator const world;
    std::int64_t differences = 0;
    index_t bytes_node = 0;
    for (std::uint64_t seed = 0; seed < test::program_count; seed += 5 * stride()) {
        // One machine as one node, and as nodes of two and three ranks.
        std::optional<test::ranks_per_node_variable> per_node;
        if (seed % 3 != 0)
            per_node.emplace(std::to_string(1 + seed % 3));
        oracle::scenario const scenario = oracle::generator(seed, world.size(), true).make();
        BOOST_TEST_CONTEXT("seed " << seed << ":\n" << scenario.text) {
            rank_experiment experiment(scenario, world.rank());
            experiment.run_with(
                world, test::mapping_of(scenario),
                {.between_nodes = seed % 2 == 0 ? balanced_senders() : detail::node_traffic{},
                 .on_node = exchange},
                {nullptr, nullptr});
            bytes_node += experiment.cost.bytes_node_in;
            if (auto const where = experiment.difference()) {
                ++differences;
                BOOST_TEST_ERROR("rank " << world.rank() << " differs: " << *where);
            }
        }
    }
    auto const sum = [&](std::int64_t number) {
        return boost::mpi::all_reduce(world, number, std::plus<>());
    };
    BOOST_TEST(sum(differences) == 0);
    BOOST_TEST((sum(bytes_node) > 0) == (world.size() > 1));
}

} // namespace

BOOST_AUTO_TEST_CASE(relayed_programs_do_what_the_oracle_does) {
    boost::mpi::communicator const world;
    shared_arena const arena(world, 1 << 20);
    std::int64_t differences = 0;
    std::int64_t relayed = 0;
    for (std::uint64_t seed = 0; seed < test::program_count; seed += 3 * stride()) {
        bool const has_arena = seed % 4 == 3;
        mixed_memory memory(has_arena ? arena.resource() : std::pmr::get_default_resource());
        oracle::scenario const scenario = oracle::generator(seed, world.size(), true).make();
        BOOST_TEST_CONTEXT("seed " << seed << ":\n" << scenario.text) {
            rank_experiment experiment(scenario, world.rank(), &memory);
            shared_arena const* const used = has_arena ? &arena : nullptr;
            // In messages, in rings, and in arenas; each rank a node, and nodes of two and three.
            experiment.run_with(
                world, test::mapping_of(scenario),
                {.processes_per_node = static_cast<holder_t>(1 + seed / 4 % 3),
                 .between_nodes = detail::all_relays(),
                 .on_node = seed % 2 == 0 ? node_exchange::messages : node_exchange::rings},
                {used, used});
            relayed += experiment.cost.bytes_relayed;
            if (auto const where = experiment.difference()) {
                ++differences;
                BOOST_TEST_ERROR("rank " << world.rank() << " differs: " << *where);
            }
        }
    }
    auto const sum = [&](std::int64_t number) {
        return boost::mpi::all_reduce(world, number, std::plus<>());
    };
    BOOST_TEST(sum(differences) == 0);
    BOOST_TEST((sum(relayed) > 0) == (world.size() > 2));
}

BOOST_AUTO_TEST_CASE(through_rings_programs_do_what_the_oracle_does) {
    compare_on_node(node_exchange::rings);
}

BOOST_AUTO_TEST_CASE(programs_that_read_others_memory_do_what_the_oracle_does) {
    detail::rings_by_force() = detail::forced_rings{{.streams = true, .least_read = 1}};
    compare_on_node(node_exchange::rings);
    detail::rings_by_force() = std::nullopt;
}

BOOST_AUTO_TEST_SUITE_END()
