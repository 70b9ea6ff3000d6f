// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/bind/program.hpp>
#include <reshard/storage/convert.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>

#include "held.hpp"
#include "shared_directory.hpp"
#include "support/says.hpp"

#include <fstream>
#include <optional>

/// \file
/// Quantised tensors and their scales, of each convention, stay together on every rank.

BOOST_AUTO_TEST_SUITE(storage_scales)

namespace {

using namespace reshard;
using namespace reshard::test;

constexpr index_t units = 16; ///< of the cut tensor, along the axis that is cut

/// A tensor of a convention: how its key ends, and how many elements belong to a unit.
struct stored {
    std::string ending;
    data_type dtype;
    index_vector shape;
    index_t per_unit = 1; ///< 0: every rank has all of it
    std::size_t axis = 0;
};

struct convention {
    std::string name;
    std::vector<stored> tensors; ///< the first one has the others for its scales
    std::string config = "{}";
};

std::string const fp8_config =
    R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [4, 4]}})";

std::vector<convention> conventions() {
    using enum data_type;
    return {
        {"fp8 rows",
         {{".weight", f8_e4m3, {64, 6}, 4}, {".weight_scale_inv", f32, {16, 2}}},
         fp8_config},
        {"fp8 columns",
         {{".weight", f8_e4m3, {6, 64}, 4, 1}, {".weight_scale_inv", f32, {2, 16}, 1, 1}},
         fp8_config},
        {"fp8 without a configuration",
         {{".weight", f8_e4m3, {2048, 2}, 128}, {".weight_scale_inv", f32, {16, 1}}}},
        {"fp8 by channel", {{".weight", f8_e4m3, {16, 4}}, {".weight_scale", f32, {16, 1}}}},
        {"fp8 by tensor",
         {{".weight", f8_e4m3, {16, 4}},
          {".weight_scale", f32, {1}, 0},
          {".input_scale", f32, {1}, 0}}},
        {"fp8 of DeepSeek-V4", {{".weight", f8_e4m3, {2048, 2}, 128}, {".scale", f32, {16, 1}}}},
        {"mxfp8", {{".weight", f8_e4m3, {4, 512}, 32, 1}, {".weight_scale", u8, {4, 16}, 1, 1}}},
        {"mxfp4 rows",
         {{".w_blocks", u8, {2, 16, 3, 16}, 1, 1}, {".w_scales", u8, {2, 16, 3}, 1, 1}}},
        {"mxfp4 columns",
         {{".w_blocks", u8, {2, 3, 16, 16}, 1, 2}, {".w_scales", u8, {2, 3, 16}, 1, 2}}},
        {"nvfp4",
         {{".weight_packed", u8, {4, 128}, 8, 1},
          {".weight_scale", f8_e4m3, {4, 16}, 1, 1},
          {".weight_global_scale", f32, {1}, 0}}},
        {"nvfp4 of ModelOpt",
         {{".weight", u8, {4, 128}, 8, 1},
          {".weight_scale", f8_e4m3, {4, 16}, 1, 1},
          {".weight_scale_2", f32, {1}, 0}}},
        {"awq rows",
         {{".qweight", i32, {128, 2}, 8}, {".qzeros", i32, {16, 2}}, {".scales", f16, {16, 16}}}},
        {"awq columns",
         {{".qweight", i32, {32, 16}, 1, 1},
          {".qzeros", i32, {4, 16}, 1, 1},
          {".scales", f16, {4, 128}, 8, 1}}},
        {"gptq rows",
         {{".qweight", i32, {32, 8}, 2},
          {".scales", f16, {16, 8}},
          {".qzeros", i32, {16, 1}},
          {".g_idx", i32, {256}, 16}},
         R"({"quantization_config": {"quant_method": "gptq", "desc_act": false}})"},
        {"gptq whose g_idx mixes groups",
         {{".qweight", i32, {32, 8}, 2}, {".scales", f16, {16, 8}, 0}, {".g_idx", i32, {256}, 16}}},
        {"gptq columns",
         {{".qweight", i32, {32, 128}, 8, 1},
          {".scales", f16, {4, 128}, 8, 1},
          {".qzeros", i32, {4, 16}, 1, 1},
          {".g_idx", i32, {256}, 0}}},
        {"gptq of 3 bits",
         {{".qweight", i32, {48, 32}, 3}, {".scales", f16, {16, 32}}, {".qzeros", i32, {16, 3}}}},
        {"gptq in an order of its own",
         {{".qweight", i32, {32, 8}, 2}, {".scales", f16, {16, 8}, 0}, {".g_idx", i32, {256}, 16}},
         R"({"quantization_config": {"quant_method": "gptq", "desc_act": true}})"},
        {"compressed-tensors in an order of its own",
         {{".weight_packed", i32, {8, 64}, 4, 1},
          {".weight_scale", bf16, {8, 16}, 0},
          {".weight_g_idx", i32, {512}, 32}},
         R"({"quantization_config": {"config_groups": {"a": {"weights": {"actorder": "group"}}}}})"},
        {"eetq", {{".weight", i8, {4, 16}, 1, 1}, {".weight_scales", f16, {16}}}},
        {"torchao of 8 bits",
         {{"._weight_qdata", f8_e4m3, {16, 4}}, {"._weight_scale", f32, {16, 1}}}},
        {"torchao of 4 bits",
         {{"._weight_qdata", u8, {16, 8}}, {"._weight_scale", bf16, {2, 16}, 0}}},
        {"compressed-tensors",
         {{".weight_packed", i32, {8, 64}, 4, 1},
          {".weight_scale", bf16, {8, 16}, 1, 1},
          {".weight_zero_point", i32, {1, 16}, 1, 1},
          {".weight_shape", i64, {2}, 0}}},
        {"bitsandbytes of 4 bits",
         {{".weight", u8, {512, 1}, 32},
          {".weight.absmax", f32, {16}},
          {".weight.quant_map", f32, {16}, 0},
          {".weight.quant_state.bitsandbytes__nf4", u8, {90}, 0}}},
        {"bitsandbytes of 8 bits", {{".weight", i8, {16, 4}}, {".SCB", f32, {16}}}},
        {"an optimizer of bitsandbytes",
         {{".state1", u8, {16, 512}}, {".absmax1", f32, {32}, 2}, {".max1", f32, {1}, 0}}},
        {"PaddleNLP", {{".quant_weight", i8, {16, 4}}, {".quant_scale", f16, {16}}}},
        {"PaddleNLP of 4 bits", {{".quant_weight", i8, {16, 4}}, {".quant_scale", f16, {32}, 2}}},
        {"TensorRT-LLM",
         {{".weight", f8_e4m3, {16, 4}},
          {".weights_scaling_factor", f32, {1}, 0},
          {".activation_scaling_factor", f32, {1}, 0}}},
        {"AQT", {{"/qvalue", i8, {16, 4}}, {"/scale", f32, {16, 1}}}},
        {"Nunchaku", {{".qweight", i8, {16, 4}}, {".wscales", bf16, {2, 16}, 0}}},
        {"mlx",
         {{".weight", u32, {4, 128}, 8, 1},
          {".scales", bf16, {4, 16}, 1, 1},
          {".biases", bf16, {4, 16}, 1, 1}}},
    };
}

