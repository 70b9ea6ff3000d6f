// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

/// \file
/// Measures on one core how long it takes to compile AOA programs, from the text to the pieces of
/// every target shard.

#include "aoa_jobs.hpp"
#include "growth.hpp"
#include "heap.hpp"
#include "json_list.hpp"
#include "stopwatch.hpp"

#include <reshard/aoa/expand.hpp>
#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/expr/mapping_index.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace reshard;
using namespace reshard::detail;

using namespace bench;

/// The seconds of each stage.
struct stage_times {
    double parse = 0;
    double expand = 0;
    double lower = 0;
    double query = 0; ///< including the index

    double sum() const { return parse + expand + lower + query; }
};

struct aoa_measurement {
    std::string program;
    aoa_numbers found;
    stage_times seconds;
    std::int64_t bytes = 0;      ///< the memory of the mapping and its index
    std::int64_t name_bytes = 0; ///< the part of `bytes` for the characters of keys
    std::optional<double> exponent = {};
};

/// The tensors of both sides, as the compiler sees them.
struct catalogs {
    explicit catalogs(aoa_job const& job)
        : source(catalog_of(job.source)), target(catalog_of(job.target)) {}

    reshard::catalog source;
    reshard::catalog target;
};

/// Compiles a program: parses, expands and lowers it.
reshard::mapping compile(aoa_job const& job, catalogs const& tensors, aoa_measurement& m) {
    stopwatch const parsing;
    reshard::aoa::program const written = reshard::aoa::parse(job.text);
    m.seconds.parse = parsing.seconds();
    stopwatch const expanding;
    auto const expanded = reshard::aoa::expand(written, tensors.source, &tensors.target);
    m.seconds.expand = expanding.seconds();
    stopwatch const lowering;
    reshard::mapping map = reshard::aoa::lower(expanded.code, tensors.source, &tensors.target);
    m.seconds.lower = lowering.seconds();
    m.found.statements = expanded.code.statements().size();
    return map;
}

/// The pieces of all shards of the target.
std::size_t count_pieces(aoa_job const& job, reshard::mapping const& map,
                         reshard::detail::mapping_index const& index) {
    std::size_t pieces = 0;
    for (tensor_layout const& tensor : job.target.tensors) {
        reshard::mapping_output const& output = *map.find(tensor.key);
        reshard::detail::tensor_shards const shards = job.target.shards_of(tensor);
        for (std::size_t i = 0; i < shards.size(); ++i)
            index.for_each_piece(output, shards.region(i), [&](reshard::piece const& piece) {
                pieces += !is_empty(piece.target_box());
            });
    }
    return pieces;
}

std::int64_t name_bytes_of(reshard::mapping const& map) {
    std::size_t bytes = 0;
    for (reshard::detail::mapping_source const& source : map.sources())
        bytes += source.key.size();
    for (reshard::mapping_output const& output : map.outputs())
        bytes += output.key.size();
    return static_cast<std::int64_t>(bytes);
}

std::size_t shards_of(layout const& layout) {
    std::size_t shards = 0;
    for (tensor_layout const& tensor : layout.tensors)
        shards += layout.shards_of(tensor).size();
    return shards;
}

aoa_measurement measure(aoa_job const& job, catalogs const& tensors) {
    aoa_measurement m{job.name, {}, {}, 0, 0};
    std::int64_t const before = heap_bytes();
    reshard::mapping const map = compile(job, tensors, m);
    stopwatch const asking;
    reshard::detail::mapping_index const index(map);
    m.found.pieces = count_pieces(job, map, index);
    m.seconds.query = asking.seconds();
    m.bytes = heap_bytes() - before;
    m.name_bytes = name_bytes_of(map);
    m.found.source_keys = tensors.source.size();
    m.found.target_keys = tensors.target.size();
    m.found.target_shards = shards_of(job.target);
    return m;
}

/// The fastest of several runs.
aoa_measurement measure(aoa_job const& job, int repetitions) {
    catalogs const tensors(job);
    aoa_measurement best = measure(job, tensors);
    for (int i = 1; i < repetitions; ++i) {
        aoa_measurement again = measure(job, tensors);
        if (again.seconds.sum() < best.seconds.sum())
            best = std::move(again);
    }
    return best;
}

