// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard.hpp>
#include <reshard/aoa.hpp>
#include <reshard/expr/explain.hpp>
#include <reshard/format/layout_file.hpp>
#include <reshard/layout/holders_of.hpp>
#include <reshard/layout/layout_of.hpp>
#include <reshard/layout/shards_of.hpp>
#include <reshard/model.hpp>

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

// The quotes of the pages of doc/frameworks/: layouts of other frameworks, in C++ and as files of
// test/data/layouts. The expectations are worked out by hand from those frameworks' rules;
// PyTorch's are compared with PyTorch itself in test/unit/format/torch_layouts.cpp.

namespace {

int failures = 0;

void expect_equal(std::string const& match, std::string const& expected,
                  char const* noun) {
    if (match == expected)
        return;
    std::cout << noun << ": found    " << match << "\n    expected " << expected
              << '\n';
    ++failures;
}

/// The shards of a tensor on each rank, as `0[0:2, 0:4] 1[2:4, 0:4]`; `/a:b` after it is a flat
/// range.
std::string text_of(reshard::layout const& layout, std::string const& key,
                    reshard::holder_t ranks) {
    std::string text;
    for (reshard::holder_t rank = 0; rank < ranks; ++rank)
        for (reshard::shard_descriptor const& shard : shards_of(layout, rank)) {
            if (shard.key != key)
                continue;
            text += (text.empty() ? "" : " ") + std::to_string(rank) +
                    to_string(shard.region);
            if (shard.flat)
                text += "/" + to_string(*shard.flat);
        }
    return text;
}

reshard::catalog_entry entry(std::string const& key,
                             reshard::index_vector const& shape) {
    reshard::catalog_entry result;
    result.key = key;
    result.shape = shape;
    result.parts = reshard::index_vector(shape);
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
        result.parts[axis] = 1;
    result.dtype = reshard::data_type::f32;
    return result;
}

std::string text_of(std::string const& file,
                    reshard::catalog_entry const& tensor) {
    auto const table = reshard::detail::table_of(
        reshard::detail::read_layout_file(std::string(RESHARD_TEST_DATA) +
                                          "/layouts/" + file),
        reshard::catalog(std::vector<reshard::catalog_entry>{tensor}));
    std::string text;
    for (auto const& row : table.rows)
        for (std::size_t i = 0; row.key == tensor.key && i < row.shards.size();
             ++i) {
            text += (text.empty() ? "" : " ") +
                    std::to_string(row.shards.holder(i)) +
                    reshard::to_string(row.shards.region(i));
            if (row.shards.flat(i))
                text += "/" + to_string(*row.shards.flat(i));
        }
    return text;
}

void pytorch() {
    // [dtensor]
    // DTensor with placements [Replicate(), Shard(0)] on a mesh of 2 x 3, shape [7, 2].
    reshard::mesh const ranks{{"dp", 2}, {"tp", 3}};
    reshard::distribution const dtensor(
        ranks, {reshard::replicate{}, reshard::shard{0}}, {7, 2});
    // [/dtensor]
    // [fsdp2]
    // fully_shard on a mesh of 4: rows, rounded up.
    reshard::distribution const fsdp = reshard::model::fully_shard(
        {reshard::mesh{{"dp", 4}}, {reshard::replicate{}}, {10, 2}}, "dp");
    // fully_shard of what ColwiseParallel has cut along the same axis.
    reshard::distribution const both =
        reshard::model::fully_shard({reshard::mesh{{"dp", 2}, {"tp", 2}},
                                     {reshard::replicate{}, reshard::shard{0}},
                                     {8, 2}},
                                    "dp");
    // HSDP: one of two data-parallel axes.
    reshard::distribution const hybrid = reshard::model::fully_shard(
        {reshard::mesh{{"dp_replicate", 2}, {"dp_shard", 2}},
         {reshard::replicate{}, reshard::replicate{}},
         {4, 2}},
        "dp_shard");
    reshard::layout const layout =
        reshard::layout_of({sharding_of("a", reshard::data_type::bf16, fsdp),
                            sharding_of("b", reshard::data_type::bf16, both),
                            sharding_of("c", reshard::data_type::bf16, hybrid)});
    // [/fsdp2]
    expect_equal(text_of(layout, "a", 4),
                 "0[0:3, 0:2] 1[3:6, 0:2] 2[6:9, 0:2] 3[9:10, 0:2]", "fsdp2");
    expect_equal(text_of(layout, "b", 4),
                 "0[0:2, 0:2] 1[4:6, 0:2] 2[2:4, 0:2] 3[6:8, 0:2]",
                 "fsdp2 over tensor parallelism");
    expect_equal(text_of(layout, "c", 4),
                 "0[0:2, 0:2] 1[2:4, 0:2] 2[0:2, 0:2] 3[2:4, 0:2]", "hsdp");
    expect_equal(to_string(*dtensor.region(2)), "[6:7, 0:2]", "dtensor");
    // The files give the same.
    expect_equal(text_of("fsdp2.json", entry("a", {10, 2})),
                 text_of(layout, "a", 4), "fsdp2.json");
    expect_equal(text_of("hsdp.json", entry("c", {4, 2})),
                 text_of(layout, "c", 4), "hsdp.json");
    expect_equal(text_of("fsdp2_rowwise.json", entry("m.o_proj.weight", {5, 6})),
                 "0[0:3, 0:3] 1[0:3, 3:6] 2[3:5, 0:3] 3[3:5, 3:6]",
                 "fsdp2_rowwise.json");
}

void megatron() {
    // [megatron]
    namespace model = reshard::model;
    // 4 query heads and 2 key heads of size 2, hidden size 4, 6 rows of gate and of up; 2 layers.
    model::parallel_job const job({.tp = 2, .dp = 2, .pp = 2},
                                  model::even_pipeline(2, 2));
    auto const shardings = std::vector{
        reshard::sharding_of(
            {.key = "decoder.layers.1.self_attention.linear_qkv.weight",
             .shape = {16, 4},
             .cut = model::fused_qkv_cut(4, 2),
             .stage = model::on_layer(1)},
            job),
        reshard::sharding_of(
            {.key = "decoder.layers.1.self_attention.linear_proj.weight",
             .shape = {4, 8},
             .cut = model::row_parallel(),
             .stage = model::on_layer(1)},
            job),
        reshard::sharding_of({.key = "decoder.layers.1.mlp.linear_fc1.weight",
                              .shape = {12, 4},
                              .cut = model::fused_gate_up(),
                              .stage = model::on_layer(1)},
                             job),
        reshard::sharding_of({.key = "embedding.word_embeddings.weight",
                              .shape = {10, 4},
                              .cut = model::vocabulary_parallel(
                                  model::padded_vocabulary(10, 4, 2)),
                              .stage = model::on_first_stage()},
                             job)};
    // The distributed optimizer: a master weight and two moments, in slices of buckets.
    auto const state =
        model::states_of(model::shard_buffers(shardings, model::megatron_buckets),
                         model::megatron_states());
    // [/megatron]
    // [one_bucket]
    auto const one_bucket = [](reshard::index_t ranks) {
        model::buffer_rules rules = model::megatron_buckets(ranks);
        rules.target = 0;
        return rules;
    };
    auto const in_one_bucket = model::shard_buffers(shardings, one_bucket);
    // [/one_bucket]
    expect_equal(std::to_string(in_one_bucket.size()), "4", "one bucket");
    reshard::layout const layout = reshard::layout_of(shardings);
    // Ranks 4 to 7 are the second stage; tensor-parallel ranks are neighbours.
    expect_equal(
        text_of(layout, "decoder.layers.1.self_attention.linear_qkv.weight", 8),
        "4[0:8, 0:4] 5[8:16, 0:4] 6[0:8, 0:4] 7[8:16, 0:4]", "linear_qkv");
    expect_equal(
        text_of(layout, "decoder.layers.1.self_attention.linear_proj.weight", 8),
        "4[0:4, 0:4] 5[0:4, 4:8] 6[0:4, 0:4] 7[0:4, 4:8]", "linear_proj");
    expect_equal(text_of(layout, "decoder.layers.1.mlp.linear_fc1.weight", 5),
                 "4[0:3, 0:4] 4[6:9, 0:4]", "linear_fc1: gate, then up");
    // 10 words are padded to 16, of which a rank has 8; the padding is nobody's.
    expect_equal(text_of(layout, "embedding.word_embeddings.weight", 8),
                 "0[0:8, 0:4] 1[8:10, 0:4] 2[0:8, 0:4] 3[8:10, 0:4]",
                 "word_embeddings");
    expect_equal(std::to_string(state.size()), "12", "state");
    expect_equal(
        text_of(
            "megatron.json",
            entry("decoder.layers.1.self_attention.linear_qkv.weight", {16, 4})),
        text_of(layout, "decoder.layers.1.self_attention.linear_qkv.weight", 8),
        "megatron.json: linear_qkv");
}

std::string text_of_file(std::string const& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// The program of the page, over a model of one layer whose target two ranks cut.
void megatron_program() {
    std::string const from = "model.layers.0.";
    std::string const to = "decoder.layers.0.";
    reshard::catalog const source(std::vector<reshard::catalog_entry>{
        entry("model.embed_tokens.weight", {10, 4}),
        entry(from + "input_layernorm.weight", {4}),
        entry(from + "self_attn.q_proj.weight", {8, 4}),
        entry(from + "self_attn.k_proj.weight", {4, 4}),
        entry(from + "self_attn.v_proj.weight", {4, 4}),
        entry(from + "self_attn.o_proj.weight", {4, 8}),
        entry(from + "post_attention_layernorm.weight", {4}),
        entry(from + "mlp.gate_proj.weight", {6, 4}),
        entry(from + "mlp.up_proj.weight", {6, 4}),
        entry(from + "mlp.down_proj.weight", {4, 6}),
        entry("model.norm.weight", {4}), entry("lm_head.weight", {10, 4})});
    std::vector<reshard::tensor_sharding> wanted;
    auto const want = [&](std::string const& key,
                          reshard::index_vector const& shape,
                          reshard::placement placement) {
        wanted.push_back(
            sharding_of(key, reshard::data_type::f32,
                        {reshard::mesh{{"tp", 2}}, {placement}, shape}));
    };
    want("embedding.word_embeddings.weight", {10, 4}, reshard::shard{0});
    want(to + "self_attention.linear_qkv.layer_norm_weight", {4},
         reshard::replicate{});
    want(to + "self_attention.linear_qkv.weight", {16, 4}, reshard::shard{0});
    want(to + "self_attention.linear_proj.weight", {4, 8}, reshard::shard{1});
    want(to + "mlp.linear_fc1.layer_norm_weight", {4}, reshard::replicate{});
    want(to + "mlp.linear_fc1.weight", {12, 4}, reshard::shard{0});
    want(to + "mlp.linear_fc2.weight", {4, 6}, reshard::shard{1});
    want("decoder.final_layernorm.weight", {4}, reshard::replicate{});
    want("output_layer.weight", {10, 4}, reshard::shard{0});
    reshard::catalog const target = catalog_of(layout_of(wanted));
    reshard::mapping const program = mapping_of(
        reshard::aoa::parse(text_of_file(RESHARD_TEST_DOC "/megatron.aoa"),
                            "megatron.aoa"),
        source, &target);

    /// The source of each row, as `q0`, by the first letter of its name and its row there.
    auto const rows_of = [&](std::string const& key, reshard::index_t rows) {
        std::vector<std::string> names(static_cast<std::size_t>(rows));
        for (reshard::piece const& each : explain(program, key))
            for (reshard::index_t i = 0; i < each.target_box().shape[0]; ++i) {
                std::string const name(program.sources()[each.source].key);
                std::size_t const dot = name.find('.', from.size()) + 1;
                names[static_cast<std::size_t>(each.target_box().offset[0] + i)] =
                    name[dot] + std::to_string(each.source_box().offset[0] + i);
            }
        std::string text;
        for (std::string const& name : names)
            text += (text.empty() ? "" : " ") + name;
        return text;
    };
    // A group has two query heads of two rows, a key and a value.
    expect_equal(rows_of(to + "self_attention.linear_qkv.weight", 16),
                 "q0 q1 q2 q3 k0 k1 v0 v1 q4 q5 q6 q7 k2 k3 v2 v3",
                 "megatron.aoa: linear_qkv");
    // Each of the two ranks has its half of the gate, then its half of the up.
    expect_equal(rows_of(to + "mlp.linear_fc1.weight", 12),
                 "g0 g1 g2 u0 u1 u2 g3 g4 g5 u3 u4 u5",
                 "megatron.aoa: linear_fc1");
}

void deepspeed() {
    // [deepspeed]
    namespace model = reshard::model;
    model::parallel_job const job({.dp = 2});
    auto const parameters = std::vector{
        reshard::sharding_of({.key = "model.norm.weight", .shape = {7}}, job),
        reshard::sharding_of({.key = "model.up.weight", .shape = {2, 2}}, job)};
    // Stage 3: each parameter in equal slices, the last one shorter.
    auto const stage_3 = model::shard_slices(parameters);
    // Stages 1 and 2: state in slices of one buffer that ends at a multiple of twice the ranks.
    auto const buffer = [](reshard::index_t ranks) {
        return model::buffer_rules{1, 2 * ranks};
    };
    auto const stage_1 = model::states_of(
        model::shard_buffers(parameters, buffer), model::torch_states());
    // [/deepspeed]
    reshard::layout const third = reshard::layout_of(stage_3);
    expect_equal(text_of(third, "model.norm.weight", 2), "0[0:7]/0:4 1[0:7]/4:7",
                 "stage 3");
    // 7 + 4 elements are padded to 12: a rank has 6 of them.
    reshard::layout const first =
        layout_of(model::shard_buffers(parameters, buffer));
    expect_equal(text_of(first, "model.norm.weight", 2), "0[0:7]/0:6 1[0:7]/6:7",
                 "stage 1");
    expect_equal(text_of(first, "model.up.weight", 2), "1[0:2, 0:2]/0:4",
                 "stage 1: the second");
    expect_equal(text_of("deepspeed_zero3.json", entry("model.norm.weight", {7})),
                 text_of(third, "model.norm.weight", 2), "deepspeed_zero3.json");
}

void paddle() {
    // [paddle]
    namespace model = reshard::model;
    model::parallel_job const job({.tp = 2, .dp = 2});
    auto const order =
        model::weight_order::in_out; // as PaddlePaddle stores weights
    auto const parameters =
        std::vector{reshard::sharding_of({.key = "layers.0.up_gate_proj.weight",
                                          .shape = {4, 12},
                                          .cut = model::column_parallel(order)},
                                         job),
                    reshard::sharding_of({.key = "layers.0.down_proj.weight",
                                          .shape = {6, 4},
                                          .cut = model::row_parallel(order)},
                                         job)};
    auto const sharding_v1 = model::shard_whole(parameters);
    auto const sharding_v2 =
        model::shard_buffers(parameters, [](reshard::index_t ranks) {
            return model::buffer_rules{4, 4 * ranks};
        });
    auto const stage_3 = model::shard_slices(parameters);
    auto const state = model::states_of(sharding_v2, model::paddle_states());
    // [/paddle]
    reshard::layout const layout = reshard::layout_of(parameters);
    expect_equal(text_of(layout, "layers.0.up_gate_proj.weight", 4),
                 "0[0:4, 0:6] 1[0:4, 6:12] 2[0:4, 0:6] 3[0:4, 6:12]",
                 "column parallel");
    expect_equal(
        text_of("paddle.json", entry("layers.0.up_gate_proj.weight", {4, 12})),
        text_of(layout, "layers.0.up_gate_proj.weight", 4), "paddle.json");
    expect_equal(
        text_of(reshard::layout_of(sharding_v1), "layers.0.down_proj.weight", 4),
        "2[0:3, 0:4] 3[3:6, 0:4]",
        "sharding V1: the smaller one goes to the second");
    // 24 and 12 elements of a tensor-parallel rank make a buffer of 40: 20 each.
    expect_equal(
        text_of(layout_of(sharding_v2), "layers.0.up_gate_proj.weight", 4),
        "0[0:4, 0:6]/0:20 1[0:4, 6:12]/0:20 2[0:4, 0:6]/20:24 3[0:4, 6:12]/20:24",
        "sharding V2");
    expect_equal(text_of(layout_of(stage_3), "layers.0.down_proj.weight", 2),
                 "0[0:3, 0:4]/0:6 1[3:6, 0:4]/0:6", "stage 3");
}

/// What doc/model-layouts.md begins with.
void model_layouts() {
    // [model_layouts]
    namespace model = reshard::model;
    model::parallel_job const job({.tp = 8, .dp = 4, .pp = 16},
                                  model::uneven_pipeline(126, 16));
    reshard::tensor_sharding const q =
        reshard::sharding_of({.key = "model.layers.7.self_attn.q_proj.weight",
                              .shape = {16384, 16384},
                              .cut = model::column_parallel(),
                              .stage = model::on_layer(7)},
                             job);
    // Rows 6144 to 8191.
    auto const on_rank_3 = shards_of(q, 3);
    // Who holds row 0: ranks 0, 8, 16 and 24; the first of them: rank 0.
    reshard::box const row_0{{0, 0}, {1, 16384}};
    auto const of_row_0 = holders_of(q, row_0);
    auto const main_of_row_0 = holders_of(q, row_0, reshard::copies::main);
    // What planning asks for.
    auto const shardings = reshard::layout_of({q});
    // [/model_layouts]
    expect_equal(to_string(on_rank_3.at(0).region), "[6144:8192, 0:16384]",
                 "rank 3");
    auto const listed = [](std::vector<reshard::holder_t> const& ranks) {
        std::string text;
        for (reshard::holder_t rank : ranks)
            text += std::to_string(rank) + " ";
        return text;
    };
    expect_equal(listed(of_row_0), "0 8 16 24 ", "who holds row 0");
    expect_equal(listed(main_of_row_0), "0 ", "the main one");
    expect_equal(text_of(shardings, q.key, 1), "0[0:2048, 0:16384]",
                 "as a layout");
    auto const parameters = std::vector{q};
    // [model_states]
    auto const state = model::states_of(
        model::shard_buffers(parameters, model::megatron_buckets),
        model::megatron_states());
    // [/model_states]
    expect_equal(std::to_string(state.size()), "3",
                 "two moments and a master weight");
}

/// The program of doc/guide/transform.md, over a model of one layer.
void transform_program() {
    std::string const from = "model.layers.0.self_attn.";
    reshard::catalog const source(std::vector<reshard::catalog_entry>{
        entry(from + "q_proj.weight", {32, 4}),
        entry(from + "k_proj.weight", {8, 4}),
        entry(from + "v_proj.weight", {8, 4}), entry("model.norm.weight", {4}),
        entry("lm_head.weight", {10, 4})});
    reshard::catalog const target(std::vector<reshard::catalog_entry>{
        entry("layers.0.qkv.weight", {4, 48}), entry("norm.weight", {4})});
    reshard::mapping const program = mapping_of(
        reshard::aoa::parse(text_of_file(RESHARD_TEST_DOC "/transform.aoa"),
                            "transform.aoa"),
        source, &target);
    std::string
        columns; // of the first row: the first of four query heads, its key, its value
    for (reshard::piece const& each :
         explain(program, "layers.0.qkv.weight", reshard::box{{0, 3}, {1, 3}}))
        columns += std::string(program.sources()[each.source].key)
                       .substr(from.size(), 1) +
                   std::to_string(each.source_box().offset[0]) + " ";
    expect_equal(columns, "q3 k0 v0 ", "transform.aoa");
}

/// The number of rows that a process has, by the formula of ScaLAPACK's NUMROC.
reshard::index_t numroc(reshard::index_t n, reshard::index_t block,
                        reshard::index_t process, reshard::index_t processes) {
    reshard::index_t const blocks = n / block;
    reshard::index_t const extra = blocks % processes;
    reshard::index_t const whole_blocks = blocks / processes * block;
    return whole_blocks + (process < extra    ? block
                           : process == extra ? n % block
                                              : 0);
}

void scalapack() {
    // [scalapack]
    // Grid 2 x 2, row by row, blocks of 4 x 4, a 10 x 6 matrix. BLACS grids that are made column by
    // column ("Col") are {{"q", 2}, {"p", 2}}.
    reshard::distribution const matrix(
        reshard::mesh{{"p", 2}, {"q", 2}},
        {reshard::block_cyclic{0, 4}, reshard::block_cyclic{1, 4}}, {10, 6});
    // [/scalapack]
    reshard::layout const layout =
        reshard::layout_of({sharding_of("A", reshard::data_type::f64, matrix)});
    for (reshard::holder_t rank = 0; rank < 4; ++rank)
        expect_equal(reshard::to_string(reshard::local_shape(
                         reshard::shards_of(layout, rank).front())),
                     reshard::to_string(reshard::index_vector{
                         numroc(10, 4, rank / 2, 2), numroc(6, 4, rank % 2, 2)}),
                     "numroc");
    expect_equal(text_of("scalapack.json", entry("A", {10, 6})),
                 text_of(layout, "A", 4), "scalapack.json");
    for (reshard::index_t n : {0, 1, 7, 8, 9, 23})
        for (reshard::index_t block : {1, 3, 8})
            for (reshard::index_t processes : {1, 2, 5})
                for (reshard::index_t rank = 0; rank < processes; ++rank) {
                    reshard::distribution const line(
                        reshard::mesh{{"p", processes}},
                        {reshard::block_cyclic{0, block}}, {n});
                    auto const shards = reshard::shards_of(
                        reshard::layout_of({reshard::sharding_of(
                            "A", reshard::data_type::f64, line)}),
                        rank);
                    reshard::index_t const rows =
                        shards.empty() ? 0
                                       : reshard::local_shape(shards.front())[0];
                    expect_equal(
                        std::to_string(rows),
                        std::to_string(numroc(n, block, rank, processes)),
                        "numroc");
                }
}

} // namespace

int main() {
    try {
        pytorch();
        megatron();
        megatron_program();
        deepspeed();
        paddle();
        scalapack();
        model_layouts();
        transform_program();
    } catch (reshard::error const& problem) {
        std::cout << problem.what() << '\n';
        ++failures;
    }
    return failures == 0 ? 0 : 1;
}
