// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/load.hpp>

#include <reshard/bind/program.hpp>
#include <reshard/expr/algebra.hpp>
#include <reshard/layout/layout_of.hpp>
#include <reshard/layout/typed_layout.hpp>
#include <reshard/storage/checkpoint_listing.hpp>
#include <reshard/storage/compare.hpp>
#include <reshard/storage/convert.hpp>
#include <reshard/storage/save.hpp>
#include <reshard/storage/save_async.hpp>

#include "held.hpp"
#include "random_layout.hpp"
#include "shared_directory.hpp"
#include "support/says.hpp"
#include "support/trials.hpp"

/// \file
/// Saved values are loaded, for any cuts of both sides.

BOOST_AUTO_TEST_SUITE(storage_round_trip)

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

held mine(rank_shards const& shards) {
    return held(shards[static_cast<std::size_t>(world().rank())]);
}

} // namespace

BOOST_AUTO_TEST_CASE(random_layouts_are_loaded_into_other_random_layouts) {
    shared_directory const directory;
    for (unsigned seed = 1; seed <= test::trials(60, 8); ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            auto const tensors = random_tensors(seed);
            auto const path = directory / std::to_string(seed);
            held source = mine(random_layout(tensors, world().size(), seed + 1000));
            held target = mine(random_layout(tensors, world().size(), seed + 2000));
            save(world(), source.tensors(), path);
            auto const saved = open_checkpoint(world(), path);
            load(world(), saved, target.cleared().tensors());
            BOOST_TEST(target.wrong() == "");
            load(world(), saved, source.cleared().tensors());
            BOOST_TEST(source.wrong() == "");
        }
    }
}

BOOST_AUTO_TEST_CASE(a_communicator_opens_a_checkpoint_as_a_group_does) {
    shared_directory const directory;
    boost::mpi::communicator const ranks = world().base();
    held source = mine(random_layout(random_tensors(1), world().size(), 1001));
    save(ranks, source.tensors(), directory / "saved");
    load(ranks, open_checkpoint(ranks, directory / "saved"), source.cleared().tensors());
    BOOST_TEST(source.wrong() == "");
    load(ranks, open_checkpoint(ranks, directory.path(), latest{}), source.cleared().tensors());
    BOOST_TEST(source.wrong() == "");
}

BOOST_AUTO_TEST_CASE(random_layouts_become_hugging_face_models) {
    shared_directory const directory;
    for (unsigned seed = 101; seed <= 100 + test::trials(30, 4); ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            auto const tensors = random_model(seed);
            auto const path = directory / std::to_string(seed);
            held source = mine(random_layout(tensors, world().size(), seed + 1000));
            held target = mine(random_layout(tensors, world().size(), seed + 2000));
            save(world(), source.tensors(), path,
                 {.form = save_form::huggingface, .writing = {.most_file_bytes = 100}});
            auto const saved = open_checkpoint(world(), path);
            BOOST_TEST(saved.metadata().format == "huggingface");
            load(world(), saved, target.cleared().tensors());
            BOOST_TEST(target.wrong() == "");
        }
    }
}

BOOST_AUTO_TEST_CASE(every_data_type_keeps_its_bits) {
    shared_directory const directory;
    std::vector<shard_descriptor> rows, flat;
    for (std::size_t i = 0; i < data_type_count; ++i) {
        auto const dtype = static_cast<data_type>(i);
        if (dtype == data_type::c128) // which safetensors does not have
            continue;
        std::string const key(code(dtype));
        index_t const rank = world().rank(), size = world().size();
        rows.push_back(shard_of(key, dtype, {3 * size, 8}, {3 * rank, 0}, {3, 8}));
        flat.push_back({key, dtype, {3 * size, 8}, whole({3 * size, 8}), flat_range{}});
        flat.back().flat =
            flat_range{rank == 0 ? 0 : 24 * rank - 4, 24 * (rank + 1) - (rank + 1 == size ? 0 : 4)};
    }
    held source(rows), target(flat);
    save(world(), source.tensors(), directory / "all");
    load(world(), open_checkpoint(world(), directory / "all"), target.cleared().tensors());
    BOOST_TEST(target.wrong() == "");
}

BOOST_AUTO_TEST_CASE(one_process_loads_what_several_saved_and_the_other_way_round) {
    shared_directory const directory;
    auto const tensors = random_tensors(7);
    held parts = mine(random_layout(tensors, world().size(), 8));
    save(world(), parts.tensors(), directory / "several");
    on_first_rank([&] {
        held full_held(tensors);
        load(solo(), open_checkpoint(solo(), directory / "several"), full_held.cleared().tensors());
        BOOST_TEST(full_held.wrong() == "");
        save(solo(), full_held.tensors(), directory / "one");
    });
    load(world(), open_checkpoint(world(), directory / "one"), parts.cleared().tensors());
    BOOST_TEST(parts.wrong() == "");
}

