// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/program.hpp>
#include <reshard/storage/convert.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/save_async.hpp>
#include <reshard/storage/verify.hpp>

#include "held.hpp"
#include "shared_directory.hpp"
#include "support/says.hpp"

/// \file
/// The options of a save for its files: how many, who writes them, and other content.

BOOST_AUTO_TEST_SUITE(storage_choices)

namespace {

using namespace reshard;
using namespace reshard::test;

using names = std::vector<std::string>;

/// Rows of `w`, a tensor of the first rank alone, and three on all ranks.
held tensors() {
    index_t const rank = world().rank(), size = world().size();
    std::vector<shard_descriptor> shards{
        shard_of("w", data_type::f32, {2 * size, 3}, {2 * rank, 0}, {2, 3}),
        whole_of("a", data_type::f64, {5}), whole_of("b", data_type::u8, {3}),
        whole_of("scalar", data_type::i32, {})};
    if (rank == 0)
        shards.push_back(whole_of("first", data_type::bf16, {0, 2}));
    return held(shards);
}

std::string wrong_in(std::filesystem::path const& path) {
    held want = tensors();
    auto const saved = open_checkpoint(world(), path);
    load(world(), saved, want.cleared().tensors());
    return want.wrong() + (verify(world(), saved).ok() ? "" : " and digests differ");
}

/// How many files of each rank are in a directory.
std::map<std::string, int> files_of_ranks(shared_directory const& directory,
                                          std::string const& path) {
    std::map<std::string, int> count;
    for (std::string const& name : directory.names(path))
        if (name.starts_with("shard-"))
            ++count[name.substr(0, 11)];
    return count;
}

} // namespace

BOOST_AUTO_TEST_CASE(any_number_of_files_a_rank_has_the_same_data) {
    shared_directory const directory;
    async_saver saver;
    for (index_t const count : {1, 2, 3, 100}) {
        std::string const now = "now" + std::to_string(count),
                          later = "later" + std::to_string(count);
        save_options const options{.writing = {.files_per_rank = count}};
        held part = tensors();
        save(world(), part.tensors(), directory / now, options);
        save_async(world(), part.tensors(), directory / later, saver, options).get();
        meet();
        for (std::string const& path : {now, later}) {
            BOOST_TEST(wrong_in(directory / path) == "");
            int most = 0;
            for (auto const& [rank, files] : files_of_ranks(directory, path))
                most = std::max(most, files);
            // Alone, a rank writes 5 tensors; of three, the first one writes w, first and some.
            BOOST_TEST(most <= count);
            if (world().size() == 1)
                BOOST_TEST(most == std::min<index_t>(count, 5));
        }
    }
}

BOOST_AUTO_TEST_CASE(
    replicas_are_written_by_whom_a_function_chooses_and_only_by_ranks_that_have_them) {
    shared_directory const directory;
    auto const last = [](std::string const&, index_t, std::vector<holder_t> const& ranks) {
        return ranks.back();
    };
    held part = tensors();
    save(world(), part.tensors(), directory / "last", {.writing = {.writer = last}});
    BOOST_TEST(wrong_in(directory / "last") == "");
    auto const saved = open_checkpoint(world(), directory / "last");
    std::string const number = std::to_string(world().size());
    for (auto const& tensor : saved.metadata().tensors)
        if (tensor.key == "a" || tensor.key == "b" || tensor.key == "scalar")
            BOOST_TEST(saved.file_names()[tensor.shards.front().file].find("shard-0000" + number) !=
                       std::string::npos);

    if (world().size() < 3)
        return;
    // By default, too: ranks 0 and 2 have `pair`, rank 1 the fewest bytes.
    int const rank = world().rank();
    std::vector<shard_descriptor> shards{
        shard_of("own", data_type::u8, {60}, {rank * 20}, {rank == 1 ? 1 : 20})};
    if (rank != 1)
        shards.push_back(whole_of("pair", data_type::u8, {7}));
    else
        shards.push_back(shard_of("own", data_type::u8, {60}, {21}, {19}));
    save(world(), held(shards).tensors(), directory / "pair");
    auto const pair = open_checkpoint(world(), directory / "pair");
    for (auto const& tensor : pair.metadata().tensors)
        if (tensor.key == "pair") {
            BOOST_TEST_REQUIRE(tensor.shards.size() == 1u);
            BOOST_TEST(pair.file_names()[tensor.shards.front().file].find("shard-00002") ==
                       std::string::npos);
        }
}

