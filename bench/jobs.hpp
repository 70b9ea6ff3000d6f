// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_JOBS_HPP
#define RESHARD_BENCH_JOBS_HPP

#include "model_layout.hpp"

#include <cstddef>
#include <string_view>

/// \file
/// The planning jobs: models that move from one layout to another, and their known figures.

namespace bench {

using reshard::holder_t;

/// The figures of a plan for all ranks. An independent program has counted them over all pairs of
/// boxes.
///
/// \par Units pieces: the main copies of the source's shards, and all shards of the target that are
///            not empty
struct job_numbers {
    std::size_t source_pieces = 0;
    std::size_t target_pieces = 0;
    std::size_t transfers = 0;
    index_t bytes = 0;

    bool operator==(job_numbers const&) const = default;
};

/// A planning job: a model, and its parallelism on both sides.
struct job {
    std::string_view name;
    model const* moved;
    parallelism source;
    parallelism target;
    job_numbers expected;
};

inline constexpr job all_jobs[] = {
    {"A",
     &llama3_8b,
     {.fully_sharded = 64},
     {.fully_sharded = 48},
     {18624, 13904, 31726, 16060522496}},
    {"B",
     &llama3_70b,
     {.tensor = 4, .pipeline = 4, .data = 2},
     {.tensor = 8, .pipeline = 2, .data = 2},
     {2409, 11568, 11568, 282251755520}},
    {"C",
     &llama3_405b,
     {.tensor = 8, .pipeline = 8, .data = 4},
     {.fully_sharded = 512},
     {7325, 582142, 1485324, 811706777600}},
    {"C2",
     &llama3_405b,
     {.fully_sharded = 512},
     {.tensor = 8, .pipeline = 2},
     {582142, 9096, 2392076, 811764809728}},
    {"D",
     &qwen3_235b,
     {.tensor = 4, .pipeline = 16, .expert = 8, .data = 4},
     {.tensor = 8, .expert = 8},
     {38079, 42888, 42888, 471676936192}},
    {"E",
     &deepseek_v3,
     {.tensor = 2, .pipeline = 16, .expert = 64, .data = 32},
     {.tensor = 16, .expert = 16},
     {46559, 59248, 59248, 1403500937216}},
    {"F", &llama3_8b, {}, {.tensor = 16}, {291, 4656, 4656, 16605380608}},
    {"G",
     &llama3_405b,
     {.fully_sharded = 512},
     {.fully_sharded = 384},
     {582142, 424762, 955228, 811706777600}},
};

/// Layouts with more and more ranks. Each rank gets the same bytes, but from more senders.
///
/// A rank in the middle of the target plans its share of 405 billion parameters. Each source rank
/// has some rows, or a slice, of every tensor.
struct scale_job {
    std::string_view name;
    index_t ranks;
    bool in_slices = false;

    parallelism source() const { return {.fully_sharded = ranks, .in_slices = in_slices}; }
    parallelism target() const { return {.tensor = 8, .pipeline = 16, .data = ranks / 128}; }
    holder_t middle() const { return static_cast<holder_t>(target().ranks() / 2); }
};

inline constexpr scale_job scale_jobs[] = {
    {"1k", 1'000},          {"10k", 10'000},          {"100k", 100'000},
    {"1k/z3", 1'000, true}, {"10k/z3", 10'000, true}, {"100k/z3", 100'000, true}};

} // namespace bench

#endif
