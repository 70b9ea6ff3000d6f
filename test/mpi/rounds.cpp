// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/program.hpp>
#include <reshard/bind/rounds.hpp>
#include <reshard/mpi/redistribute.hpp>

#include "support/agreed_error.hpp"

#include <reshard/expr/algebra.hpp>
#include <reshard/plan/rounds.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::agreed_error;

namespace {

/// Matrices of 8 columns, 10 rows a rank: rows on the source side, and the same of the next rank,
/// turned, on the target side. Counts the bytes of the existing tensors.
struct rounds_fixture {
    mpi_group world{boost::mpi::communicator()};
    index_t size = world.size(), rank = world.rank();
    std::vector<std::string> keys{"a", "b", "c", "d"};
    index_t each = 10 * 8 * 4; ///< bytes of a tensor on a rank
    std::map<std::string, std::vector<std::int32_t>> sources, targets;
    index_t most_bytes = 0; ///< of tensors, just after they were allocated
    int allocations = 0;
    mapping program;

    rounds_fixture() {
        for (std::string const& key : keys) {
            program.define(key, transpose(program.source(key, {10 * size, 8}, data_type::i32)));
            for (index_t i = 0; i < 80; ++i)
                sources[key].push_back(static_cast<std::int32_t>(80 * rank + i));
        }
    }

    shard_descriptor from(std::string const& key) const {
        return {key, data_type::i32, {10 * size, 8}, {{10 * rank, 0}, {10, 8}}, {}};
    }
    shard_descriptor to(std::string const& key, index_t on) const {
        index_t const sender = (on + 1) % size;
        return {key, data_type::i32, {8, 10 * size}, {{0, 10 * sender}, {8, 10}}, {}};
    }

    const_state_dict held() {
        state_dict tensors;
        for (auto& [key, elements] : sources)
            tensors.add(from(key), tensor_view{elements.data(), data_type::i32, {10, 8}, {8, 1}});
        return tensors;
    }

    layout wanted() const {
        std::vector<std::vector<shard_descriptor>> shards(static_cast<std::size_t>(size));
        for (index_t i = 0; i < size; ++i)
            for (std::string const& key : keys)
                shards[static_cast<std::size_t>(i)].push_back(to(key, i));
        return layout_of(shards);
    }

    index_t bytes_there() const {
        return static_cast<index_t>(sources.size() + targets.size()) * each;
    }

    options memory(index_t budget) {
        auto const allocate = [this](std::vector<std::string> const& some) {
            ++allocations;
            state_dict tensors;
            for (std::string const& key : some) {
                targets[key].assign(80, -1);
                tensors.add(to(key, rank),
                            tensor_view{targets[key].data(), data_type::i32, {8, 10}, {10, 1}});
            }
            most_bytes = std::max(most_bytes, bytes_there());
            return tensors;
        };
        auto const release = [this](std::vector<std::string> const& some) {
            for (std::string const& key : some)
                sources.erase(key);
        };
        return {.program = program, .memory = rounds(budget, allocate, release)};
    }

    void redistribute_with(options const& options) {
        redistribute(world, held(), {{}, wanted()}, options);
    }

    job run_within(index_t budget) {
        job ready = prepare(world, held(), {{}, wanted()}, memory(budget));
        run(ready);
        return ready;
    }

    /// Element (i, j) of the part of the sender is element (10 sender + j, i) of the source.
    std::size_t wrong() const {
        std::size_t count = keys.size() - targets.size();
        index_t const sender = (rank + 1) % size;
        for (auto const& [key, elements] : targets)
            for (index_t i = 0; i < 8; ++i)
                for (index_t j = 0; j < 10; ++j)
                    count += elements[static_cast<std::size_t>(10 * i + j)] !=
                             static_cast<std::int32_t>(8 * (10 * sender + j) + i);
        return count;
    }

