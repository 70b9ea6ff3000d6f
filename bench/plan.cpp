// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

/// \file
/// How long planning takes: models that move from one layout to another, a box a shard, on one core.

#include "jobs.hpp"
#include "json_list.hpp"
#include "peak_memory.hpp"
#include "stopwatch.hpp"

#include <reshard/plan/make_plan.hpp>
#include <reshard/shard/main_copies.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

using namespace bench;

/// Two layouts and the program between them.
struct prepared_job {
    layout source;
    layout target;
    reshard::mapping program;
    double seconds = 0; ///< that it took to make them
};

struct measurement {
    std::string job;
    std::string scope;
    job_numbers found;
    double seconds = 0;
    std::int64_t peak_bytes = 0;
};

prepared_job prepare(job const& wanted) {
    stopwatch const watch;
    prepared_job ready{
        layout_of(*wanted.moved, wanted.source), layout_of(*wanted.moved, wanted.target), {}, 0};
    reshard::catalog const targets = reshard::catalog_of(ready.target);
    ready.program = reshard::identity_mapping(reshard::catalog_of(ready.source), &targets);
    ready.seconds = watch.seconds();
    return ready;
}

std::size_t main_pieces(layout const& held) {
    std::size_t pieces = 0;
    for (tensor_layout const& tensor : held.tensors)
        pieces += reshard::main_copies(tensor.shards).size();
    return pieces;
}

std::size_t filled_pieces(layout const& held) {
    std::size_t pieces = 0;
    for (tensor_layout const& tensor : held.tensors)
        for (std::size_t i = 0; i < tensor.shards.size(); ++i)
            pieces += !is_empty(tensor.shards.region(i));
    return pieces;
}

index_t bytes_of(reshard::plan const& whole) {
    index_t bytes = 0;
    for (reshard::transfer const& part : whole.transfers)
        bytes += wire_bytes(whole, part);
    return bytes;
}

measurement measure(job const& wanted, prepared_job const& ready, std::string const& scope) {
    reshard::plan_scope meant;
    if (scope == "one")
        meant = {reshard::holder_set({0}), reshard::holder_set({0})};
    peak_memory const memory;
    stopwatch const watch;
    reshard::plan const whole =
        make_plan(problem_of(ready.program, ready.source, ready.target), meant);
    double const seconds = watch.seconds();
    return {std::string(wanted.name),
            scope,
            {main_pieces(ready.source), filled_pieces(ready.target), whole.transfers.size(),
             bytes_of(whole)},
            seconds,
            memory.bytes()};
}

/// What rank 0 gives and gets, picked out of a plan for everybody.
job_numbers expected_of_one(job const& wanted, prepared_job const& ready) {
    reshard::plan whole = make_plan(problem_of(ready.program, ready.source, ready.target));
    std::erase_if(whole.transfers, [](reshard::transfer const& part) {
        return part.source_holder != 0 && part.target_holder != 0;
    });
    return {wanted.expected.source_pieces, wanted.expected.target_pieces, whole.transfers.size(),
            bytes_of(whole)};
}

std::string to_json(measurement const& m) {
    return json_object{}
        .add("job", m.job)
        .add("scope", m.scope)
        .add("source_pieces", m.found.source_pieces)
        .add("target_pieces", m.found.target_pieces)
        .add("transfers", m.found.transfers)
        .add("bytes", m.found.bytes)
        .add("seconds", m.seconds)
        .add("peak_bytes", m.peak_bytes)
        .text();
}

void print(measurement const& m, bool is_as_expected, double layout_seconds) {
    std::printf("%-3s  %-5s  %9zu  %9zu  %9zu  %15lld  %9.4f  %10.1f  %9.4f  %s\n", m.job.c_str(),
                m.scope.c_str(), m.found.source_pieces, m.found.target_pieces, m.found.transfers,
                static_cast<long long>(m.found.bytes), m.seconds,
                static_cast<double>(m.peak_bytes) / (1 << 20), layout_seconds,
                is_as_expected ? "as expected" : "WRONG NUMBERS");
    std::fflush(stdout);
}

struct options {
    std::string job = "all";
    std::string scope = "both";
    std::string json;
};

options read(CLI::App& program, int count, char** words) {
    options chosen;
    program.add_option("--job", chosen.job, "Which job")
        ->check(CLI::IsMember({"A", "B", "C", "C2", "D", "E", "F", "G", "all"}))
        ->capture_default_str();
    program.add_option("--scope", chosen.scope, "Plan for all ranks, for rank 0, or both")
        ->check(CLI::IsMember({"all", "one", "both"}))
        ->capture_default_str();
    program.add_option("--json", chosen.json, "Write the numbers to this file, too");
    program.parse(count, words);
    return chosen;
}

/// Measures what was asked for; false where a number differs from the known one.
bool run(options const& chosen) {
    std::vector<std::string> rows;
    bool all_as_expected = true;
    std::printf("job  scope   sources    targets  transfers            bytes    seconds    peak MiB"
                "  layouts s\n");
    for (job const& wanted : all_jobs) {
        if (chosen.job != "all" && chosen.job != wanted.name)
            continue;
        prepared_job const ready = prepare(wanted);
        for (std::string const scope : {"all", "one"}) {
            if (chosen.scope != "both" && chosen.scope != scope)
                continue;
            measurement const m = measure(wanted, ready, scope);
            bool const is_as_expected =
                m.found == (scope == "one" ? expected_of_one(wanted, ready) : wanted.expected);
            print(m, is_as_expected, ready.seconds);
            all_as_expected = all_as_expected && is_as_expected;
            rows.push_back(to_json(m));
        }
    }
    if (!chosen.json.empty())
        write_json_list(chosen.json, rows);
    return all_as_expected;
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