BOOST_AUTO_TEST_CASE(ranks_whose_functions_choose_differently_save_nothing) {
    if (world().size() == 1)
        return;
    shared_directory const directory;
    bool const is_last = world().rank() == world().size() - 1;
    save_options const options{.writing = {.writer = [&](auto const&, index_t, auto const& ranks) {
                                   return is_last ? ranks.back() : ranks.front();
                               }}};
    held part = tensors();
    async_saver saver;
    BOOST_CHECK_EXCEPTION(save(world(), part.tensors(), directory / "model", options), error,
                          mentions(errc::ranks_disagree, "files chosen by write_options.writer"));
    BOOST_CHECK_EXCEPTION(save_async(world(), part.tensors(), directory / "model", saver, options),
                          error,
                          mentions(errc::ranks_disagree, "files chosen by write_options.writer"));
    BOOST_TEST(directory.names().empty());
}

BOOST_AUTO_TEST_CASE(what_a_function_chose_is_not_what_a_save_without_it_does) {
    shared_directory const directory;
    async_saver saver;
    held part = tensors();
    auto const last = [](auto const&, index_t, auto const& ranks) { return ranks.back(); };
    save_async(world(), part.tensors(), directory / "chosen", saver, {.writing = {.writer = last}})
        .get();
    save_async(world(), part.tensors(), directory / "later", saver).get();
    save(world(), part.tensors(), directory / "now");
    meet();
    BOOST_TEST((directory.names("later") == directory.names("now")));
    for (std::string const& name : directory.names("now"))
        BOOST_TEST(
            (lasting_bytes(directory / "later" / name) == lasting_bytes(directory / "now" / name)));
}

BOOST_AUTO_TEST_CASE(texts_are_given_back_when_the_checkpoint_is_opened) {
    shared_directory const directory;
    held part = tensors();
    for (save_form const form : {save_form::sharded, save_form::huggingface}) {
        auto const path = directory / (form == save_form::sharded ? "sharded" : "whole");
        save(world(), part.tensors(), path,
             {.form = form, .writing = {.texts = {{"run", "17"}, {"author", "me"}}}});
        auto const saved = open_checkpoint(world(), path);
        BOOST_TEST(saved.metadata().metadata.at("run") == "17");
        BOOST_TEST(saved.metadata().metadata.at("author") == "me");
        BOOST_TEST(wrong_in(path) == "");
        convert(world(), saved, directory / "converted",
                {.writing = {.replace = true, .texts = {{"by", "convert"}}}});
        auto const converted = open_checkpoint(world(), directory / "converted");
        BOOST_TEST(converted.metadata().metadata.at("by") == "convert");
        BOOST_TEST(converted.metadata().metadata.at("run") == "17");
    }
    BOOST_CHECK_EXCEPTION(
        save(world(), part.tensors(), directory / "bad", {.writing = {.texts = {{"format", "x"}}}}),
        error,
        mentions(errc::usage,
                 "'format' is a name that the files already use; give the text another name"));
    BOOST_CHECK_EXCEPTION(
        save(world(), part.tensors(), directory / "bad", {.writing = {.program = "w -> \xff"}}),
        error, mentions(errc::usage, "the program's text: byte 5 is not UTF-8"));
    BOOST_TEST((directory.names() == names{"converted", "sharded", "whole"}));
}

namespace {

std::string hits_and_misses(save_cache const& cache) {
    return std::to_string(cache.hits()) + " " + std::to_string(cache.misses());
}

} // namespace

BOOST_AUTO_TEST_CASE(the_second_equal_save_plans_nothing_and_writes_the_same) {
    shared_directory const directory;
    for (save_form const form : {save_form::sharded, save_form::huggingface}) {
        std::string const begin = form == save_form::sharded ? "sharded" : "whole";
        save_cache cache;
        save_options const options{.form = form, .cache = &cache};
        held part = tensors();
        save(world(), part.tensors(), directory / (begin + "0"), {.form = form});
        for (std::string const number : {"1", "2", "3"})
            save(world(), part.tensors(), directory / (begin + number), options);
        BOOST_TEST(hits_and_misses(cache) == "2 1");
        meet();
        for (std::string const number : {"1", "2", "3"})
            for (std::string const& name : directory.names(begin + "0"))
                BOOST_TEST((lasting_bytes(directory / (begin + number) / name) ==
                            lasting_bytes(directory / (begin + "0") / name)));
        BOOST_TEST(wrong_in(directory / (begin + "3")) == "");
        // Other values of the same tensors are saved as they are now.
        part.memory(1).assign(40, std::byte{7});
        save(world(), part.tensors(), directory / (begin + "4"), options);
        BOOST_TEST(hits_and_misses(cache) == "3 1");
        held now = tensors();
        load(world(), open_checkpoint(world(), directory / (begin + "4")), now.tensors());
        BOOST_TEST((now.memory(1) == std::vector<std::byte>(40, std::byte{7})));
    }
}

