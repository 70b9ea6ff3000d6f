// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

/// \file
/// Measures how long it takes to redistribute block-cyclic matrices to rows, from rows, and to
/// another grid, for several block sizes, beside MPI's types and `pdgemr2d`. Run it under mpiexec.

#include "cases.hpp"
#include "method_arena.hpp"
#include "method_bound.hpp"
#include "method_private.hpp"
#if RESHARD_BENCH_HAS_SCALAPACK
#include "method_scalapack.hpp"
#endif
#include "method_types.hpp"
#include "mpi_main.hpp"
#include "stage.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace bench;
using exchange = reshard::node_exchange;

struct options {
    std::vector<std::string> cases{"to-rows", "from-rows", "to-grid", "to-64"};
    std::vector<index_t> blocks{1, 2, 4, 8, 16, 64};
    std::vector<std::string> methods;
    index_t mebibytes = 64;
    int repeat = 7;
    std::string json;
};

/// The grid of `ranks` ranks that is nearest to a square.
index_vector square_grid(index_t ranks) {
    index_t columns = 1;
    for (index_t i = 1; i * i <= ranks; ++i)
        if (ranks % i == 0)
            columns = i;
    return {ranks / columns, columns};
}

/// One of the cases, with square blocks of doubles.
redistribution_case case_of(std::string const& name, index_t block, int ranks, index_t mebibytes) {
    index_vector const shape{64 * mebibytes, 2048};
    block_grid const dealt{square_grid(ranks), {block, block}};
    block_grid const rows = blocks(shape, {ranks, 1});
    case_maker const maker(name, ranks, 1);
    if (name == "to-rows")
        return maker.one_tensor(shape, dealt, rows);
    if (name == "from-rows")
        return maker.one_tensor(shape, rows, dealt);
    if (name == "to-64")
        return maker.one_tensor(shape, dealt, {dealt.grid, {64, 64}});
    return maker.one_tensor(shape, dealt, {{1, ranks}, {block, block}});
}

/// Measures the steps of a program before its first run: makes a job, with or without layouts that
/// all ranks know.
class preparation : public method {
public:
    static constexpr bool owns_target = false;
    static std::string refusal(redistribution_case const&) { return {}; }

    preparation(setting const& where, bool gives_layouts)
        : where_(where),
          source_(sources_of(where.moved, where.world.rank(), where.source)),
          target_(targets_of(where.moved, where.world.rank(), where.target)) {
        if (!gives_layouts) {
            source_.layout.reset();
            target_.layout.reset();
        }
    }

    void run() override { ready_ = prepare(where_.world, source_, target_); }

    /// Fills the target, so that it can be checked. This time is not measured.
    void finish() override {
        run_prepared(*ready_);
        ready_.reset();
    }

private:
    setting where_;
    reshard::source_tensors source_;
    reshard::target_tensors target_;
    std::optional<reshard::job> ready_;
};

class types_preparation : public method {
public:
    static constexpr bool owns_target = false;
    static std::string refusal(redistribution_case const&) { return {}; }

    explicit types_preparation(setting const& where) : where_(where) {}

    void run() override { ready_.emplace(where_); }
    void finish() override {
        ready_->run();
        ready_.reset();
    }

private:
    setting where_;
    std::optional<types_method> ready_;
};

/// The methods of this build, without the bound: first runs, then preparations.
std::vector<contestant> all_methods(redistribution_case const& moved) {
    std::optional<reshard::mapping> const names;
    auto const on_node = [](exchange chosen) { return reshard::options{.on_node = chosen}; };
    return {
        contestant_of<types_method>("alltoallw", moved),
#if RESHARD_BENCH_HAS_SCALAPACK
            contestant_of<scalapack_method>("pdgemr2d", moved),
#endif
            contestant_of<private_method>("messages", moved, on_node(exchange::messages)),
            contestant_of<private_method>("rings", moved, on_node(exchange::rings)),
            contestant_of<arena_method>("arena", moved, names),
            contestant_of<types_preparation>("prepare-alltoallw", moved),
            contestant_of<preparation>("prepare-given", moved, true),
            contestant_of<preparation>("prepare-none", moved, false),
    };
}

std::vector<std::string> names_of_methods() {
    std::vector<std::string> names;
    for (contestant const& contestant : all_methods(case_of("to-rows", 1, 1, 1)))
        names.push_back(contestant.name);
    return names;
}

