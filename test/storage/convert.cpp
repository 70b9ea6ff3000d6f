// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/convert.hpp>

#include <reshard/bind/program.hpp>
#include <reshard/expr/algebra.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>

#include "support/listed_layout.hpp"

#include "held.hpp"
#include "random_layout.hpp"
#include "shared_directory.hpp"
#include "support/says.hpp"
#include "support/trials.hpp"

#include <boost/json/parse.hpp>

#include <sys/resource.h>

/// \file
/// From checkpoint to checkpoint: sharded, Hugging Face, and back; the bytes read are counted.

BOOST_AUTO_TEST_SUITE(storage_convert)

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

held mine(rank_shards const& shards) {
    return held(shards[static_cast<std::size_t>(world().rank())]);
}

mapping everything(checkpoint const& source) { return identity_mapping(catalog_of(source)); }

/// `numbers` as the bytes of their memory.
template <class T>
std::string bytes_of(std::vector<T> const& numbers) {
    return {reinterpret_cast<char const*>(numbers.data()), numbers.size() * sizeof(T)};
}

/// A Hugging Face directory with `w`, 6 x 4 floats that count from 0, and `b`, 5 half numbers.
void write_model(std::filesystem::path const& path) {
    on_first_rank([&] {
        std::vector<float> w(24);
        for (std::size_t i = 0; i < w.size(); ++i)
            w[i] = static_cast<float>(i);
        std::filesystem::create_directory(path);
        write_safetensors(
            path / "model.safetensors",
            {{"w", "F32", "[6,4]", bytes_of(w)},
             {"b", "F16", "[5]", bytes_of(std::vector<std::uint16_t>{10, 11, 12, 13, 14})}});
    });
}

test::listed_tensor cut_into(shard_descriptor const& tensor,
                             std::vector<std::pair<holder_t, box>> const& shards) {
    test::listed_tensor result{tensor.key, tensor.dtype, tensor.global_shape,
                               shard_table(tensor.global_shape.size())};
    for (auto const& [rank, region] : shards)
        result.shards.push_back(rank, region);
    return result;
}

shard_descriptor const w = whole_of("w", data_type::f32, {6, 4});
shard_descriptor const b = whole_of("b", data_type::f16, {5});

/// The data of a file after its header.
std::string data_of(std::filesystem::path const& path) {
    std::string const bytes = read_file(path);
    std::size_t length = 0;
    for (std::size_t i = 8; i-- > 0;)
        length = length << 8 | static_cast<unsigned char>(bytes[i]);
    return bytes.substr(8 + length);
}

} // namespace

BOOST_AUTO_TEST_CASE(random_layouts_become_each_other_and_hugging_face_and_come_back) {
    shared_directory const directory;
    for (unsigned seed = 1; seed <= test::trials(25, 8); ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            auto const path = [&](char const* name) {
                return directory / (std::to_string(seed) + name);
            };
            auto const tensors = random_model(seed);
            held ends = mine(random_layout(tensors, world().size(), seed + 1000));
            save(world(), ends.tensors(), path("a"));
            auto const a = open_checkpoint(world(), path("a"));
            layout const wider = layout_of(random_layout(tensors, 1 + seed % 8, seed + 2000));
            convert(world(), a, path("b"), {.program = everything(a), .wanted = wider});
            auto const second = open_checkpoint(world(), path("b"));
            convert(world(), second, path("c"),
                    {.program = everything(second), .writing = {.most_file_bytes = 64}});
            auto const third = open_checkpoint(world(), path("c"));
            BOOST_TEST(third.metadata().format == "huggingface");
            layout const last = layout_of(random_layout(tensors, 4, seed + 3000));
            convert(world(), third, path("d"), {.program = everything(third), .wanted = last});
            load(world(), open_checkpoint(world(), path("d")), ends.cleared().tensors());
            BOOST_TEST(ends.wrong() == "");
        }
    }
}

