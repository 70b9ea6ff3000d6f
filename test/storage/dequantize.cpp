// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/bind/program.hpp>
#include <reshard/layout/equal_shares.hpp>
#include <reshard/storage/convert.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>

#include "shared_directory.hpp"
#include "support/agreed_error.hpp"
#include "support/quantised.hpp"
#include "support/trials.hpp"

#include <boost/test/unit_test.hpp>

#include <fstream>

/// \file
/// Quantised tensors in files times their scales: loaded and converted, from any layout to any.

BOOST_AUTO_TEST_SUITE(storage_dequantize)

namespace {

using namespace reshard;
using namespace reshard::test;

held_shard shard(std::string key, full_matrix const& from, cut_type cut) {
    return {std::move(key), from, cut, world().rank(), world().size()};
}

std::size_t wrong_after_load(checkpoint const& source, full_matrix const& wanted, cut_type cut,
                             options const& options, std::string const& key = "w") {
    held_shard result = shard(key, zeros_like(wanted), cut);
    state_dict want;
    result.add_to(want);
    load(world(), source, want, options);
    return wrong_in(result, wanted);
}

/// A matrix of f32 in a file.
full_matrix matrix_in(std::filesystem::path const& path) {
    checkpoint const file = open_checkpoint(world(), path);
    detail::checkpoint_tensor const& tensor = file.metadata().tensors.front();
    index_vector const shape = tensor.shape;
    std::vector<std::uint32_t> patterns(static_cast<std::size_t>(element_count(shape)));
    state_dict want;
    want.add(replicated(tensor.key, data_type::f32, shape),
             tensor_view{reinterpret_cast<std::byte*>(patterns.data()), data_type::f32, shape,
                         row_major_strides(shape)});
    load(world(), file, want);
    return {data_type::f32, shape, {patterns.begin(), patterns.end()}};
}

/// The program that gives packed numbers the name `w`, and the order of the layer's weights.
std::string program_for(std::string const& key) {
    return key + (key.ends_with(".qweight") ? "^T" : "") + " -> w, dequantize, dtype=\"float32\"\n";
}

} // namespace

BOOST_AUTO_TEST_CASE(packed_tensors_have_the_values_that_their_libraries_compute) {
    int models = 0;
    for (auto const& entry : std::filesystem::directory_iterator(
             std::filesystem::path(RESHARD_TEST_DATA) / "quantised")) {
        if (!entry.is_directory() || entry.path().filename() == "gpt_oss") // it has three axes
            continue;
        ++models;
        full_matrix const wanted = matrix_in(entry.path().string() + ".values.safetensors");
        auto const source =
            open_checkpoint(world(), entry.path(), {.format = {.dequantized = true}});
        for (cut_type const cut : {cut_type::rows, cut_type::columns, cut_type::flat,
                                   cut_type::blocks, cut_type::first_rank, cut_type::copies})
            BOOST_TEST_CONTEXT(entry.path().filename() << ", cut " << static_cast<int>(cut)) {
                any_program const program =
                    aoa::parse(program_for(source.metadata().quantised.decoded.at(0).key));
                BOOST_TEST(wrong_after_load(source, wanted, cut, {.program = program}) == 0u);
            }
    }
    BOOST_TEST(models == 17);
}