std::string to_json(aoa_measurement const& m) {
    json_object row;
    row.add("program", m.program)
        .add("statements", m.found.statements)
        .add("source_keys", m.found.source_keys)
        .add("target_keys", m.found.target_keys)
        .add("target_shards", m.found.target_shards)
        .add("pieces", m.found.pieces)
        .add("seconds", m.seconds.sum())
        .add("parse_s", m.seconds.parse)
        .add("expand_s", m.seconds.expand)
        .add("lower_s", m.seconds.lower)
        .add("query_s", m.seconds.query)
        .add("bytes", m.bytes)
        .add("name_bytes", m.name_bytes);
    if (m.exponent)
        row.add("growth_exponent", *m.exponent);
    return row.text();
}

void print(aoa_measurement const& m, char const* remark) {
    auto const ms = [](double seconds) { return 1e3 * seconds; };
    std::printf("%-18s  %9zu  %7zu  %7zu  %8.3f  %8.3f  %8.3f  %8.3f  %8.3f  %9.0f  %s\n",
                m.program.c_str(), m.found.statements, m.found.source_keys, m.found.pieces,
                ms(m.seconds.parse), ms(m.seconds.expand), ms(m.seconds.lower), ms(m.seconds.query),
                ms(m.seconds.sum()),
                static_cast<double>(m.bytes - m.name_bytes) / static_cast<double>(m.found.pieces),
                remark);
    std::fflush(stdout);
}

struct options {
    std::string program = "all";
    int repeat = 3;
    std::string json;
};

options read(CLI::App& program, int count, char** words) {
    options chosen;
    std::vector<std::string> names{"all", "growth"};
    for (aoa_entry const& entry : all_aoa_jobs)
        names.push_back(entry.name);
    program.add_option("--program", chosen.program, "Which program")
        ->check(CLI::IsMember(names))
        ->capture_default_str();
    program.add_option("--repeat", chosen.repeat, "Repetitions, of which the fastest counts")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    program.add_option("--json", chosen.json, "Write the numbers to this file, too");
    program.parse(count, words);
    return chosen;
}

/// Measures one kind of program at several sizes, and how its time grows with the number of source
/// keys.
void measure_growth(std::string const& name, bool stacks, int repetitions,
                    std::vector<aoa_measurement>& rows) {
    std::vector<std::pair<double, double>> points;
    std::size_t const first = rows.size();
    for (moe_size const& size : growing_sizes) {
        std::string const words =
            name + ' ' + std::to_string(size.layers) + 'x' + std::to_string(size.experts);
        rows.push_back(measure(moe_writer(words, stacks, size).write(), repetitions));
        print(rows.back(), "");
        points.emplace_back(rows.back().found.source_keys, rows.back().seconds.sum());
    }
    double const exponent = growth_exponent(points);
    for (std::size_t i = first; i < rows.size(); ++i)
        rows[i].exponent = exponent;
    std::printf("%s: the time grows as the number of source keys to the power of %.2f\n",
                name.c_str(), exponent);
}

/// Measures the requested programs. False if a number or a text differs from the known one.
bool run(options const& chosen) {
    std::vector<aoa_measurement> rows;
    bool all_as_expected = true;
    std::printf("program             statements  sources   pieces  parse ms    expand     lower"
                "     query       all  B / piece\n");
    for (aoa_entry const& entry : all_aoa_jobs) {
        if (chosen.program != "all" && chosen.program != entry.name)
            continue;
        aoa_job const job = entry.write(entry.name);
        rows.push_back(measure(job, chosen.repeat));
        bool const is_as_expected = entry.is_as_expected(job, rows.back().found);
        print(rows.back(), is_as_expected ? "as expected" : "NOT AS EXPECTED");
        all_as_expected = all_as_expected && is_as_expected;
    }
    if (chosen.program == "all" || chosen.program == "growth") {
        measure_growth("moe-rename", false, chosen.repeat, rows);
        measure_growth("moe-concat", true, chosen.repeat, rows);
    }
    std::vector<std::string> objects;
    for (aoa_measurement const& m : rows)
        objects.push_back(to_json(m));
    if (!chosen.json.empty())
        write_json_list(chosen.json, objects);
    return all_as_expected;
}

} // namespace

int main(int count, char** words) try {
    CLI::App program("Measures how long compiling AOA programs takes, and checks their results.");
    options chosen;
    try {
        chosen = read(program, count, words);
    } catch (CLI::ParseError const& problem) {
        return program.exit(problem);
    }
    keep_freed_memory();
    return run(chosen) ? 0 : 1;
} catch (std::exception const& problem) {
    std::fprintf(stderr, "aoa: %s\n", problem.what());
    return 1;
}
