// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard.hpp>
#include <reshard/mpi.hpp>
#include <reshard/storage.hpp>

#include <boost/mpi/collectives/all_reduce.hpp>
#include <boost/mpi/environment.hpp>
#include <boost/mpi/operations.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include <sys/resource.h>

// Converts a checkpoint to files in a new layout and transposes each matrix. The checkpoint as a
// whole is never in memory:
//
//     mpiexec -n 2 12_convert_within_budget_mpi_2 SOURCE TARGET TP [BUDGET_MIB]
//
// converts your checkpoint, with a budget of 1024 MiB a process unless you give another one.
// Without arguments the program makes a checkpoint of 96 MiB, and converts it with a budget of 8
// MiB.

namespace {

using namespace reshard;

constexpr index_t mib = index_t{1} << 20;
/// The memory that a process needs beyond the budget: a MiB of the source at a time, MPI, metadata.
constexpr index_t allowance = 12 * mib;

// [program]
/// Transposes from [out, in], PyTorch's order for weights, to [in, out], PaddlePaddle's order.
mapping transposed(catalog const& source, catalog const*) {
    mapping program(source);
    for (catalog_entry const& entry : source) {
        expression const tensor = program.source(entry.key, entry.shape, entry.dtype);
        program.define(entry.key, entry.shape.size() == 2 ? transpose(tensor) : tensor);
    }
    return program;
}

/// Each matrix by rows over `tp` ranks; the other tensors are replicated.
layout spread(mapping const& program, index_t tp) {
    std::vector<tensor_sharding> shardings;
    for (auto const& output : program.outputs()) {
        auto const& [shape, dtype, pieces] = output.value;
        placement const placed = shape.size() == 2 ? placement(shard{0}) : placement(replicate{});
        shardings.push_back(sharding_of(output.key, dtype, {{{"tp", tp}}, {placed}, shape}));
    }
    return layout_of(shardings);
}
// [/program]

/// A matrix of any size in little memory: element (i, j) is number 3 * i + j of `memory`.
const_tensor_view slanted(std::vector<float> const& memory, index_vector const& shape) {
    return {memory.data(), data_type::f32, shape, {3, 1}};
}

void make_checkpoint(mpi_group const& ranks, std::filesystem::path const& path) {
    std::vector<float> numbers(65536);
    std::iota(numbers.begin(), numbers.end(), 0.0f);
    const_state_dict have;
    for (auto const& [key, rows] : {std::pair{"embed", 16384}, {"up", 4096}, {"down", 4096}})
        have.add(replicated(key, data_type::f32, {rows, 1024}), slanted(numbers, {rows, 1024}));
    save(ranks, have, path, {.writing = {.replace = true, .sync = false}});
}

/// Whether the shards of the new checkpoint have the elements of the slanted matrices, transposed.
bool is_slanted(mpi_group const& ranks, std::filesystem::path const& path, layout const& wanted) {
    bool is_right = true;
    std::vector<float> memory;
    state_dict want;
    shard_descriptor shard;
    for (auto& each : shards_of(wanted, ranks.rank()))
        if (each.key == "embed") {
            memory.resize(static_cast<std::size_t>(element_count(each.region)));
            want.add(shard = each, tensor_view{memory.data(), data_type::f32, each.region.shape,
                                               row_major_strides(each.region.shape)});
        }
    load(ranks, open_checkpoint(ranks, path), want);
    for (std::size_t i = 0; i < memory.size(); ++i) {
        auto const columns = static_cast<std::size_t>(shard.region.shape[1]);
        auto const row = static_cast<std::size_t>(shard.region.offset[0]) + i / columns;
        is_right = is_right && memory[i] == static_cast<float>(3 * (i % columns) + row);
    }
    return is_right;
}

/// The maximum memory that this process has used so far.
index_t peak_bytes() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return index_t{used.ru_maxrss} * 1024;
}

} // namespace

int main(int argc, char** argv) {
    boost::mpi::environment const environment(argc, argv);
    boost::mpi::communicator const world;
    mpi_group const ranks = world;
    if (argc == 2 || argc == 3) {
        std::cerr << "usage: 12_convert_within_budget_mpi_2 [SOURCE TARGET TP [BUDGET_MIB]]\n";
        return 1;
    }
    bool const is_ours = argc < 4;
    auto const work = std::filesystem::temp_directory_path() / "reshard-12-convert";
    std::filesystem::path const from = is_ours ? work / "source" : argv[1];
    std::filesystem::path const to = is_ours ? work / "target" : argv[2];
    index_t const tp = is_ours ? 2 : std::atoll(argv[3]);
    index_t const budget = mib * (is_ours ? 8 : argc < 5 ? 1024 : std::atoll(argv[4]));
    if (is_ours) {
        std::filesystem::create_directories(work);
        make_checkpoint(ranks, from);
    }

    // [convert]
    checkpoint const source = open_checkpoint(ranks, from);
    layout const wanted = spread(transposed(catalog_of(source), nullptr), tp);

    index_t const peak_before = peak_bytes();
    convert_report const done = convert(
        ranks, source, to, {.program = transposed, .wanted = wanted, .memory_budget = budget});
    index_t const grown =
        boost::mpi::all_reduce(world, peak_bytes() - peak_before, boost::mpi::maximum<index_t>());
    // [/convert]

    index_t const most = std::max(grown, done.peak_extra_bytes);
    if (ranks.rank() == 0)
        std::cout << "A checkpoint of " << done.bytes / mib << " MiB, a budget of " << budget / mib
                  << " MiB: no process needed more than " << most / mib
                  << " MiB beyond what it had.\n";
    bool const is_right = (!is_ours || is_slanted(ranks, to, wanted)) && most <= budget + allowance;
    if (!is_right)
        std::cout << "This is wrong.\n";
    world.barrier();
    if (is_ours && ranks.rank() == 0)
        std::filesystem::remove_all(work);
    return is_right ? 0 : 1;
}
