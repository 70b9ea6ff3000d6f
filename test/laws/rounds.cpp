// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/plan/flows.hpp>
#include <reshard/plan/rounds.hpp>

#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>

#include "oracle/generate.hpp"
#include "support/experiment.hpp"
#include "support/trials.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(laws_rounds)

namespace {

/// Walks through rounds with lists of the tensors, and counts them again for every question.
class walk {
public:
    walk(plan_problem const& problem, plan const& plan, holder_t ranks)
        : problem_(problem), whole_(plan), ranks_(ranks) {
        for (key_id id = 0; id < problem.sources.size(); ++id)
            sources_.insert(id);
    }

    /// The most that a rank needs in a round; afterwards, sources are given up as it says.
    index_t peak(plan_round const& round) {
        for (std::uint32_t t = round.first; t < round.last; ++t)
            targets_.insert(t);
        index_t most = 0;
        for (holder_t rank = 0; rank < ranks_; ++rank)
            most = std::max(most, tensors(rank) + std::min(staged(rank, round), staging_bytes));
        for (key_id const id : round.released)
            sources_.erase(id);
        return most;
    }

    /// True if a source is still there, or nothing from `t` on needs it.
    bool has_what_it_needs(std::uint32_t t) const {
        return std::all_of(
            whole_.transfers.begin(), whole_.transfers.end(), [&](transfer const& transfer) {
                return transfer.target_key != t || transfer.source_key == zero_source ||
                       sources_.contains(transfer.source_key);
            });
    }

    std::size_t sources_left() const { return sources_.size(); }

private:
    template <class Side>
    static index_t bytes_of(Side const& side, holder_t rank) {
        index_t bytes = 0;
        for (std::size_t i = 0; side.shards && i < side.shards.size(); ++i) {
            index_t elements = 0;
            for (box const& region : side.shards.boxes(i))
                elements += element_count(region);
            if (side.shards.holder(i) == rank)
                bytes += byte_count(elements, side.dtype);
        }
        return bytes;
    }

    index_t tensors(holder_t rank) const {
        index_t bytes = 0;
        for (key_id const id : sources_)
            bytes += bytes_of(problem_.sources[id], rank);
        for (std::uint32_t const t : targets_)
            bytes += bytes_of(problem_.targets[t], rank);
        return bytes;
    }

    index_t staged(holder_t rank, plan_round const& round) const {
        index_t bytes = 0;
        for (transfer const& transfer : whole_.transfers) {
            bool const moves = transfer.source_holder != no_holder &&
                               transfer.source_holder != transfer.target_holder &&
                               round.first <= transfer.target_key &&
                               transfer.target_key < round.last;
            if (moves && (transfer.source_holder == rank || transfer.target_holder == rank))
                bytes += wire_bytes(whole_, transfer);
        }
        return bytes;
    }

    plan_problem const& problem_;
    plan const& whole_;
    holder_t ranks_;
    std::set<key_id> sources_;
    std::set<std::uint32_t> targets_;
};

void check_rounds(plan_rounds const& rounds, walk ranks, plan const& plan, index_t budget) {
    std::uint32_t next = 0;
    index_t transfers = 0, bytes = 0;
    for (plan_round const& round : rounds.rounds) {
        BOOST_TEST(round.first == next);
        for (next = round.first; next < round.last; ++next)
            BOOST_TEST(ranks.has_what_it_needs(next));
        index_t const peak = ranks.peak(round);
        BOOST_TEST(round.peak_bytes == peak);
        BOOST_TEST(peak <= budget);
        transfers += round.transfers;
        bytes += round.bytes;
    }
    BOOST_TEST(next == plan.target_dtypes.size());
    BOOST_TEST((rounds.rounds.empty() || ranks.sources_left() == 0u));
    BOOST_TEST(transfers == static_cast<index_t>(plan.transfers.size()));
    index_t expected = 0;
    for (transfer const& transfer : plan.transfers)
        expected += wire_bytes(plan, transfer);
    BOOST_TEST(bytes == expected);
}

} // namespace

BOOST_AUTO_TEST_CASE(each_round_keeps_within_the_budget_and_each_transfer_is_in_one) {
    for (std::uint64_t seed = 0; seed < test::trials(200); ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            oracle::scenario const scenario = oracle::generator(seed).make();
            layout const source = test::source_layout(scenario),
                         target = test::target_layout(scenario);
            mapping const program = test::mapping_of(scenario);
            plan_problem const problem = problem_of(program, source, target);
            plan const plan = make_plan(problem);
            holder_t const ranks = std::max(problem.source_holders, problem.target_holders);
            plan_flows const flows(problem);
            plan_rounds const single = rounds_of(flows, ranks);
            walk const start(problem, plan, ranks);
            check_rounds(single, start, plan, any_budget);
            BOOST_TEST(single.rounds.size() <= 1u);
            index_t const most = single.rounds.empty() ? 0 : single.rounds[0].peak_bytes;
            for (index_t const budget :
                 {single.least_budget, (single.least_budget + most) / 2, most})
                check_rounds(rounds_of(flows, ranks, budget), start, plan, budget);
            if (single.least_budget > 0)
                BOOST_CHECK_THROW(rounds_of(flows, ranks, single.least_budget - 1), error);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
