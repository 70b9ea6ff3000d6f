// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_BALANCE_JOB_HPP
#define RESHARD_BENCH_BALANCE_JOB_HPP

#include "jobs.hpp"
#include "json_list.hpp"
#include "stopwatch.hpp"

#include <reshard/analysis/balance.hpp>
#include <reshard/analysis/simulation.hpp>
#include <reshard/layout/layout_of.hpp>
#include <reshard/plan/between_nodes.hpp>
#include <reshard/plan/flows.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <vector>

/// \file
/// The load of the busiest sender and link: of each job, of random layouts, and of a model for many
/// replicas.

namespace bench {

/// Measures balance and fan-out, prints a line for each job, and keeps its figures.
class balance_run {
public:
    explicit balance_run(int repeat) : repeat_(repeat) {}

    void run() {
        std::printf("job   node  sender/least  link/least  all ms  by turns  one ms  by turns\n");
        for (job const& all_job : all_jobs)
            for (holder_t const per_node : {0u, 8u})
                add_job(all_job, per_node);
        // The bound for senders ignores that a plan balances links first, so no plan may reach it.
        std::printf("\nrandom layouts  node  worst sender/least  mean  worst link/least  mean\n");
        for (holder_t const per_node : {0u, 2u, 4u})
            add_random(per_node);
        std::printf(
            "\nreplicas  relays  most bytes out/share  seconds  of one replica  planned ms\n");
        for (bool const relays : {false, true})
            for (index_t const replicas : {1, 2, 4, 8, 64, 512})
                add_fan_out(replicas, relays);
    }

    std::vector<std::string> const& rows() const { return rows_; }

private:
    struct two_layouts {
        two_layouts(layout before, layout after)
            : source(std::move(before)), target(std::move(after)) {
            reshard::catalog const wanted = reshard::catalog_of(target);
            program = reshard::identity_mapping(reshard::catalog_of(source), &wanted);
        }

        reshard::detail::plan_problem problem() const {
            return reshard::problem_of(program, source, target);
        }
        holder_t ranks() const { return std::max(source.holders, target.holders); }

        layout source;
        layout target;
        reshard::mapping program;
    };

    static double ratio(reshard::plan_balance::extreme const& busiest) {
        return busiest.bytes == 0
                   ? 1
                   : static_cast<double>(busiest.bytes) / static_cast<double>(busiest.least_bytes);
    }

    static reshard::plan_balance balance(two_layouts const& both, holder_t per_node) {
        auto const problem = both.problem();
        return balance_of(
            reshard::plan_flows(problem, {.processes_per_node = per_node,
                                          .between_nodes = reshard::balanced_senders()}),
            both.ranks());
    }

    /// The shortest time of several runs.
    double seconds(two_layouts const& both, reshard::detail::plan_scope const& scope,
                   reshard::plan_options const& options) const {
        double best = std::numeric_limits<double>::infinity();
        for (int i = 0; i < repeat_; ++i) {
            stopwatch const watch;
            auto const problem = both.problem();
            auto const plan = reshard::make_plan(problem, scope, options);
            best = std::min(best, watch.seconds());
        }
        return best;
    }

    void add_job(job const& current_job, holder_t per_node) {
        two_layouts const both(layout_of(*current_job.moved, current_job.source),
                               layout_of(*current_job.moved, current_job.target));
        reshard::plan_balance const plan_balance = balance(both, per_node);
        reshard::holder_set const first({0});
        reshard::plan_options const balanced{.processes_per_node = per_node,
                                             .between_nodes = reshard::balanced_senders()};
        reshard::plan_options const by_turns{.processes_per_node = per_node};
        double const times[] = {seconds(both, {}, balanced), seconds(both, {}, by_turns),
                                seconds(both, {first, first}, balanced),
                                seconds(both, {first, first}, by_turns)};
        std::printf("%-4s  %4u  %12.3f  %10.3f  %6.1f  %8.1f  %6.2f  %8.2f\n",
                    std::string(current_job.name).c_str(), per_node, ratio(plan_balance.sender),
                    ratio(plan_balance.link), times[0] * 1e3, times[1] * 1e3, times[2] * 1e3,
                    times[3] * 1e3);
        rows_.push_back(json_object{}
                            .add("job", current_job.name)
                            .add("ranks_per_node", per_node)
                            .add("sender_bytes", plan_balance.sender.bytes)
                            .add("least_sender_bytes", plan_balance.sender.least_bytes)
                            .add("link_bytes", plan_balance.link.bytes)
                            .add("least_link_bytes", plan_balance.link.least_bytes)
                            .add("all_seconds", times[0])
                            .add("all_by_turns_seconds", times[1])
                            .add("one_seconds", times[2])
                            .add("one_by_turns_seconds", times[3])
                            .text());
    }

