// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_BENCH_AOA_JOBS_HPP
#define RESHARD_BENCH_AOA_JOBS_HPP

#include "aoa_megatron.hpp"
#include "aoa_transposing.hpp"

#include <cstdint>
#include <string>

/// \file
/// The programs to compile, and their known figures.

namespace bench {

/// The function that writes a job, and the figures that an independent program has counted.
struct aoa_entry {
    char const* name;
    aoa_job (*write)(std::string name);
    aoa_numbers expected;
    std::uint64_t text = 0; ///< `checksum` of the program; 0: not known

    bool is_as_expected(aoa_job const& job, aoa_numbers const& aoa_numbers) const {
        return aoa_numbers == expected && (text == 0 || text == checksum(job.text));
    }
};

/// The job of one published model: its program to Megatron, for tensor parallelism `Tensor`, expert
/// parallelism `Expert` and data parallelism `Data`.
template <model const& Model, index_t Tensor, index_t Expert = 1, index_t Data = 1>
aoa_job write_megatron(std::string name) {
    parallelism const mesh{.tensor = Tensor, .expert = Expert, .data = Data};
    return megatron_writer(std::move(name), Model, mesh).write();
}

inline constexpr aoa_entry all_aoa_jobs[] = {
    {"llama",
     [](std::string) { return llama_writer().write(); },
     {580, 291, 195, 1560, 3096},
     0x25ee9af4e8cabe85},
    {"moe-rename",
     [](std::string name) { return moe_writer(std::move(name), false).write(); },
     {46003, 45395, 45334, 50864, 51352},
     0x420542e77175afb7},
    {"moe-concat",
     [](std::string name) { return moe_writer(std::move(name), true).write(); },
     {75815, 45395, 906, 7248, 51352},
     0x2263af30600dd3b3},
    {"smollm2-135m", write_megatron<smollm2_135m, 3>, {332, 272, 182, 546, 996}},
    {"llama3-8b", write_megatron<llama3_8b, 8>, {355, 291, 195, 1560, 3096}},
    {"llama3-70b", write_megatron<llama3_70b, 8>, {883, 723, 483, 3864, 10264}},
    {"llama3-405b", write_megatron<llama3_405b, 8>, {1389, 1137, 759, 6072, 24216}},
    {"qwen3-235b", write_megatron<qwen3_235b, 4, 8, 2>, {25007, 36945, 24725, 29352, 54168}},
    {"qwen3-30b", write_megatron<qwen3_30b, 4, 8, 2>, {12771, 18867, 12627, 15000, 24600}},
    {"dsv3-671b", write_megatron<deepseek_v3, 8, 8>, {31668, 46183, 31015, 36664, 52264}},
};

/// Sizes of one program, from small to the size of `moe-concat` and `moe-rename`.
inline constexpr moe_size growing_sizes[] = {{8, 32}, {16, 64}, {32, 128}, {61, 256}};

} // namespace bench

#endif