/// A shard of a tensor from one unit to another, of which the cut between them is moved.
shard_descriptor part_of(std::string const& key, stored const& stored, index_t first,
                         index_t last) {
    box region = whole(stored.shape);
    if (stored.per_unit > 0) {
        region.offset[stored.axis] = first;
        region.shape[stored.axis] = last - first;
    }
    return {key, stored.dtype, stored.shape, region, {}};
}

/// The layout if all is cut in equal parts, except one tensor: its cuts are moved into a unit, or
/// it is on the first rank alone.
layout spread(convention const& convention, index_t ranks, std::string const& prefix,
              std::optional<std::size_t> moved = {}) {
    std::vector<std::vector<shard_descriptor>> shards(static_cast<std::size_t>(ranks));
    for (index_t rank = 0; rank < ranks; ++rank)
        for (std::size_t i = 0; i < convention.tensors.size(); ++i) {
            stored const& stored = convention.tensors[i];
            auto const cut = [&](index_t number) {
                bool const is_end = number == 0 || number == ranks;
                index_t const shift = moved == i && !is_end ? (stored.per_unit + 1) / 2 : 0;
                return number * units / ranks * stored.per_unit + shift;
            };
            if (stored.per_unit > 0 || rank == 0 || moved != i)
                shards[static_cast<std::size_t>(rank)].push_back(
                    part_of(prefix + stored.ending, stored, cut(rank), cut(rank + 1)));
        }
    return layout_of(shards);
}

/// A program that renames all tensors of a convention.
aoa::program renaming(convention const& convention) {
    std::string text;
    for (stored const& stored : convention.tensors)
        text += "\"x" + stored.ending + "\" -> \"y" + stored.ending + "\"\n";
    return aoa::parse(text);
}

std::vector<shard_descriptor> whole_tensors(convention const& convention) {
    std::vector<shard_descriptor> tensors;
    for (stored const& stored : convention.tensors)
        tensors.push_back(whole_of("x" + stored.ending, stored.dtype, stored.shape));
    return tensors;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_cut_parts_no_tensor_from_its_scales) {
    for (convention const& convention : conventions()) {
        BOOST_TEST_CONTEXT(convention.name) {
            shared_directory const directory;
            held stored_all(whole_tensors(convention));
            save(world(), stored_all.tensors(), directory / "model");
            on_first_rank(
                [&] { std::ofstream(directory / "model/config.json") << convention.config; });
            auto const source = open_checkpoint(world(), directory / "model");
            for (index_t const ranks : {2, 4, 8}) {
                std::string const location = std::to_string(ranks);
                // Between blocks: every rank has its expected elements.
                layout const sound = spread(convention, ranks, "x"),
                             renamed = spread(convention, ranks, "y");
                convert(world(), source, directory / ("y" + location),
                        {.program = renaming(convention), .wanted = renamed});
                convert(world(), source, directory / ("x" + location), {.wanted = sound});
                auto const checkpoint = open_checkpoint(world(), directory / ("x" + location));
                for (holder_t rank = 0; rank < static_cast<holder_t>(ranks); ++rank) {
                    held want(shards_of(sound, rank));
                    load(world(), checkpoint, want.cleared().tensors());
                    BOOST_TEST(want.wrong() == "");
                }
                // Inside a block, or with scales of other elements.
                for (std::size_t moved = 0; moved < convention.tensors.size(); ++moved) {
                    if (moved == 0 && convention.tensors[1].per_unit == 0)
                        continue; // any cut is right: every rank has all of its scales
                    BOOST_CHECK_EXCEPTION(
                        convert(world(), source, directory / "refused",
                                {.wanted = spread(convention, ranks, "x", moved)}),
                        error,
                        mentions(errc::bad_layout,
                                 "'x" + convention.tensors[0].ending + "': rank "));
                    BOOST_CHECK_EXCEPTION(
                        convert(world(), source, directory / "refused",
                                {.program = renaming(convention),
                                 .wanted = spread(convention, ranks, "y", moved)}),
                        error,
                        mentions(errc::bad_layout,
                                 "'y" + convention.tensors[0].ending + "': rank "));
                }
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
