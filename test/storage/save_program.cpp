// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/lower.hpp>
#include <reshard/aoa/parse.hpp>
#include <reshard/bind/program.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>
#include <reshard/storage/save_async.hpp>

#include "held.hpp"
#include "shared_directory.hpp"
#include "support/agreed_error.hpp"
#include "support/ranks_per_node.hpp"
#include "support/says.hpp"

#include <functional>
#include <string>
#include <vector>

/// \file
/// Tensors that a program makes of the tensors of ranks are saved in one pass.

BOOST_AUTO_TEST_SUITE(storage_save_program)

namespace {

using namespace reshard;
using namespace reshard::test;

boost::test_tools::assertion_result several_ranks(boost::unit_test::test_unit_id) {
    return world().size() > 1;
}

constexpr data_type dtype = data_type::bf16;

/// A layer as Megatron-Core has it with TP 2: 4 heads of 2 in 2 groups, all of width 6. Ranks from
/// 2 on have replicas, and one rank alone has all.
std::vector<shard_descriptor> layer_of_rank() {
    std::vector<shard_descriptor> shards;
    for (index_t part = 0; part < 2; ++part)
        if (world().size() == 1 || world().rank() % 2 == part)
            for (shard_descriptor const& shard :
                 {shard_of("qkv", dtype, {16, 6}, {8 * part, 0}, {8, 6}),
                  shard_of("fc1", dtype, {12, 6}, {6 * part, 0}, {6, 6}),
                  shard_of("proj", dtype, {6, 8}, {0, 4 * part}, {6, 4}),
                  shard_of("vocabulary", dtype, {5, 8}, {0, 4 * part}, {5, 4})})
                shards.push_back(shard);
    shards.push_back(whole_of("norm", dtype, {6}));
    return shards;
}

auto const text = "qkv -> q, k, v, fused_qkv, num_heads=4, num_key_value_groups=2, axis=0\n"
                  "fc1 -> gate, up, fused_ffn, axis=0\n"
                  "proj -> o, permute=\"[1, 0]\"\n"
                  "vocabulary -> embed, resize=\"[7, 8]\"";

/// A tensor of the files, and where each of its elements comes from.
struct saved_tensor {
    std::string key;
    index_vector shape;
    std::string source;
    std::function<index_t(index_t row, index_t column)> index; ///< negative: zero
};

/// Rows of a tensor of width 6.
auto rows(std::function<index_t(index_t)> row_of) {
    return [=](index_t row, index_t column) { return row_of(row) * 6 + column; };
}

std::vector<saved_tensor> const expected_tensors{
    {"embed",
     {7, 8},
     "vocabulary",
     [](index_t row, index_t column) { return row < 5 ? row * 8 + column : -1; }},
    {"gate", {6, 6}, "fc1", rows([](index_t row) { return row / 3 * 6 + row % 3; })},
    {"k", {4, 6}, "qkv", rows([](index_t row) { return row / 2 * 8 + 4 + row % 2; })},
    {"norm", {6}, "norm", [](index_t row, index_t) { return row; }},
    {"o", {8, 6}, "proj", [](index_t row, index_t column) { return column * 8 + row; }},
    {"q", {8, 6}, "qkv", rows([](index_t row) { return row / 4 * 8 + row % 4; })},
    {"up", {6, 6}, "fc1", rows([](index_t row) { return row / 3 * 6 + 3 + row % 3; })},
    {"v", {4, 6}, "qkv", rows([](index_t row) { return row / 2 * 8 + 6 + row % 2; })}};

/// The first tensor of a checkpoint that is not as expected, if any.
std::string wrong_in(checkpoint const& saved) {
    std::vector<shard_descriptor> shards;
    for (saved_tensor const& tensor : expected_tensors)
        shards.push_back(whole_of(tensor.key, dtype, tensor.shape));
    held full_held(shards);
    load(world(), saved, full_held.cleared().tensors());
    for (std::size_t i = 0; i < expected_tensors.size(); ++i) {
        saved_tensor const& tensor = expected_tensors[i];
        index_t const width = tensor.shape.size() == 2 ? tensor.shape[1] : 1;
        auto const bytes = content_of(shards[i], [&](index_t element) {
            index_t const index = tensor.index(element / width, element % width);
            return index < 0 ? 0 : element_bits(tensor.source, index, dtype);
        });
        if (full_held.memory(i) != bytes)
            return tensor.key;
    }
    return {};
}

std::vector<std::string> keys_in(checkpoint const& saved) {
    std::vector<std::string> keys;
    for (detail::checkpoint_tensor const& tensor : saved.metadata().tensors)
        keys.push_back(tensor.key);
    return keys;
}

/// The error of a save, the same on all ranks, which has written nothing.
std::string refused(shared_directory const& directory, save_options const& options) {
    std::string const said = agreed_error(boost::mpi::communicator(), [&] {
        save(world(), held(layer_of_rank()).tensors(), directory / "refused", options);
    });
    meet();
    BOOST_TEST(directory.names().empty());
    return said;
}

} // namespace