BOOST_AUTO_TEST_CASE(a_structure_that_changed_on_one_rank_is_planned_anew) {
    shared_directory const directory;
    int const rank = world().rank(), size = world().size();
    bool const is_last = rank == size - 1;
    shard_descriptor const rows =
        shard_of("w", data_type::u8, {2 * size, 6}, {2 * rank, 0}, {2, 6});
    auto const last_has = [&](shard_descriptor const& shard) {
        std::vector<shard_descriptor> shards{rows};
        if (is_last)
            shards.push_back(shard);
        return held(shards);
    };
    std::vector<held> const changes{
        held({rows}),
        last_has(whole_of("v", data_type::u8, {4})),
        last_has(whole_of("u", data_type::u8, {4})), // another key
        last_has(whole_of("u", data_type::u8, {5})), // another shape
        last_has(whole_of("u", data_type::i8, {5})), // another type
        held({shard_of("w", data_type::u8, {2 * size, 6}, {rank == 0 ? 0 : 2 * rank + 1, 0},
                       {2 + (rank == 0 ? 1 : 0) - (is_last ? 1 : 0), 6})}), // another layout
        held({rows})};
    save_cache cache;
    std::size_t number = 0;
    for (int round = 0; round < 2; ++round)
        for (held const& change : changes) {
            held part = change;
            auto const path = directory / std::to_string(number++);
            save(world(), part.tensors(), path, {.cache = &cache});
            auto const saved = open_checkpoint(world(), path);
            load(world(), saved, part.cleared().tensors());
            BOOST_TEST(part.wrong() == "");
            BOOST_TEST(verify(world(), saved).ok());
        }
    // Alone, a rank has the same rows in the other layout, too.
    BOOST_TEST(hits_and_misses(cache) == (size == 1 ? "9 5" : "8 6"));
    save(world(), held({rows}).tensors(), directory / "other",
         {.form = save_form::huggingface, .cache = &cache});
    save(world(), held({rows}).tensors(), directory / "more",
         {.writing = {.files_per_rank = 2}, .cache = &cache});
    BOOST_TEST(hits_and_misses(cache) == (size == 1 ? "9 7" : "8 8"));
}

BOOST_AUTO_TEST_CASE(a_process_that_is_another_rank_by_now_has_another_plan) {
    shared_directory const directory;
    boost::mpi::communicator const communicator;
    boost::mpi::communicator const reversed =
        communicator.split(0, communicator.size() - communicator.rank());
    save_cache cache;
    held part({whole_of("a", data_type::f64, {5}), whole_of("b", data_type::u8, {3})});
    save(world(), part.tensors(), directory / "one", {.cache = &cache});
    save(mpi_group(reversed), part.tensors(), directory / "two", {.cache = &cache});
    meet();
    for (std::string const path : {"one", "two"}) {
        held want = part;
        load(world(), open_checkpoint(world(), directory / path), want.cleared().tensors());
        BOOST_TEST(want.wrong() == "");
    }
}

BOOST_AUTO_TEST_CASE(a_rank_that_has_forgotten_the_plan_makes_all_plan) {
    shared_directory const directory;
    save_cache cache, empty;
    held part = tensors();
    save(world(), part.tensors(), directory / "one", {.cache = &cache});
    bool const is_last = world().rank() == world().size() - 1;
    save(world(), part.tensors(), directory / "two", {.cache = is_last ? &empty : &cache});
    BOOST_TEST(wrong_in(directory / "two") == "");
    BOOST_TEST(hits_and_misses(is_last ? empty : cache) == (is_last ? "0 1" : "1 1"));
    if (world().size() > 1)
        BOOST_CHECK_EXCEPTION(save(world(), part.tensors(), directory / "three",
                                   {.cache = is_last ? nullptr : &cache}),
                              error, mentions(errc::ranks_disagree, "options.cache set and rank"));
    BOOST_CHECK_EXCEPTION(
        save(world(), part.tensors(), directory / "four",
             {.writing = {.numbers = {{std::string("\xff"), 1.0}}}, .cache = &cache}),
        error, mentions(errc::usage, ""));
    async_saver saver;
    BOOST_CHECK_EXCEPTION(
        save_async(world(), part.tensors(), directory / "five", saver, {.cache = &cache}), error,
        says(errc::usage, "save_options.cache: an async_saver keeps plans itself; omit it"));
    BOOST_TEST((directory.names() == names{"one", "two"}));
}

BOOST_AUTO_TEST_SUITE_END()
