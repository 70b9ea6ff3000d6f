// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

/// \file
/// Measures how long planning takes on one core: models move from one layout to another.

#include "balance_job.hpp"
#include "growth.hpp"
#include "jobs.hpp"
#include "json_list.hpp"
#include "log_plot.hpp"
#include "m2n_job.hpp"
#include "peak_memory.hpp"
#include "stopwatch.hpp"
#include "typed_job.hpp"

#include <reshard/layout/replica.hpp>
#include <reshard/plan/between_nodes.hpp>
#include <reshard/plan/flows.hpp>
#include <reshard/plan/make_plan.hpp>
#include <reshard/plan/problem.hpp>
#include <reshard/plan/rounds.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace reshard::detail;

using namespace bench;

reshard::plan_options const balanced{.between_nodes = reshard::balanced_senders()};

/// Two layouts and the program between them.
struct prepared_job {
    layout source;
    layout target;
    reshard::mapping program;

    reshard::detail::plan_problem problem() const { return problem_of(program, source, target); }
};

struct measurement {
    std::string job;
    std::string_view layouts; ///< listed, or compact
    std::string_view scope;   ///< all, one, or gets: the transfers to one rank
    std::string_view form;    ///< transfers, patterns, cost, or rounds
    job_numbers found;
    double seconds = 0;
    std::int64_t answer_bytes = 0;
    std::int64_t peak_bytes = 0; ///< including the answer

    std::int64_t extra_bytes() const {
        return std::max<std::int64_t>(0, peak_bytes - answer_bytes);
    }
};

prepared_job prepared(layout source, layout target) {
    reshard::catalog const targets = reshard::catalog_of(target);
    reshard::mapping program = reshard::identity_mapping(reshard::catalog_of(source), &targets);
    return {std::move(source), std::move(target), std::move(program)};
}

std::size_t main_pieces(layout const& layout) {
    std::size_t pieces = 0;
    for (tensor_layout const& tensor : layout.tensors)
        pieces +=
            reshard::detail::main_copies(reshard::detail::listed(layout.spread_of(tensor))).size();
    return pieces;
}

std::size_t filled_pieces(layout const& layout) {
    std::size_t pieces = 0;
    for (tensor_layout const& tensor : layout.tensors) {
        reshard::detail::tensor_shards const shards = layout.shards_of(tensor);
        for (std::size_t i = 0; i < shards.size(); ++i)
            pieces += !is_empty(shards.region(i));
    }
    return pieces;
}

index_t bytes_of(reshard::plan const& plan) {
    index_t bytes = 0;
    for (reshard::transfer const& transfer : plan.transfers)
        bytes += wire_bytes(plan, transfer);
    return bytes;
}

std::int64_t answer_bytes(reshard::plan const& plan) {
    std::size_t bytes = plan.transfers.size() * sizeof(reshard::transfer);
    for (reshard::detail::pattern const& pattern : plan.patterns)
        bytes += pattern.bytes();
    return static_cast<std::int64_t>(bytes);
}

std::int64_t answer_bytes(reshard::detail::pattern_plan const& plan) {
    return static_cast<std::int64_t>(plan.bytes());
}

void count(reshard::plan const& plan, job_numbers& job_numbers) {
    job_numbers.transfers = plan.transfers.size();
    job_numbers.bytes = bytes_of(plan);
}

/// Each tensor has the transfers of its pattern, because in these jobs each tensor is one piece and
/// keeps its data type.
void count(reshard::detail::pattern_plan const& plan, job_numbers& job_numbers) {
    std::vector<index_t> elements;
    for (reshard::detail::placed_pattern const& pattern : plan.patterns) {
        elements.push_back(0);
        for (std::size_t i = 0; i < pattern.size(); ++i)
            elements.back() += pattern.geometry().elements(i);
    }
    for (std::size_t t = 0; t < plan.pattern_of.size(); ++t) {
        job_numbers.transfers += plan.patterns[plan.pattern_of[t]].size();
        job_numbers.bytes += byte_count(elements[plan.pattern_of[t]], plan.target_dtypes[t]);
    }
}

/// Counts the figures of a plan without listing it.
void count(reshard::plan_cost const& cost, job_numbers& job_numbers) {
    job_numbers.transfers = static_cast<std::size_t>(cost.transfers);
    job_numbers.bytes = cost.bytes;
}