BOOST_AUTO_TEST_CASE(only_the_bytes_that_are_wanted_are_read) {
    shared_directory const directory;
    write_model(directory / "model");
    auto const source = open_checkpoint(world(), directory / "model");
    box const rows{{1, 0}, {2, 4}};
    layout const wanted = test::listed_layout(
        4, {cut_into(b, {{2, {{3}, {2}}}}), cut_into(w, {{0, rows}, {3, rows}})});
    auto const report =
        convert(world(), source, directory / "part",
                {.program = everything(source), .wanted = wanted, .writing = {.partial = true}});
    BOOST_TEST(report.keys == 2);
    BOOST_TEST(report.bytes == 32 + 4);
    BOOST_TEST(report.bytes_read == 32 + 4);
    BOOST_TEST(report.bytes_moved == 0);
    BOOST_TEST(
        (directory.names("part") ==
         std::vector<std::string>{"reshard.json", "shard-00001-model-00001-of-00001.safetensors",
                                  "shard-00003-model-00001-of-00001.safetensors"}));
    BOOST_TEST(data_of(directory / "part/shard-00001-model-00001-of-00001.safetensors") ==
               bytes_of(std::vector<float>{4, 5, 6, 7, 8, 9, 10, 11}));
    BOOST_TEST(data_of(directory / "part/shard-00003-model-00001-of-00001.safetensors") ==
               bytes_of(std::vector<std::uint16_t>{13, 14}));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_that_is_read_in_part_is_never_converted) {
    shared_directory const directory;
    write_model(directory / "model");
    on_first_rank([&] {
        for (auto const* const name :
             {"optimizer.tp00.safetensors", "optimizer.tp01.safetensors", "other.json"})
            write_file(directory / "model" / name, "{}");
    });
    auto const source = open_checkpoint(world(), directory / "model");
    BOOST_TEST(
        (source.metadata().unread ==
         std::vector<std::string>{"optimizer.tp00.safetensors", "optimizer.tp01.safetensors"}));
    BOOST_TEST_REQUIRE(source.metadata().warnings.size() == 1u);
    BOOST_TEST(source.metadata().warnings[0] ==
               (directory / "model").string() +
                   ": optimizer.tp00.safetensors and 1 more cannot be read and would be lost: "
                   "optimizer state or master weights of one rank, or of another save; to convert "
                   "only the rest, put its files in a separate directory");
    BOOST_CHECK_EXCEPTION(convert(world(), source, directory / "other"), error,
                          mentions(errc::unsupported, "would be lost"));
    BOOST_TEST((directory.names() == std::vector<std::string>{"model"}));
}

BOOST_AUTO_TEST_CASE(a_source_that_is_written_to_meanwhile_is_an_error) {
    shared_directory const directory;
    write_model(directory / "model");
    auto const source = open_checkpoint(world(), directory / "model");
    auto const touch = [&](index_t, index_t) {
        if (world().rank() == 0)
            std::filesystem::last_write_time(directory / "model" / "model.safetensors",
                                             std::filesystem::file_time_type{});
    };
    BOOST_CHECK_EXCEPTION(convert(world(), source, directory / "other", {.progress = touch}), error,
                          mentions(errc::corrupt_file, "was written to"));
    BOOST_TEST((directory.names() == std::vector<std::string>{"model"}));
}

BOOST_AUTO_TEST_CASE(a_source_that_is_cut_meanwhile_is_an_error_and_no_signal) {
    shared_directory const directory;
    write_model(directory / "model");
    auto const source = open_checkpoint(world(), directory / "model");
    on_first_rank(
        [&] { std::filesystem::resize_file(directory / "model" / "model.safetensors", 100); });
    BOOST_CHECK_EXCEPTION(convert(world(), source, directory / "other"), error,
                          mentions(errc::corrupt_file, "too early"));
    BOOST_TEST((directory.names() == std::vector<std::string>{"model"}));
}