void read(CLI::App& program, int count, char** words, options& chosen) {
    program
        .add_option(
            "--case", chosen.cases,
            "Blocks to rows, rows to blocks, blocks to another grid, blocks to blocks of 64; "
            "all if not given")
        ->check(CLI::IsMember(chosen.cases));
    program.add_option("--block", chosen.blocks, "Rows and columns of a block")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    program
        .add_option("--method", chosen.methods,
                    "Which methods besides b0 and alltoallw; all if not given. prepare-given: "
                    "with both layouts, prepare-none: with none. pdgemr2d needs a build with "
                    "ScaLAPACK")
        ->check(CLI::IsMember(names_of_methods()));
    program.add_option("--mebibytes", chosen.mebibytes, "The size of the matrix")
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
    program.add_option("--repeat", chosen.repeat, "Repetitions, of which the best counts")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    program.add_option("--json", chosen.json, "Write the numbers to this file, too");
    program.parse(count, words);
}

/// The two variants of the bound, MPI's types, and the requested methods.
std::vector<contestant> contestants_of(options const& chosen, redistribution_case const& moved) {
    std::vector<contestant> contestants;
    for (bool const streaming : {false, true}) {
        contestants.push_back(contestant_of<bound_method>("B0", moved, streaming));
        contestants.back().is_bound = true;
    }
    for (contestant& contestant : all_methods(moved))
        if (chosen.methods.empty() || contestant.name.find("alltoallw") != std::string::npos ||
            std::count(chosen.methods.begin(), chosen.methods.end(), contestant.name) > 0)
            contestants.push_back(std::move(contestant));
    return contestants;
}

/// The figures of one method in one case, with the times of the bound and of MPI's types. For a
/// preparation, `types` is the time to prepare MPI's types.
struct row {
    measurement measured;
    index_t block = 0;
    double bound = 0;
    double types = 0;

    std::string to_json() const {
        json_object text;
        return text.add("case", measured.case_name)
            .add("block", block)
            .add("ranks", measured.ranks)
            .add("method", measured.method)
            .add("seconds", measured.best())
            .add("ratio_to_b0", bound / measured.best())
            .add("ratio_to_alltoallw", types / measured.best())
            .add("peak_extra_bytes", measured.peak_extra_bytes)
            .text();
    }

    void print() const {
        std::printf("%-9s  %5lld  %5d  %-17s  %9.2f  %11.2f  %18.2f  %9.1f\n",
                    measured.case_name.c_str(), static_cast<long long>(block), measured.ranks,
                    measured.method.c_str(), measured.best() * 1e3, bound / measured.best(),
                    types / measured.best(),
                    static_cast<double>(measured.peak_extra_bytes) / (1 << 20));
        std::fflush(stdout);
    }
};

double seconds_of(std::vector<measurement> const& results, std::string const& method) {
    return std::find_if(results.begin(), results.end(),
                        [&](measurement const& result) { return result.method == method; })
        ->best();
}

/// Measures one case; false if an element was wrong.
bool measure(boost::mpi::communicator const& world, redistribution_case const& moved, index_t block,
             options const& chosen, std::vector<row>& rows) {
    stage stage(world, moved);
    auto results = stage.measure_warm(contestants_of(chosen, moved), chosen.repeat);
    choose_bound(results);
    results[0].method = "b0";
    double const types = seconds_of(results, "alltoallw");
    double const made_types = seconds_of(results, "prepare-alltoallw");
    for (measurement const& result : results) {
        bool const prepares = result.method.starts_with("prepare");
        rows.push_back({result, block, results[0].best(), prepares ? made_types : types});
        if (world.rank() == 0)
            rows.back().print();
    }
    return boost::mpi::all_reduce(world, stage.all_right(), std::logical_and<bool>());
}

bool run(boost::mpi::communicator const& world, options const& chosen) {
    std::vector<row> rows;
    bool all_right = true;
    warm_up(world);
    if (world.rank() == 0)
        std::printf("case       block  ranks  method               best ms  ratio to B0"
                    "  ratio to Alltoallw  extra MiB\n");
    for (std::string const& name : chosen.cases)
        for (index_t const block : chosen.blocks)
            all_right &= measure(world, case_of(name, block, world.size(), chosen.mebibytes), block,
                                 chosen, rows);
    if (world.rank() == 0 && !chosen.json.empty()) {
        std::vector<std::string> objects;
        for (row const& row : rows)
            objects.push_back(row.to_json());
        write_json_list(chosen.json, objects);
    }
    return all_right;
}

} // namespace

int main(int count, char** words) {
    CLI::App program("Measures block-cyclic matrices over MPI, and checks every element.");
    options chosen;
    return mpi_main("cyclic", program, count, words, [&](boost::mpi::communicator const& world) {
        read(program, count, words, chosen);
        return run(world, chosen) ? 0 : 1;
    });
}