std::int64_t answer_bytes(reshard::plan_cost const& cost) {
    return static_cast<std::int64_t>(cost.by_process.size() * sizeof(reshard::process_cost));
}

void count(reshard::detail::plan_rounds const& rounds, job_numbers& job_numbers) {
    for (reshard::detail::plan_round const& plan_round : rounds.rounds) {
        job_numbers.transfers += static_cast<std::size_t>(plan_round.transfers);
        job_numbers.bytes += plan_round.bytes;
    }
}

std::int64_t answer_bytes(reshard::detail::plan_rounds const& rounds) {
    return static_cast<std::int64_t>(rounds.rounds.size() * sizeof(reshard::detail::plan_round));
}

/// Measures `make()` several times. Keeps the shortest time, and the memory of the first call.
template <class Make>
void measure(int repeat, Make&& make, measurement& m) {
    for (int i = 0; i < repeat; ++i) {
        std::optional<peak_memory>
            memory; // returns the allocator's memory to the system: needed once
        if (i == 0)
            memory.emplace();
        stopwatch const watch;
        auto const answer = make();
        double const seconds = watch.seconds();
        m.seconds = i == 0 ? seconds : std::min(m.seconds, seconds);
        if (i > 0)
            continue;
        m.peak_bytes = memory->bytes();
        m.answer_bytes = answer_bytes(answer);
        count(answer, m.found);
    }
}

reshard::detail::plan_scope scope_of(std::string_view name, reshard::holder_t rank = 0) {
    reshard::holder_set const me({rank});
    if (name == "gets")
        return {reshard::holder_set::nobody(), me};
    return name == "one" ? reshard::detail::plan_scope{me, me} : reshard::detail::plan_scope{};
}

std::string to_json(measurement const& m) {
    return json_object{}
        .add("job", m.job)
        .add("layouts", m.layouts)
        .add("scope", m.scope)
        .add("form", m.form)
        .add("source_pieces", m.found.source_pieces)
        .add("target_pieces", m.found.target_pieces)
        .add("transfers", m.found.transfers)
        .add("bytes", m.found.bytes)
        .add("seconds", m.seconds)
        .add("answer_bytes", m.answer_bytes)
        .add("peak_bytes", m.peak_bytes)
        .text();
}

void print(measurement const& m, std::string_view verdict) {
    std::printf("%-4s  %-7s  %-5s  %-9s  %9zu  %15lld  %9.3f  %10.2f  %9.2f  %s\n", m.job.c_str(),
                std::string(m.layouts).c_str(), std::string(m.scope).c_str(),
                std::string(m.form).c_str(), m.found.transfers,
                static_cast<long long>(m.found.bytes), m.seconds * 1e3,
                static_cast<double>(m.answer_bytes) / (1 << 20),
                static_cast<double>(m.extra_bytes()) / (1 << 20), std::string(verdict).c_str());
    std::fflush(stdout);
}

struct options {
    std::string job = "all";
    std::string scope = "both";
    int repeat = 3;
    std::string json;
    std::string plot;
};

/// True if the job is m2n, or one of its systems.
bool is_m2n(std::string_view job) {
    return job == "m2n" || std::ranges::count(m2n_systems, job, &m2n_system::name) > 0;
}

options read(CLI::App& program, int count, char** words) {
    options chosen;
    std::vector<std::string> jobs{"A", "B",     "C",    "C2",    "D",       "E",   "F",
                                  "G", "scale", "wide", "typed", "balance", "m2n", "all"};
    for (m2n_system const& system : m2n_systems)
        jobs.emplace_back(system.name);
    program.add_option("--job", chosen.job, "Which job, or which system of m2n")
        ->check(CLI::IsMember(std::move(jobs)))
        ->capture_default_str();
    program.add_option("--scope", chosen.scope, "Plan for all ranks, for rank 0, or both")
        ->check(CLI::IsMember({"all", "one", "both"}))
        ->capture_default_str();
    program.add_option("--repeat", chosen.repeat, "Repetitions, of which the fastest counts")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    program.add_option("--json", chosen.json, "Write the numbers to this file, too");
    program.add_option("--plot", chosen.plot,
                       "Draw the growth with the number of ranks in this file, as SVG");
    program.parse(count, words);
    return chosen;
}