BOOST_AUTO_TEST_CASE(fused_tensors_of_ranks_are_saved_under_the_names_of_others) {
    for (char const* const ranks_per_node : {"64", "1"})
        for (save_options const& options :
             {save_options{.program = aoa::parse(text)},
              save_options{.program = aoa::parse(text), .writing = {.digests = false}},
              save_options{.program = aoa::parse(text),
              .form = save_form::huggingface,
              .writing = {.single_file = true}}}) {
            ranks_per_node_variable const variable(ranks_per_node);
            shared_directory const directory;
            auto const path = directory / "model.safetensors"; // or a directory of that name
            save_report const report =
                save(world(), held(layer_of_rank()).tensors(), path, options);
            auto const saved = open_checkpoint(world(), path);
            std::vector<std::string> keys;
            for (saved_tensor const& tensor : expected_tensors)
                keys.push_back(tensor.key);
            BOOST_TEST(keys_in(saved) == keys, boost::test_tools::per_element());
            BOOST_TEST(wrong_in(saved) == "");
            BOOST_TEST(report.bytes == 2 * (56 + 36 + 24 + 6 + 48 + 48 + 36 + 24));
            BOOST_TEST(report.notes.empty());
        }
}

BOOST_AUTO_TEST_CASE(an_error_in_a_program_reaches_all_ranks_and_nothing_is_written) {
    shared_directory const directory;
    BOOST_TEST(refused(directory, {.program = aoa::parse("lacking -> new")}).find("lacking") !=
               std::string::npos);
    any_program const failing = [](catalog const& source, catalog const* target) -> mapping {
        BOOST_TEST(target == nullptr);
        if (world().rank() == world().size() - 1)
            fail(errc::usage, "the last rank cannot");
        return identity_mapping(source);
    };
    BOOST_TEST(refused(directory, {.program = failing}).find("the last rank cannot") !=
               std::string::npos);
    mapping unknown;
    unknown.define("new", unknown.source("lacking", {4, 4}, dtype));
    BOOST_TEST(refused(directory, {.program = unknown}).find("lacking") != std::string::npos);
    BOOST_TEST(refused(directory, {.program = aoa::parse(text), .form = save_form::sharded})
                   .find("save_options.program makes whole tensors") != std::string::npos);
    BOOST_TEST(refused(directory, {.program = aoa::parse(text), .aliases = {{"u", "q"}}})
                   .find("'u': save_options.aliases cannot be combined") != std::string::npos);
    BOOST_TEST(
        refused(directory, {.program = aoa::parse(text), .needs = {{"qkv"}}}).find("'qkv'") !=
        std::string::npos);
    async_saver saver;
    BOOST_CHECK_EXCEPTION(save_async(world(), held(layer_of_rank()).tensors(),
                                     directory / "refused", saver, {.program = aoa::parse(text)}),
                          error, mentions(errc::usage, "save_options.program"));
}

BOOST_AUTO_TEST_CASE(ranks_with_different_programs_are_refused,
                     *boost::unit_test::precondition(several_ranks)) {
    shared_directory const directory;
    bool const is_first = world().rank() == 0;
    std::string const by_name =
        refused(directory, {.program = is_first ? any_program(aoa::parse(text)) : any_program()});
    BOOST_TEST(by_name.find("options.program") != std::string::npos);
    std::string const others =
        refused(directory, {.program = aoa::parse(is_first ? text : "norm -> n")});
    BOOST_TEST(others.find("digest") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(elements_that_no_rank_has_are_an_error) {
    shared_directory const directory;
    for (bool const is_rows : {true, false}) {
        std::vector<shard_descriptor> const part{
            is_rows ? shard_of("w", dtype, {4, 6}, {0, 0}, {3, 6})
                    : shard_of("w", dtype, {4, 6}, {0, 0}, {4, 5})};
        std::string const said = agreed_error(boost::mpi::communicator(), [&] {
            save(world(), held(part).tensors(), directory / "w",
                 {.program = aoa::parse("w -> new, permute=\"[1, 0]\"")});
        });
        BOOST_TEST(said.find("'new'") != std::string::npos, said);
        meet();
        BOOST_TEST(directory.names().empty());
    }
}

BOOST_AUTO_TEST_CASE(chunks_of_which_no_rank_has_anything_are_an_error) {
    shared_directory const directory;
    index_t const mib = index_t{1} << 20;
    std::vector<shard_descriptor> const first_chunk{
        shard_of("w", data_type::u8, {3 * mib}, {0}, {mib})};
    for (save_options const& options : {save_options{.form = save_form::huggingface},
                                        save_options{.program = aoa::parse("w -> new")}}) {
        std::string const said = agreed_error(boost::mpi::communicator(), [&] {
            save(world(), held(first_chunk).tensors(), directory / "w", options);
        });
        BOOST_TEST(said.find("are missing from the source") != std::string::npos, said);
        BOOST_TEST(directory.names().empty());
    }
}

BOOST_AUTO_TEST_CASE(one_rank_may_have_the_program_of_all) {
    shared_directory const directory;
    bool const is_first = world().rank() == 0;
    save(world(), held(layer_of_rank()).tensors(), directory / "model",
         {.program = is_first ? any_program(aoa::parse(text)) : any_program::of_other_ranks()});
    BOOST_TEST(wrong_in(open_checkpoint(world(), directory / "model")) == "");
}

BOOST_AUTO_TEST_CASE(copies_that_differ_are_refused) {
    shared_directory const directory;
    mapping program;
    program.define("new", program.source("a", {4}, dtype));
    program.source("b", {4}, dtype);
    program.relate({detail::relation::kind::copy, "a", "b"});
    held different({whole_of("a", dtype, {4}), whole_of("b", dtype, {4})});
    BOOST_CHECK_EXCEPTION(
        save(world(), different.tensors(), directory / "model", {.program = program}), error,
        mentions(errc::overlap, "'b'"));
    different.memory(1) = different.memory(0);
    save(world(), different.tensors(), directory / "model", {.program = program});
    BOOST_TEST((keys_in(open_checkpoint(world(), directory / "model")) ==
                std::vector<std::string>{"new"}));
}

BOOST_AUTO_TEST_SUITE_END()