    /// The bytes that a rank sends and receives of one tensor.
    index_t staged() const { return size == 1 ? 0 : 2 * each; }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(mpi_redistribute_rounds, rounds_fixture)

BOOST_AUTO_TEST_CASE(without_a_budget_all_is_done_at_once) {
    job const report = run_within(any_budget);
    BOOST_TEST(report.rounds().rounds.size() == 1u);
    BOOST_TEST(allocations == 1);
    BOOST_TEST(wrong() == 0u);
    BOOST_TEST(sources.empty());
    BOOST_TEST(most_bytes == 8 * each);
    BOOST_TEST(report.staging_bytes() <= 4 * staged());
}

BOOST_AUTO_TEST_CASE(the_memory_that_is_measured_keeps_within_the_budget) {
    // Four tensors, one more, and its staging; then one is given up for each that comes.
    index_t const least = 5 * each + staged();
    job const report = run_within(least);
    BOOST_TEST(report.rounds().least_budget == least);
    BOOST_TEST(report.rounds().rounds.size() == 4u);
    BOOST_TEST(allocations == 4);
    BOOST_TEST(wrong() == 0u);
    BOOST_TEST(sources.empty());
    BOOST_TEST(most_bytes == 5 * each);
    BOOST_TEST(report.staging_bytes() <= staged());
    BOOST_TEST(most_bytes + report.staging_bytes() <= least);
    if (size > 1)
        BOOST_TEST(report.staging_bytes() > 0); // turned, so packed on one side at least
}

BOOST_AUTO_TEST_CASE(a_larger_budget_makes_fewer_rounds) {
    index_t const budget = 6 * each + 2 * staged();
    job const report = run_within(budget);
    BOOST_TEST(report.rounds().rounds.size() == 2u);
    BOOST_TEST(wrong() == 0u);
    BOOST_TEST(most_bytes + report.staging_bytes() <= budget);
}

BOOST_AUTO_TEST_CASE(a_budget_that_is_too_small_is_an_error_before_anything_is_allocated) {
    index_t const least = 5 * each + staged();
    std::string const problem = agreed_error(world.base(), [&] { run_within(least - 1); });
    BOOST_TEST(problem ==
               "limit_exceeded: 'a' cannot be filled with a memory budget of " +
                   std::to_string(least - 1) + " bytes: even in a separate round, rank 0 needs " +
                   std::to_string(least) + " bytes of tensors and staging; a budget of " +
                   std::to_string(least) + " bytes would be enough");
    BOOST_TEST(allocations == 0);
    BOOST_TEST(sources.size() == 4u);
}

BOOST_AUTO_TEST_CASE(ranks_with_other_budgets_get_an_error_on_every_rank) {
    if (size == 1)
        return;
    std::string const problem =
        agreed_error(world.base(), [&] { run_within(rank == 1 ? 100'000 : any_budget); });
    BOOST_TEST(problem.starts_with("ranks_disagree: rank 0 runs redistribute"));
}

BOOST_AUTO_TEST_CASE(memory_that_one_rank_does_not_get_is_an_error_on_every_rank) {
    options refusing = memory(any_budget);
    if (rank == size - 1)
        refusing.memory.allocate = [](auto const&) -> state_dict {
            fail(errc::limit_exceeded, "there is no memory left");
        };
    std::string const problem = agreed_error(world.base(), [&] { redistribute_with(refusing); });
    BOOST_TEST(problem == "limit_exceeded: there is no memory left");
}

BOOST_AUTO_TEST_CASE(memory_that_an_earlier_round_has_filled_is_refused) {
    std::vector<std::int32_t> buffer(80);
    options again = memory(5 * each + staged());
    again.memory.allocate = [&](std::vector<std::string> const& some) {
        state_dict tensors;
        for (std::string const& key : some)
            tensors.add(to(key, rank),
                        tensor_view{buffer.data(), data_type::i32, {8, 10}, {10, 1}});
        return tensors;
    };
    std::string const problem = agreed_error(world.base(), [&] { redistribute_with(again); });
    BOOST_TEST(problem.starts_with("memory_overlap: target 'a' and target '"), problem);
}

BOOST_AUTO_TEST_SUITE_END()