/// Measures jobs, prints a line for each, and keeps its figures.
class bench_run {
public:
    explicit bench_run(options const& chosen) : chosen_(chosen) {
        if (chosen.job == "balance" || is_m2n(chosen.job))
            return;
        std::printf("job   layouts  scope  form       transfers            bytes         ms"
                    "  answer MiB  extra MiB\n");
    }

    void run(job const& wanted) {
        auto const compact = prepared(layout_of(*wanted.moved, wanted.source),
                                      layout_of(*wanted.moved, wanted.target));
        auto const listed = prepared(reshard::detail::listed(compact.source),
                                     reshard::detail::listed(compact.target));
        job_numbers pieces;
        pieces.source_pieces = main_pieces(listed.source);
        pieces.target_pieces = filled_pieces(listed.target);
        for (std::string_view const scope : {"all", "one"}) {
            if (chosen_.scope != "both" && chosen_.scope != scope)
                continue;
            job_numbers const expected =
                scope == "one" ? expected_of_one(wanted, listed) : wanted.expected;
            measurement m{std::string(wanted.name), "listed", scope, "transfers", pieces};
            transfers(listed, m);
            keep(m, m.found == expected);
            m = {m.job, "compact", scope, "transfers", pieces};
            transfers(compact, m);
            keep(m, m.found == expected);
            if (scope == "one")
                continue;
            m = {m.job, "compact", scope, "patterns", pieces};
            patterns(compact, m);
            keep(m, m.found == expected);
            m = {m.job, "compact", scope, "cost", pieces};
            costs(compact, m);
            keep(m, m.found == expected);
        }
    }