BOOST_AUTO_TEST_CASE(a_program_changes_what_is_written) {
    shared_directory const directory;
    write_model(directory / "model");
    auto const source = open_checkpoint(world(), directory / "model");
    mapping program(catalog_of(source));
    auto const rows = split(program.source("w", {6, 4}, data_type::f32), 0, 3);
    program.define("w", transpose(concat({rows[2], rows[0]}, 0)));
    program.define("wide", cast(rows[1], data_type::f64));
    program.add("zeros", {3}, data_type::i16);
    auto const report = convert(world(), source, directory / "other", {.program = program});
    BOOST_TEST(report.keys == 3);
    BOOST_TEST(report.bytes == 4 * 16 + 8 * 8 + 2 * 3);
    // The process that makes "w" reads the rows of "wide" between its own ones; from three processes
    // on, another one makes "wide".
    BOOST_TEST(report.bytes_read == 4 * (world().size() < 3 ? 24 : 24 + 8));
    BOOST_TEST((directory.names("other") ==
                std::vector<std::string>{"model.safetensors", "reshard.json"}));
    std::vector<double> const wide{8, 9, 10, 11, 12, 13, 14, 15};
    std::vector<float> const turned{16, 20, 0, 4, 17, 21, 1, 5, 18, 22, 2, 6, 19, 23, 3, 7};
    BOOST_TEST(data_of(directory / "other/model.safetensors") ==
               bytes_of(wide) + bytes_of(turned) + std::string(6, '\0'));
}

BOOST_AUTO_TEST_CASE(a_large_model_has_several_files_and_an_index) {
    shared_directory const directory;
    write_model(directory / "model");
    auto const source = open_checkpoint(world(), directory / "model");
    auto const report =
        convert(world(), source, directory / "files",
                {.program = everything(source), .writing = {.most_file_bytes = 96}});
    BOOST_TEST(report.bytes == 106);
    BOOST_TEST((directory.names("files") ==
                std::vector<std::string>{"model-00001-of-00002.safetensors",
                                         "model-00002-of-00002.safetensors",
                                         "model.safetensors.index.json", "reshard.json"}));
    auto const index =
        boost::json::parse(read_file(directory / "files/model.safetensors.index.json"));
    BOOST_TEST(index.at("metadata").at("total_size").as_int64() == 106);
    BOOST_TEST(index.at("weight_map").at("b").as_string() == "model-00001-of-00002.safetensors");
    BOOST_TEST(index.at("weight_map").at("w").as_string() == "model-00002-of-00002.safetensors");
    BOOST_TEST(data_of(directory / "files/model-00001-of-00002.safetensors") ==
               bytes_of(std::vector<std::uint16_t>{10, 11, 12, 13, 14}));
}

BOOST_AUTO_TEST_CASE(progress_counts_the_bytes_of_each_process_up_to_its_own_total) {
    shared_directory const directory;
    write_model(directory / "model");
    auto const source = open_checkpoint(world(), directory / "model");
    std::vector<std::pair<index_t, index_t>> calls;
    layout const wanted =
        test::listed_layout(3, {cut_into(w, {{0, {{0, 0}, {1, 4}}}, {1, {{1, 0}, {5, 4}}}})});
    convert(world(), source, directory / "two",
            {.program = everything(source),
             .wanted = wanted,
             .progress = [&](index_t done, index_t total) { calls.emplace_back(done, total); }});
    using list = std::vector<std::pair<index_t, index_t>>;
    if (world().size() == 1)
        BOOST_TEST((calls == list{{16, 96}, {96, 96}}));
    else if (world().rank() < 2)
        BOOST_TEST((calls == (world().rank() == 0 ? list{{16, 16}} : list{{80, 80}})));
    else
        BOOST_TEST(calls.empty());
}

BOOST_AUTO_TEST_CASE(memory_beside_the_files_is_reported_as_the_neediest_rank_has_it) {
    shared_directory const directory;
    std::size_t const bytes = 48u << 20;
    on_first_rank([&] {
        write_safetensors(directory / "w.safetensors",
                          {{"w", "U8", "[48,1048576]", std::string(bytes, 'w')}});
    });
    auto const source = open_checkpoint(world(), directory / "w.safetensors");
    auto const frugal =
        convert(world(), source, directory / "frugal", {.program = everything(source)});
    BOOST_TEST(frugal.peak_extra_bytes >= 0);
    BOOST_TEST(frugal.peak_extra_bytes < static_cast<index_t>(bytes / 2));
    std::string taken;
    // Linux counts the pages of a process exactly only from time to time: more than is looked for.
    auto const take = [&](index_t, index_t) { taken.assign(bytes / 4 * 5, 't'); };
    auto const greedy = convert(world(), source, directory / "greedy",
                                {.program = everything(source), .progress = take});
    BOOST_TEST((taken.empty() || taken.back() == 't'));
    BOOST_TEST(greedy.peak_extra_bytes >= static_cast<index_t>(bytes));
    BOOST_TEST(greedy.peak_extra_bytes < static_cast<index_t>(2 * bytes));
}

