// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard.hpp>
#include <reshard/mpi.hpp>
#include <reshard/storage.hpp>

#include <boost/mpi/environment.hpp>

#include <filesystem>
#include <iostream>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

// Five ways to influence the content of a checkpoint, in a few lines each: other names, other
// values, another writing rank, additional texts, and tensors that get their memory when they are
// loaded. Run it on two ranks.

namespace {

using namespace reshard;

tensor_view view_of(std::vector<float>& elements) {
    return {elements.data(), data_type::f32, {static_cast<index_t>(elements.size())}, {1}};
}

/// Loads each target tensor from the stored tensor whose name has `prefix` in front, and converts
/// it.
any_program from_names_with(std::string const& prefix) {
    return [prefix](catalog const& stored, catalog const* wanted) {
        mapping program(stored);
        for (catalog_entry const& entry : *wanted) {
            catalog_entry const& from = *stored.find(prefix + entry.key);
            program.define(entry.key,
                           cast(program.source(from.key, from.shape, from.dtype), entry.dtype));
        }
        return program;
    };
}

/// A tensor that the files store as bfloat16.
deferred_tensor as_bfloat16(std::string const& key, tensor_view const& tensor) {
    auto const build = [](std::string const& name, tensor_view const& from) {
        auto const memory = std::make_shared<std::vector<bfloat16>>(
            static_cast<std::size_t>(element_count(from.shape)));
        deferred_tensor::built built{.shards = {}, .memory = memory};
        built.shards.add(replicated("model." + name, data_type::bf16, from.shape),
                         tensor_view{memory->data(), data_type::bf16, from.shape, from.strides});
        state_dict have;
        have.add(replicated(name, from.dtype, from.shape), from);
        mapping converted;
        converted.define("model." + name,
                         cast(converted.source(name, from.shape, from.dtype), data_type::bf16));
        redistribute(solo(), have, built.shards, {.program = converted});
        return built;
    };
    return {key, tensor, {build}};
}

/// A tensor that gets its memory only when it is loaded; its elements are then in `elements`.
deferred_tensor not_yet_there(std::string const& key, index_vector const& shape,
                              std::vector<float>& elements) {
    auto const build = [&elements](std::string const& name, tensor_view const& wanted) {
        elements.resize(static_cast<std::size_t>(element_count(wanted.shape)));
        deferred_tensor::built built;
        built.shards.add(replicated(name, wanted.dtype, wanted.shape), view_of(elements));
        return built;
    };
    return {key, {nullptr, data_type::f32, shape, row_major_strides(shape)}, {build}};
}

} // namespace

int main(int argc, char** argv) {
    boost::mpi::environment const environment(argc, argv);
    mpi_group const ranks = boost::mpi::communicator();
    auto const path = std::filesystem::temp_directory_path() / "reshard-06-checkpoint";

    // Both ranks have the same tensor. The files store it under another name and as another type.
    std::vector<float> weight(4);
    std::iota(weight.begin(), weight.end(), 1.0f);
    model_state const state{{"weight", as_bfloat16("weight", view_of(weight))}};

    // The last rank that has a tensor writes it. The names of the files contain this rank.
    save_state(ranks, state, path,
               {.writing = {.replace = true,
                            .texts = {{"author", "an example"}},
                            .writer = [](std::string const&, index_t,
                                         std::vector<holder_t> const& holders) {
                                return holders.back();
                            }}});
    checkpoint const saved = open_checkpoint(ranks, path);
    bool is_right =
        saved.metadata().metadata.at("author") == "an example" &&
        saved.file_names().front().ends_with("shard-00002-model-00001-of-00001.safetensors");

    // Loads it as it was: under its own name, as float.
    std::vector<float> loaded(4);
    state_dict want;
    want.add(replicated("weight", data_type::f32, {4}), view_of(loaded));
    load(ranks, saved, want, {.program = from_names_with("model.")});
    is_right = is_right && loaded == weight;

    // Loads it into memory that did not exist before.
    std::vector<float> late;
    model_state later{{"weight", not_yet_there("weight", {4}, late)}};
    load_state(ranks, saved, later, {.program = from_names_with("model.")});
    is_right = is_right && late == weight;

    if (ranks.rank() == 0)
        std::cout << (is_right ? "All five took effect.\n" : "This is wrong.\n");
    return is_right ? 0 : 1;
}