    /// Measures job G with twenty times its ranks: the bytes that all ranks send and receive,
    /// without a list of transfers.
    void run_wide() {
        auto const compact = prepared(layout_of(llama3_405b, {.fully_sharded = 10'000}),
                                      layout_of(llama3_405b, {.fully_sharded = 7'500}));
        measurement m{"10k", "compact", "all", "cost", {}};
        costs(compact, m);
        keep(m, m.found.bytes == 811'706'777'600);
        std::size_t const transfers = m.found.transfers;
        m = {m.job, "compact", "all", "rounds", {}};
        rounds(compact, m);
        keep(m, m.found.bytes == 811'706'777'600 && m.found.transfers == transfers);
    }

    /// Measures how planning for one rank grows with the number of senders. The rank always
    /// receives an eighth of the eight layers of stage 8 in bf16, and their norms whole.
    void run_scale() {
        std::vector<std::pair<double, double>> size_and_seconds;
        plot_series series{"transfers / 1000", {}}, as_patterns{"patterns, ms", {}},
            as_transfers{"listed, ms", {}};
        index_t const h = llama3_405b.hidden, attention = 2 * h * h + 2 * 1024 * h;
        index_t const expected = 8 * 2 * ((attention + 3 * 53248 * h) / 8 + 2 * h);
        for (scale_job const& wanted : scale_jobs) {
            auto const compact = prepared(layout_of(llama3_405b, wanted.source()),
                                          layout_of(llama3_405b, wanted.target()));
            measurement m{std::string(wanted.name), "compact", "gets", "patterns", {}};
            patterns(compact, m, wanted.middle());
            keep(m, m.found.bytes == expected);
            double const seconds = m.seconds;
            m = {m.job, "compact", "gets", "transfers", {}};
            transfers(compact, m, wanted.middle());
            keep(m, m.found.bytes == expected);
            if (wanted.in_slices)
                continue;
            size_and_seconds.emplace_back(static_cast<double>(m.found.transfers), seconds);
            auto const ranks = static_cast<double>(wanted.ranks);
            series.points.emplace_back(ranks, static_cast<double>(m.found.transfers) / 1e3);
            as_patterns.points.emplace_back(ranks, seconds * 1e3);
            as_transfers.points.emplace_back(ranks, m.seconds * 1e3);
        }
        std::printf("time grows as the number of transfers to the power of %.2f\n",
                    growth_exponent(size_and_seconds));
        if (chosen_.plot.empty())
            return;
        log_plot plot("What one rank of TP 8, PP 16 gets of 405 B parameters", "ranks", "");
        for (plot_series const& plot_series : {series, as_patterns, as_transfers})
            plot.add(plot_series);
        plot.write(chosen_.plot);
    }

    /// Measures the load of the busiest sender and link.
    void run_balance() {
        balance_run run(chosen_.repeat);
        run.run();
        rows_.insert(rows_.end(), run.rows().begin(), run.rows().end());
    }

    /// Measures trainers and servers on many nodes.
    void run_m2n() {
        m2n_run run(chosen_.repeat);
        for (m2n_system const& system : m2n_systems)
            if (chosen_.job == system.name || chosen_.job == "m2n" || chosen_.job == "all")
                run.run(system);
        rows_.insert(rows_.end(), run.rows().begin(), run.rows().end());
        all_as_expected_ = all_as_expected_ && run.all_as_expected();
    }

    /// \return false if a number differs from the known number
    bool finish() const {
        if (!chosen_.json.empty())
            write_json_list(chosen_.json, rows_);
        return all_as_expected_;
    }

private:
    /// The figures of rank 0, selected from a plan for all ranks.
    static job_numbers expected_of_one(job const& wanted, prepared_job const& ready) {
        reshard::plan plan = reshard::make_plan(ready.problem(), {}, balanced);
        erase_if(plan.transfers, [](reshard::transfer const& transfer) {
            return transfer.source_holder != 0 && transfer.target_holder != 0;
        });
        return {wanted.expected.source_pieces, wanted.expected.target_pieces, plan.transfers.size(),
                bytes_of(plan)};
    }

    void transfers(prepared_job const& ready, measurement& m, holder_t rank = 0) const {
        measure(
            chosen_.repeat,
            [&] { return reshard::make_plan(ready.problem(), scope_of(m.scope, rank), balanced); },
            m);
    }

    void patterns(prepared_job const& ready, measurement& m, holder_t rank = 0) const {
        measure(
            chosen_.repeat,
            [&] { return given_cuts(ready.problem(), scope_of(m.scope, rank), balanced).patterns; },
            m);
    }

    void costs(prepared_job const& ready, measurement& m) const {
        auto const cost = [&] {
            reshard::detail::plan_problem const problem = ready.problem();
            return reshard::cost_of(reshard::plan_flows(problem, balanced),
                                    std::max(problem.source_holders, problem.target_holders));
        };
        measure(chosen_.repeat, cost, m);
    }

    /// Plans rounds within 150 MB per rank. Without rounds, a rank needs 190 MB.
    void rounds(prepared_job const& ready, measurement& m) const {
        auto const make = [&] {
            reshard::detail::plan_problem const problem = ready.problem();
            return rounds_of(reshard::plan_flows(problem, balanced), problem.source_holders,
                             150'000'000);
        };
        measure(chosen_.repeat, make, m);
    }

    void keep(measurement const& m, bool is_as_expected) {
        print(m, is_as_expected ? "as expected" : "WRONG NUMBERS");
        all_as_expected_ = all_as_expected_ && is_as_expected;
        rows_.push_back(to_json(m));
    }

    options const& chosen_;
    std::vector<std::string> rows_;
    bool all_as_expected_ = true;
};

/// Measures the requested jobs. False if a number differs from the known number.
bool run(options const& chosen) {
    bench_run run(chosen);
    for (job const& wanted : all_jobs)
        if (chosen.job == "all" || chosen.job == wanted.name)
            run.run(wanted);
    if (chosen.job == "all" || chosen.job == "scale")
        run.run_scale();
    if (chosen.job == "all" || chosen.job == "wide")
        run.run_wide();
    if (chosen.job == "all" || chosen.job == "balance")
        run.run_balance();
    if (chosen.job == "all" || is_m2n(chosen.job))
        run.run_m2n();
    bool const typed_is_right =
        (chosen.job != "all" && chosen.job != "typed") || run_typed(chosen.repeat);
    return run.finish() && typed_is_right;
}

} // namespace

int main(int count, char** words) try {
    CLI::App program("Measures how long planning takes, and checks the plans' numbers.");
    options chosen;
    try {
        chosen = read(program, count, words);
    } catch (CLI::ParseError const& problem) {
        return program.exit(problem);
    }
    return run(chosen) ? 0 : 1;
} catch (std::exception const& problem) {
    std::fprintf(stderr, "plan: %s\n", problem.what());
    return 1;
}