BOOST_AUTO_TEST_CASE(a_layout_of_more_ranks_than_a_process_may_open_files_is_written_and_read) {
    shared_directory const directory;
    shard_descriptor const rows = whole_of("rows", data_type::u8, {300, 2});
    held source({world().rank() == 0 ? std::vector<shard_descriptor>{rows}
                                     : std::vector<shard_descriptor>{}});
    save(world(), source.tensors(), directory / "one");
    test::listed_tensor many = cut_into(rows, {});
    for (holder_t rank = 0; rank < 300; ++rank)
        many.shards.push_back(rank, {{rank, 0}, {1, 2}});
    auto const checkpoint = open_checkpoint(world(), directory / "one");
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    rlimit const few{90, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    BOOST_CHECK_NO_THROW(
        convert(world(), checkpoint, directory / "many",
                {.program = everything(checkpoint), .wanted = test::listed_layout(300, {many})}));
    BOOST_CHECK_NO_THROW(
        load(world(), open_checkpoint(world(), directory / "many"), source.cleared().tensors()));
    setrlimit(RLIMIT_NOFILE, &before);
    BOOST_TEST(source.wrong() == "");
}

BOOST_AUTO_TEST_CASE(a_checkpoint_may_take_its_own_place) {
    shared_directory const directory;
    write_model(directory / "model");
    auto const source = open_checkpoint(world(), directory / "model");
    layout const wanted = test::listed_layout(1, {cut_into(w, {{0, whole({6, 4})}})});
    convert(world(), source, directory / "model",
            {.program = everything(source), .wanted = wanted, .writing = {.replace = true}});
    BOOST_TEST((directory.names() == std::vector<std::string>{"model"}));
    BOOST_TEST(
        (directory.names("model") ==
         std::vector<std::string>{"reshard.json", "shard-00001-model-00001-of-00001.safetensors"}));
}

BOOST_AUTO_TEST_CASE(files_beside_the_tensors_are_carried_and_named) {
    shared_directory const directory;
    auto const path = directory / "model";
    write_model(path);
    on_first_rank([&] {
        write_file(path / "config.json", "{}");
        write_file(path / "tokenizer.model", "words");
        write_file(path / ".hidden", "");
        write_file(path / "pytorch_model.bin", "tensors");
        write_file(path / "rng_state_0.pth", "of rank 0");
        write_file(path / "scheduler.pdparams", "a rate");
        std::filesystem::create_directory(path / "runs");
    });
    using names = std::vector<std::string>;
    auto const source = open_checkpoint(world(), path);
    auto const report = convert(world(), source, directory / "copy", {});
    BOOST_TEST((report.carried ==
                names{"config.json", "rng_state_0.pth", "scheduler.pdparams", "tokenizer.model"}));
    BOOST_TEST((directory.names("copy") == names{"config.json", "model.safetensors", "reshard.json",
                                                 "rng_state_0.pth", "scheduler.pdparams",
                                                 "tokenizer.model"}));
    BOOST_TEST(read_file(directory / "copy/tokenizer.model") == "words");
    BOOST_TEST(convert(world(), source, directory / "bare", {.carry = false}).carried.empty());
    BOOST_TEST((directory.names("bare") == names{"model.safetensors", "reshard.json"}));
    on_first_rank([&] { write_file(path / "config.json", "newer"); });
    convert(world(), source, directory / "copy", {.writing = {.replace = true}});
    BOOST_TEST(read_file(directory / "copy/config.json") == "newer");
}

BOOST_AUTO_TEST_SUITE_END()
