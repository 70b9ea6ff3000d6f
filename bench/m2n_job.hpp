// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_M2N_JOB_HPP
#define RESHARD_BENCH_M2N_JOB_HPP

#include "json_list.hpp"
#include "m2n_bound.hpp"
#include "peak_memory.hpp"
#include "stopwatch.hpp"

#include <reshard/analysis/balance.hpp>
#include <reshard/analysis/simulation.hpp>
#include <reshard/plan/between_nodes.hpp>
#include <reshard/plan/flows.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

/// \file
/// Compares plans with relays with the least time of any plan, and measures how long planning
/// takes. Trainers pass their weights to servers on many nodes.

namespace bench {

/// Measures systems, prints a line for each, and keeps its figures.
class m2n_run {
public:
    explicit m2n_run(int repeat) : repeat_(repeat) {
        std::printf("system    bound s  of             simulated s  ratio  relays  direct s  one ms"
                    "    all s  all MiB  simulate s\n");
    }

    void run(m2n_system const& system) {
        std::vector<m2n_tensor> const tensors = m2n_tensors(system).list();
        m2n_bound const bound = bound_of(system, tensors);
        moved const both(trainers_of(system, tensors), servers_of(system, tensors));
        reshard::plan_options const options{.processes_per_node = system.ranks_per_node,
                                            .between_nodes = reshard::relays(network_of(system))};
        row const found = measure(system, both, options);
        bool const is_right = is_expected(found, bound);
        double const ratio = found.simulated / bound.seconds;
        std::printf(
            "%-8s  %7.4f  %-13s  %11.4f  %5.3f  %6s  %8.4f  %6.1f  %7.3f  %7.1f  %10.2f  %s\n",
            std::string(system.name).c_str(), bound.seconds, std::string(bound.of).c_str(),
            found.simulated, ratio, found.has_relays ? "yes" : "no", found.direct, found.one * 1e3,
            found.all, static_cast<double>(found.all_bytes) / (1 << 20), found.simulating,
            is_right ? "as expected" : "WRONG NUMBERS");
        std::fflush(stdout);
        all_as_expected_ = all_as_expected_ && is_right;
        rows_.push_back(json_object{}
                            .add("system", system.name)
                            .add("bound_seconds", bound.seconds)
                            .add("bound_of", bound.of)
                            .add("simulated_seconds", found.simulated)
                            .add("ratio", ratio)
                            .add("has_relays", found.has_relays)
                            .add("direct_seconds", found.direct)
                            .add("one_plan_seconds", found.one)
                            .add("all_plans_seconds", found.all)
                            .add("all_plans_bytes", found.all_bytes)
                            .add("simulating_seconds", found.simulating)
                            .text());
    }

    std::vector<std::string> const& rows() const { return rows_; }
    bool all_as_expected() const { return all_as_expected_; }

private:
    struct moved {
        moved(reshard::layout before, reshard::layout after)
            : source(std::move(before)), target(std::move(after)) {
            reshard::catalog const wanted = reshard::catalog_of(target);
            program = reshard::identity_mapping(reshard::catalog_of(source), &wanted);
        }

        reshard::detail::plan_problem problem() const {
            return reshard::problem_of(program, source, target);
        }

        reshard::layout source;
        reshard::layout target;
        reshard::mapping program;
    };

    struct row {
        double simulated = 0;
        double direct = 0; ///< simulated, without relays
        bool has_relays = false;
        double least = 0; ///< of any plan, by the library's bound
        double one = 0;   ///< to plan for one rank: the slowest of some ranks
        double all = 0;   ///< to plan for all ranks, and to count the bytes of each
        std::int64_t all_bytes = 0;
        double simulating = 0;
        std::vector<index_t> got; ///< the bytes that each server gets
    };

    /// The shortest of several runs, in processor time.
    double quickest(auto&& work) const {
        double best = std::numeric_limits<double>::infinity();
        for (int i = 0; i < repeat_; ++i) {
            processor_stopwatch const watch;
            work();
            best = std::min(best, watch.seconds());
        }
        return best;
    }

    row measure(m2n_system const& system, moved const& both,
                reshard::plan_options const& options) const {
        row found;
        holder_t const ranks = 2 * system.ranks;
        for (holder_t const rank : {holder_t{0}, system.ranks, ranks - 1})
            found.one = std::max(found.one, quickest([&] {
                                     reshard::holder_set const me({rank});
                                     auto const problem = both.problem();
                                     reshard::make_plan(problem, {me, me}, options);
                                 }));
        reshard::plan_cost cost;
        found.all = quickest([&] {
            peak_memory const memory;
            auto const problem = both.problem();
            cost = reshard::cost_of(reshard::plan_flows(problem, options), ranks);
            found.all_bytes = std::max(found.all_bytes, memory.bytes());
        });
        for (holder_t server = system.ranks; server < ranks; ++server)
            found.got.push_back(cost.by_process[server].bytes_in);
        reshard::network const over = network_of(system);
        auto const problem = both.problem();
        reshard::plan_flows const flows(problem, options);
        processor_stopwatch const watch;
        found.simulated = simulate(flows, over).seconds;
        found.simulating = watch.seconds();
        found.has_relays = flows.options().between_nodes.has_relays();
        reshard::plan_options always = options;
        always.between_nodes = reshard::detail::all_relays();
        found.least =
            reshard::detail::least_time_of(reshard::plan_flows(problem, always), over, ranks)
                .seconds;
        found.direct =
            simulate(reshard::plan_flows(problem, {.processes_per_node = system.ranks_per_node,
                                                   .between_nodes = reshard::balanced_senders()}),
                     over)
                .seconds;
        return found;
    }

    /// True if every server gets all its bytes, if the library's least time is the bound (except
    /// for latencies), and if the plan takes at least the bound, at most 1.15 times the bound, and
    /// no longer than direct sends.
    static bool is_expected(row const& found, m2n_bound const& bound) {
        auto const is_all = [&](index_t bytes) {
            return static_cast<double>(bytes) == bound.server_bytes;
        };
        return std::ranges::all_of(found.got, is_all) &&
               std::abs(found.least / bound.seconds - 1) < 1e-3 &&
               found.simulated <= 1.001 * found.direct && found.simulated >= bound.seconds &&
               found.simulated <= 1.15 * bound.seconds;
    }

    int repeat_;
    bool all_as_expected_ = true;
    std::vector<std::string> rows_;
};

} // namespace bench

#endif
