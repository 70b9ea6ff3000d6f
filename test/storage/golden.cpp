// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/program.hpp>
#include <reshard/format/checkpoint.hpp>
#include <reshard/format/save_record.hpp>
#include <reshard/storage/convert.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>
#include <reshard/storage/verify.hpp>

#include "held.hpp"
#include "shared_directory.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

/// \file
/// Checkpoints that earlier versions have written are read for ever. Those of a new version of the
/// record are written by this test, on 3 ranks, into the directory that RESHARD_WRITE_GOLDEN names.

namespace {

using namespace reshard;
using namespace reshard::test;

std::filesystem::path const golden =
    std::filesystem::path(RESHARD_TEST_DATA) / ".." / "storage" / "golden";

/// The tensors that one of 3 ranks saved: uneven rows, a flat range, bits, and the common ones.
held saved_part(index_t rank) {
    index_t const first[] = {0, 1, 1, 4}; // rank 1 has no rows
    shard_descriptor moment = whole_of("moment", data_type::bf16, {5, 4});
    moment.flat = flat_range{rank * 7, std::min<index_t>(20, rank * 7 + 7)};
    return held({shard_of("rows", data_type::f32, {4, 3}, {first[rank], 0},
                          {first[rank + 1] - first[rank], 3}),
                 moment, shard_of("bits", data_type::boolean, {3, 3}, {rank, 0}, {1, 3}),
                 whole_of("scalar", data_type::f64, {}), whole_of("empty", data_type::i32, {0, 3}),
                 whole_of("norm \"1\"", data_type::f16, {5})});
}

/// Every third row of eight.
held dealt_part(index_t rank) {
    shard_descriptor rows =
        shard_of("dealt", data_type::i16, {8, 5}, {rank, 0}, {rank < 2 ? 7 : 4, 5});
    rows.cycles = {{0, 1, 3}};
    return held({rows});
}

/// All of it, with both names of `rows`.
held wanted(bool has_flat) {
    auto shards = std::vector{
        whole_of("rows", data_type::f32, {4, 3}), whole_of("bits", data_type::boolean, {3, 3}),
        whole_of("scalar", data_type::f64, {}), whole_of("empty", data_type::i32, {0, 3}),
        whole_of("norm \"1\"", data_type::f16, {5})};
    if (has_flat)
        shards.push_back(whole_of("moment", data_type::bf16, {5, 4}));
    return held(shards);
}

/// `rows` with one more than was saved first, at one place.
void change(held& part) {
    if (!part.memory(0).empty())
        part.memory(0).front() ^= std::byte{0xFF};
}

model_state state_of(index_t rank, std::string const& bytes, std::string const& step) {
    return {{"generator", stored_object{{"rng", {3}, {rank}}, bytes, object_rule::repeat}},
            {"step", stored_value{step}}};
}

std::string generator_of(index_t rank) { return std::string(static_cast<std::size_t>(rank), 'g'); }

void write_golden(std::filesystem::path const& directory) {
    BOOST_TEST_REQUIRE(world().size() == 3);
    held part = saved_part(world().rank());
    save_options options{.aliases = {{"tied", "rows"}}};
    options.writing.numbers = {{"loss", 1.5}, {"step", 300}};
    options.writing.program = "a -> b\n";
    options.writing.texts = {{"author", "golden"}};
    save(world(), part.tensors(), directory / "sharded", options);
    options.form = save_form::huggingface;
    options.writing.most_file_bytes = 40;
    save(world(), part.tensors(), directory / "huggingface", options);
    change(part);
    options.writing.base = (directory / "huggingface").string();
    save(world(), part.tensors(), directory / "delta", options);
    convert(world(), open_checkpoint(world(), directory / "sharded"), directory / "one.safetensors",
            {.writing = {.single_file = true}});
    save_state(world(), state_of(world().rank(), generator_of(world().rank()), "300"),
               directory / "state");
    save(world(), dealt_part(world().rank()).tensors(), directory / "dealt");
}

} // namespace

BOOST_AUTO_TEST_SUITE(storage_golden)