BOOST_AUTO_TEST_CASE(every_element_is_the_product_with_its_scale_after_a_load_and_a_conversion) {
    shared_directory const directory;
    for (std::uint32_t seed = 0; seed < test::trials(16, 8); ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            call_of_seed const call(seed);
            held_shard const weights = shard("w", call.weights, call.source),
                             scales = shard("s", call.scales, call.of_scales),
                             number = shard("n", call.number, call.of_scales);
            auto const path = directory / std::to_string(seed);
            save(world(), state_of({&weights, &scales, &number}), path);
            auto const source = open_checkpoint(world(), path);
            BOOST_TEST(
                wrong_after_load(source, call.wanted, call.target, {.program = call.made()}) == 0u);
            auto const converted = directory / (std::to_string(seed) + "made");
            convert_options options;
            options.program = call.made();
            options.memory_budget = 1;
            convert(world(), source, converted, options);
            BOOST_TEST(wrong_after_load(open_checkpoint(world(), converted), call.wanted,
                                        call.target, {}) == 0u);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_load_and_a_conversion_quantize_as_the_whole_tensor_is_quantised) {
    shared_directory const directory;
    for (std::uint32_t seed = 0; seed < test::trials(24, 12); ++seed)
        BOOST_TEST_CONTEXT("seed " << seed) {
            quantize_of_seed const call(seed);
            auto const held = shards_of(call, world().rank(), world().size());
            auto const path = directory / ("q" + std::to_string(seed));
            save(world(), state_of(held), path);
            auto const source = open_checkpoint(world(), path);
            auto const converted = directory / ("q" + std::to_string(seed) + "made");
            convert_options options;
            options.program = call.made();
            convert(world(), source, converted, options);
            auto const made = open_checkpoint(world(), converted);
            for (std::size_t which = 0; which < call.wanted.size(); ++which) {
                BOOST_TEST(wrong_after_load(source, call.wanted[which], call.targets[which],
                                            {.program = call.made()}, call.key(which)) == 0u,
                           call.scheme << " which " << which);
                BOOST_TEST(wrong_after_load(made, call.wanted[which], call.targets[which], {},
                                            call.key(which)) == 0u,
                           call.scheme << " which " << which);
            }
        }
}

BOOST_AUTO_TEST_CASE(blocks_of_a_configuration_beside_the_files_decide) {
    // 100 rows with 2 scales: blocks of 64, or of 50 as the configuration says.
    full_matrix const weights{data_type::f8_e4m3, {100, 2}, std::vector<std::uint64_t>(200, 0x38)};
    full_matrix const scales{data_type::f32, {2, 1}, {0x3f800000, 0x40000000}};
    full_matrix const wanted = dequantized_by_hand(weights, scales, 50, 0, data_type::bf16);
    shared_directory const directory;
    held_shard const w = shard("w", weights, cut_type::rows),
                     s = shard("w_scale_inv", scales, cut_type::rows);
    save_options as_huggingface;
    as_huggingface.form = save_form::huggingface;
    save(world(), state_of({&w, &s}), directory / "a", as_huggingface);
    on_first_rank([&] {
        std::ofstream(directory / "a" / "config.json")
            << R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [50, 2]}})";
    });
    any_program const program = aoa::parse("w -> w, dequantize\n");
    BOOST_TEST(wrong_after_load(open_checkpoint(world(), directory / "a"), wanted, cut_type::rows,
                                {.program = program}) == 0u);
    convert_options options;
    options.program = program;
    convert(world(), open_checkpoint(world(), directory / "a"), directory / "b", options);
    BOOST_TEST(wrong_after_load(open_checkpoint(world(), directory / "b"), wanted, cut_type::flat,
                                {}) == 0u);
}

BOOST_AUTO_TEST_CASE(a_checkpoint_without_the_scales_is_refused) {
    call_of_seed const call(1);
    shared_directory const directory;
    held_shard const weights = shard("w", call.weights, cut_type::rows),
                     other = shard("a", call.number, cut_type::rows);
    save(world(), state_of({&weights, &other}), directory / "a");
    auto const source = open_checkpoint(world(), directory / "a");
    convert_options options;
    options.program = call.made();
    for (auto const& text :
         {agreed_error(boost::mpi::communicator(),
                       [&] {
                           static_cast<void>(wrong_after_load(source, call.wanted, cut_type::rows,
                                                              {.program = call.made()}));
                       }),
          agreed_error(boost::mpi::communicator(),
                       [&] { convert(world(), source, directory / "b", options); })})
        BOOST_TEST(text.find("'w' is dequantized with 's', which the source does not have") !=
                       text.npos,
                   text);
}

BOOST_AUTO_TEST_CASE(a_save_refuses_to_dequantize) {
    call_of_seed const call(1);
    shared_directory const directory;
    held_shard const weights = shard("w", call.weights, cut_type::rows),
                     scales = shard("s", call.scales, cut_type::rows);
    const_state_dict const have = state_of({&weights, &scales});
    save_options options;
    options.program = call.made();
    auto const text = agreed_error(boost::mpi::communicator(),
                                   [&] { save(world(), have, directory / "a", options); });
    BOOST_TEST(text == "unsupported: 'w': a save cannot dequantize; use load(), convert() or "
                       "redistribute() for that");
    BOOST_TEST(!std::filesystem::exists(directory / "a"));
}

BOOST_AUTO_TEST_SUITE_END()