    /// A few tensors, cut by rows or columns over one axis of a random mesh and replicated along
    /// the others.
    static layout random_layout(std::mt19937_64& random, std::vector<index_t> const& rows) {
        auto const any = [&](index_t most) {
            return static_cast<index_t>(random() % static_cast<std::uint64_t>(most)) + 1;
        };
        reshard::mesh const ranks({{"a", any(4)}, {"b", any(4)}, {"c", any(3)}});
        std::vector<reshard::tensor_sharding> tensors;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            std::vector<reshard::placement> placements(3, reshard::replicate{});
            placements[random() % 3] = reshard::shard{random() % 2};
            tensors.push_back(
                sharding_of("w" + std::to_string(100 + i), reshard::data_type::bf16,
                            reshard::distribution(ranks, placements, {rows[i], 4096})));
        }
        return reshard::layout_of(std::move(tensors));
    }

    void add_random(holder_t per_node) {
        constexpr int count = 300;
        std::mt19937_64 random(per_node);
        double worst_sender = 1, worst_link = 1, senders = 0, links = 0;
        for (int i = 0; i < count; ++i) {
            std::vector<index_t> rows(1 + random() % 12);
            for (index_t& row : rows)
                row = static_cast<index_t>(64 + random() % 4096);
            layout before = random_layout(random, rows);
            layout after = random_layout(random, rows);
            reshard::plan_balance const plan_balance =
                balance({std::move(before), std::move(after)}, per_node);
            worst_sender = std::max(worst_sender, ratio(plan_balance.sender));
            worst_link = std::max(worst_link, ratio(plan_balance.link));
            senders += ratio(plan_balance.sender) / count;
            links += ratio(plan_balance.link) / count;
        }
        std::printf("%14d  %4u  %18.3f  %4.2f  %16.3f  %4.2f\n", count, per_node, worst_sender,
                    senders, worst_link, links);
        rows_.push_back(json_object{}
                            .add("random_layouts", count)
                            .add("ranks_per_node", per_node)
                            .add("worst_sender_ratio", worst_sender)
                            .add("mean_sender_ratio", senders)
                            .add("worst_link_ratio", worst_link)
                            .add("mean_link_ratio", links)
                            .text());
    }

    /// Copies 405 billion parameters from the eight ranks of a node to `replicas` other nodes.
    void add_fan_out(index_t replicas, bool relays) {
        two_layouts const both(layout_of(llama3_405b, {.tensor = 8}),
                               layout_of(llama3_405b, {.tensor = 8, .data = 1 + replicas}));
        stopwatch const watch;
        auto const problem = both.problem();
        reshard::plan_flows const flows(
            problem, {.processes_per_node = 8,
                      .between_nodes = relays ? reshard::relays() : reshard::balanced_senders()});
        reshard::plan_cost const cost = cost_of(flows, both.ranks());
        double const planned = watch.seconds();
        index_t most = 0;
        for (reshard::process_cost const& process_cost : cost.by_process)
            most = std::max(most, process_cost.bytes_out);
        index_t const share = cost.by_process.back().bytes_in;
        double const seconds = simulate(flows, reshard::network{}).seconds;
        if (replicas == 1)
            seconds_of_one_ = seconds;
        std::printf("%8lld  %6s  %20.2f  %7.1f  %14.2f  %10.1f\n", static_cast<long long>(replicas),
                    relays ? "yes" : "no", static_cast<double>(most) / static_cast<double>(share),
                    seconds, seconds / seconds_of_one_, planned * 1e3);
        rows_.push_back(json_object{}
                            .add("replicas", replicas)
                            .add("relays", cost.relays)
                            .add("transfers", cost.transfers)
                            .add("most_bytes_out", most)
                            .add("share_bytes", share)
                            .add("simulated_seconds", seconds)
                            .add("simulated_seconds_of_one", seconds_of_one_)
                            .add("planning_seconds", planned)
                            .text());
    }

    int repeat_;
    double seconds_of_one_ = 1;
    std::vector<std::string> rows_;
};

} // namespace bench

#endif