BOOST_AUTO_TEST_CASE(a_new_version_is_written) {
    if (char const* const directory = std::getenv("RESHARD_WRITE_GOLDEN"))
        write_golden(directory);
    BOOST_TEST(std::filesystem::is_directory(golden / "v1"));
    BOOST_TEST(std::filesystem::is_directory(golden / "v2"));
    BOOST_TEST(detail::save_record_version == 2); // else write v3, and read it below
}

BOOST_AUTO_TEST_CASE(blocks_of_version_2_are_read) {
    checkpoint const opened = open_checkpoint(world(), golden / "v2" / "dealt");
    BOOST_TEST(opened.metadata().files.size() == 3u);
    held all({whole_of("dealt", data_type::i16, {8, 5})});
    load(world(), opened, all.cleared().tensors());
    BOOST_TEST(all.wrong() == "");
    BOOST_TEST(verify(world(), opened).bytes == 8 * 5 * 2);
    held part = dealt_part(world().rank() % 3);
    load(world(), opened, part.cleared().tensors());
    BOOST_TEST(part.wrong() == "");
}

BOOST_AUTO_TEST_CASE(tensors_of_version_1_are_read) {
    for (std::string const name : {"sharded", "huggingface", "one.safetensors"}) {
        checkpoint const opened = open_checkpoint(world(), golden / "v1" / name);
        held part = wanted(true);
        load(world(), opened, part.cleared().tensors());
        BOOST_TEST(part.wrong() == "", name);
        BOOST_TEST(verify(world(), opened).ok(), name);
        BOOST_TEST(verify(world(), opened).bytes == 12 * 4 + 20 * 2 + 9 + 8 + 5 * 2, name);
        BOOST_TEST(opened.metadata().aliases.at("tied") == "rows");
        held tied({whole_of("tied", data_type::f32, {4, 3})});
        load(world(), opened, tied.cleared().tensors());
        BOOST_TEST(tied.memory(0) == part.memory(0), name);
        if (name != "one.safetensors")
            BOOST_TEST(opened.metadata().metadata.at("author") == "golden");
    }
}

BOOST_AUTO_TEST_CASE(a_delta_of_version_1_is_read) {
    checkpoint const opened = open_checkpoint(world(), golden / "v1" / "delta");
    held part = wanted(true);
    load(world(), opened, part.cleared().tensors());
    BOOST_TEST(verify(world(), opened).ok());
    part.memory(0)[0] ^= std::byte{0xFF};  // the first row of the first rank
    part.memory(0)[12] ^= std::byte{0xFF}; // and of the third one
    BOOST_TEST(part.wrong() == "");
}

BOOST_AUTO_TEST_CASE(a_state_of_version_1_is_read) {
    index_t const rank = world().rank() % 3;
    model_state state = state_of(rank, "fresh", "");
    load_state(world(), open_checkpoint(world(), golden / "v1" / "state"), state);
    BOOST_TEST(std::get<stored_object>(state.at("generator")).bytes == generator_of(rank));
    BOOST_TEST(std::get<stored_value>(state.at("step")).bytes == "300");
}

BOOST_AUTO_TEST_CASE(records_of_version_1_say_what_they_said) {
    auto const record = detail::read_save_record(*detail::files_of_system(),
                                                 golden / "v1" / "sharded" / "reshard.json");
    BOOST_TEST(record.ranks == 3u);
    BOOST_TEST(record.files.size() == 3u);
    BOOST_TEST(record.files[2].rank == 2u);
    BOOST_TEST(record.facts.program == "a -> b\n");
    BOOST_TEST(record.facts.numbers.at("loss") == 1.5);
    BOOST_TEST(record.facts.completed > 0);
    BOOST_TEST(record.aliases.at("tied") == "rows");
    auto const delta = detail::read_save_record(*detail::files_of_system(),
                                                golden / "v1" / "delta" / "reshard.json");
    BOOST_TEST((delta.facts.needs ==
                std::vector<std::string>{open_checkpoint(golden / "v1" / "huggingface").save}));
}

BOOST_AUTO_TEST_SUITE_END()