BOOST_AUTO_TEST_CASE(a_replica_is_written_once) {
    shared_directory const directory;
    held source({whole_of("everywhere", data_type::f32, {2, 3})});
    save(world(), source.tensors(), directory / "one");
    BOOST_TEST(
        (directory.names("one") ==
         std::vector<std::string>{"reshard.json", "shard-00001-model-00001-of-00001.safetensors"}));
    auto const saved = open_checkpoint(world(), directory / "one");
    BOOST_TEST_REQUIRE(saved.metadata().tensors.size() == 1u);
    BOOST_TEST(saved.metadata().tensors[0].shards.size() == 1u);
}

BOOST_AUTO_TEST_CASE(each_rank_has_its_replica_in_its_file_where_that_is_asked_for) {
    shared_directory const directory;
    held source({whole_of("everywhere", data_type::f32, {2, 3}), whole_of("s", data_type::u8, {})});
    save_report const report =
        save(world(), source.tensors(), directory / "all", {.writing = {.replicas = true}});
    BOOST_TEST(report.bytes == 25 * world().size());
    auto const saved = open_checkpoint(world(), directory / "all");
    BOOST_TEST(saved.metadata().tensors[0].shards.size() ==
               static_cast<std::size_t>(world().size()));
    load(world(), saved, source.cleared().tensors());
    BOOST_TEST(source.wrong() == "");
    // Its own file is all that a rank needs.
    std::string const own =
        "shard-0000" + std::to_string(world().rank() + 1) + "-model-00001-of-00001.safetensors";
    load(solo(), open_checkpoint(solo(), directory / "all" / own), source.cleared().tensors());
    BOOST_TEST(source.wrong() == "");

    save(world(), source.tensors(), directory / "once");
    convert(world(), open_checkpoint(world(), directory / "once"), directory / "converted",
            {.wanted = saved.files_layout(), .writing = {.replicas = true}});
    auto const converted = open_checkpoint(world(), directory / "converted");
    BOOST_TEST(converted.metadata().save == saved.metadata().save);
    comparison const comparison = compare(world(), converted, saved, {.data = true});
    BOOST_TEST(comparison.equal());
    async_saver saver;
    save_async(world(), source.tensors(), directory / "async", saver,
               {.writing = {.replicas = true}})
        .get();
    BOOST_TEST(open_checkpoint(world(), directory / "async").metadata().save ==
               saved.metadata().save);

    BOOST_CHECK_EXCEPTION(save(world(), source.tensors(), directory / "no",
                               {.form = save_form::huggingface, .writing = {.replicas = true}}),
                          error,
                          says(errc::usage, (directory / "no").string() +
                                                ": replicas need a layout, but whole tensors are "
                                                "to be written; give a layout, or omit replicas"));
}

namespace {

template <index_t Ranks>
struct trained : typed::layout<mesh{{"p", Ranks}},
                               typed::tensor<"m", double, index_vector{5, 3}, typed::flat_share{}>,
                               typed::tensor<"w", float, index_vector{7, 4}, shard{0}>> {};
template <index_t Ranks>
struct served
    : typed::layout<mesh{{"p", Ranks}}, typed::tensor<"m", double, index_vector{5, 3}, replicate{}>,
                    typed::tensor<"w", float, index_vector{7, 4}, shard{1}>> {};

template <class Trained, class Served>
void check_typed_layouts() {
    shared_directory const directory;
    auto const me = static_cast<holder_t>(world().rank());
    held source(shards_of(layout(Trained()), me)), target(shards_of(layout(Served()), me));
    save(world(), {source.tensors(), Trained()}, directory / "one");
    auto const saved = open_checkpoint(world(), directory / "one");
    load(world(), saved, {target.cleared().tensors(), Served()});
    BOOST_TEST(target.wrong() == "");
    convert(world(), saved, directory / "two", {.wanted = Served()});
    auto const converted = open_checkpoint(world(), directory / "two");
    load(world(), converted, {source.cleared().tensors(), Trained()});
    BOOST_TEST(source.wrong() == "");
    // They are looked at.
    if (world().size() == 1)
        return;
    BOOST_CHECK_EXCEPTION(save(world(), {source.tensors(), Served()}, directory / "no"), error,
                          mentions(errc::bad_layout, "the layout"));
    BOOST_CHECK_EXCEPTION(load(world(), saved, {target.tensors(), Trained()}), error,
                          mentions(errc::bad_layout, "the layout"));
}

} // namespace

BOOST_AUTO_TEST_CASE(a_typed_layout_is_taken_as_a_layout) {
    if (world().size() == 3)
        check_typed_layouts<trained<3>, served<3>>();
    if (world().size() == 1)
        check_typed_layouts<trained<1>, served<1>>();
}

BOOST_AUTO_TEST_CASE(a_flat_range_of_all_elements_and_the_box_of_them_are_written_once) {
    shared_directory const directory;
    shard_descriptor const shard = whole_of("w", data_type::u8, {4, 2});
    shard_descriptor flat = shard;
    flat.flat = flat_range{0, 8};
    held source({shard, flat});
    save(world(), source.tensors(), directory / "one");
    BOOST_TEST(
        (directory.names("one") ==
         std::vector<std::string>{"reshard.json", "shard-00001-model-00001-of-00001.safetensors"}));
    load(world(), open_checkpoint(world(), directory / "one"), source.cleared().tensors());
    BOOST_TEST(source.wrong() == "");
}

BOOST_AUTO_TEST_CASE(a_rank_with_three_shards_of_a_key_has_three_files) {
    shared_directory const directory;
    std::vector<shard_descriptor> rows;
    for (index_t const row : {4, 0, 2})
        rows.push_back(shard_of("w", data_type::bf16, {6, 5}, {row, 0}, {2, 5}));
    held source(world().rank() + 1 == world().size() ? rows : std::vector<shard_descriptor>{});
    save(world(), source.tensors(), directory / "three");
    std::string const prefix = "shard-0000" + std::to_string(world().size()) + "-model-0000";
    BOOST_TEST((directory.names("three") ==
                std::vector<std::string>{"reshard.json", prefix + "1-of-00003.safetensors",
                                         prefix + "2-of-00003.safetensors",
                                         prefix + "3-of-00003.safetensors"}));
    load(world(), open_checkpoint(world(), directory / "three"), source.cleared().tensors());
    BOOST_TEST(source.wrong() == "");
}

BOOST_AUTO_TEST_CASE(strided_tensors_are_saved_and_loaded) {
    shared_directory const directory;
    index_t const rank = world().rank(), size = world().size();
    auto const shard = shard_of("w", data_type::i32, {2 * size, 3}, {2 * rank, 0}, {2, 3});
    std::vector<std::int32_t> columns{0, 0, 0, 0, 0, 0};
    for (std::size_t row = 0; row < 2; ++row)
        for (std::size_t column = 0; column < 3; ++column)
            columns[column * 2 + row] =
                static_cast<std::int32_t>((2 * rank + static_cast<index_t>(row)) * 3) +
                static_cast<std::int32_t>(column);
    auto const expected = columns;
    state_dict tensors;
    tensors.add(shard, tensor_view{columns.data(), data_type::i32, {2, 3}, {1, 2}});
    save(world(), tensors, directory / "strided");
    columns.assign(6, -1);
    auto const saved = open_checkpoint(world(), directory / "strided");
    load(world(), saved, tensors);
    BOOST_TEST(columns == expected, boost::test_tools::per_element());
    std::vector<std::int32_t> rows(static_cast<std::size_t>(6 * size), -1);
    state_dict state;
    state.add(whole_of("w", data_type::i32, {2 * size, 3}),
              tensor_view{rows.data(), data_type::i32, {2 * size, 3}, {3, 1}});
    load(world(), saved, state);
    for (std::size_t i = 0; i < rows.size(); ++i)
        BOOST_TEST(rows[i] == static_cast<std::int32_t>(i));
}

BOOST_AUTO_TEST_CASE(a_state_dict_without_tensors_is_a_checkpoint) {
    shared_directory const directory;
    save(world(), {}, directory / "nothing");
    auto const saved = open_checkpoint(world(), directory / "nothing");
    BOOST_TEST(saved.metadata().tensors.empty());
    load(world(), saved, {});
}

BOOST_AUTO_TEST_CASE(a_program_renames_and_transposes_while_loading) {
    shared_directory const directory;
    index_t const rank = world().rank();
    std::vector<std::uint16_t> numbers{0, 1, 2, 3, 4, 5};
    const_state_dict source;
    if (rank == 0)
        source.add(whole_of("w", data_type::u16, {2, 3}),
                   const_tensor_view{numbers.data(), data_type::u16, {2, 3}, {3, 1}});
    save(world(), source, directory / "w");
    mapping program;
    program.define("turned", transpose(program.source("w", {2, 3}, data_type::u16)));
    program.add("fresh", {2}, data_type::u8);
    std::vector<std::uint16_t> turned(6, 9);
    std::vector<std::uint8_t> fresh{7, 8};
    state_dict target;
    target.add(whole_of("turned", data_type::u16, {3, 2}),
               tensor_view{turned.data(), data_type::u16, {3, 2}, {2, 1}});
    target.add(whole_of("fresh", data_type::u8, {2}),
               tensor_view{fresh.data(), data_type::u8, {2}, {1}});
    load(world(), open_checkpoint(world(), directory / "w"), target, {.program = program});
    BOOST_TEST(turned == (std::vector<std::uint16_t>{0, 3, 1, 4, 2, 5}),
               boost::test_tools::per_element());
    BOOST_TEST(fresh == (std::vector<std::uint8_t>{7, 8}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
