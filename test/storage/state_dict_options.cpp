// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/program.hpp>
#include <reshard/group/gather_layout.hpp>
#include <reshard/layout/equal_shares.hpp>
#include <reshard/mpi/redistribute.hpp>
#include <reshard/storage/convert.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>
#include <reshard/storage/save_async.hpp>

#include "held.hpp"
#include "shared_directory.hpp"
#include "support/says.hpp"

/// \file
/// What options of state dicts ask for in other libraries: whole tensors on one rank, or from one,
/// without some of them, and saves that only the layout can load that was saved.

BOOST_AUTO_TEST_SUITE(storage_state_dict_options)

namespace {

using namespace reshard;
using namespace reshard::test;

/// Seven rows, of which each rank has two and the last one the rest, or none; a flat range, a
/// tensor without elements, and a scalar and a bias that all have.
std::vector<shard_descriptor> sharded(index_t rank, index_t size) {
    index_t const rows = 7, first = std::min(rows, 2 * rank),
                  end = rank + 1 == size ? rows : std::min(rows, first + 2);
    std::vector<shard_descriptor> shards{
        shard_of("w", data_type::f32, {rows, 3}, {first, 0}, {end - first, 3}),
        whole_of("scalar", data_type::i32, {}), whole_of("bias", data_type::bf16, {5})};
    shards.push_back({"flat",
                      data_type::f32,
                      {5},
                      whole({5}),
                      flat_range{5 * rank / size, 5 * (rank + 1) / size}});
    if (rank == 0)
        shards.push_back(whole_of("empty", data_type::u8, {0, 2}));
    return shards;
}

std::vector<shard_descriptor> sharded() { return sharded(world().rank(), world().size()); }

/// Everything, whole.
std::vector<shard_descriptor> full(catalog const& catalog) {
    std::vector<shard_descriptor> shards;
    for (catalog_entry const& tensor : catalog)
        shards.push_back(replicated(tensor.key, tensor.dtype, tensor.shape));
    return shards;
}

bool is_first() { return world().rank() == 0; }

} // namespace

BOOST_AUTO_TEST_CASE(whole_tensors_go_to_the_first_rank_alone_and_come_back_from_it) {
    held part(sharded());
    catalog const catalog = catalog_of(gather_layout(world(), part.tensors().descriptors()));
    BOOST_TEST(catalog.size() == 5u);
    held whole_held(is_first() ? full(catalog) : std::vector<shard_descriptor>());
    redistribute(world(), part.tensors(), whole_held.cleared().tensors());
    BOOST_TEST(whole_held.wrong() == "");
    redistribute(world(), whole_held.tensors(), part.cleared().tensors());
    BOOST_TEST(part.wrong() == "");
    held everywhere(full(catalog));
    redistribute(world(), part.tensors(), everywhere.cleared().tensors());
    BOOST_TEST(everywhere.wrong() == "");
}

BOOST_AUTO_TEST_CASE(a_checkpoint_that_the_first_rank_alone_sees_is_loaded_by_all) {
    shared_directory const directory;
    held part(sharded());
    save(world(), part.tensors(), directory / "sharded");
    save(world(), part.tensors(), directory / "whole", {.form = save_form::huggingface});
    for (std::string const name : {"sharded", "whole"}) {
        auto const path = is_first() ? directory / name : directory / "nothing" / name;
        load(world(), open_checkpoint(world(), path), part.cleared().tensors());
        BOOST_TEST(part.wrong() == "");
    }
}

BOOST_AUTO_TEST_CASE(any_file_that_the_first_rank_alone_sees_is_read_by_it_and_cut_for_all) {
    shared_directory const directory;
    held part(sharded());
    for (std::string const format : {"torch_save", "safetensors"}) {
        auto const path = directory / ("all." + (format == "safetensors" ? format : "pt"));
        convert(world(),
                [&] {
                    save(world(), part.tensors(), directory / format);
                    return open_checkpoint(world(), directory / format);
                }(),
                path, {.writing = {.format = format}});
        held whole_held({});
        if (is_first()) {
            auto const file = checkpoint(path);
            whole_held = held(full(catalog_of(file)));
            load(solo(), file, whole_held.cleared().tensors());
        }
        redistribute(world(), whole_held.tensors(), part.cleared().tensors());
        BOOST_TEST(part.wrong() == "", format);
    }
}

BOOST_AUTO_TEST_CASE(what_is_frozen_is_left_out_of_a_save_and_of_a_load) {
    shared_directory const directory;
    held part(sharded());
    state_dict const tensors = part.tensors();
    state_dict trained;
    for (auto const& [shard, tensor] : tensors)
        if (shard.key != "bias")
            trained.add(shard, tensor);
    save(world(), trained, directory / "trained");
    auto const saved = open_checkpoint(world(), directory / "trained");
    BOOST_TEST(!saved.files_layout().find("bias"));
    auto const verdict = load(world(), saved, tensors, {.strict = strictness::return_unexpected});
    BOOST_TEST((verdict.give_back.unexpected == std::vector<std::string>{"bias"}));
    BOOST_TEST(part.wrong() == "");
}

BOOST_AUTO_TEST_CASE(a_save_for_this_layout_only_has_a_file_a_rank_and_is_loaded_by_it) {
    shared_directory const directory;
    held part(sharded());
    async_saver saver;
    save_options const options{.writing = {.this_layout_only = true}};
    save(world(), part.tensors(), directory / "now", options);
    save_async(world(), part.tensors(), directory / "later", saver, options).get();
    meet();
    save_options again = options;
    again.writing.base = (directory / "now").string();
    save(world(), part.tensors(), directory / "delta", again);
    for (std::string const name : {"now", "later", "delta"}) {
        auto const saved = open_checkpoint(world(), directory / name);
        BOOST_TEST(saved.metadata().this_layout_only.size() ==
                   static_cast<std::size_t>(world().size()));
        load(world(), saved, part.cleared().tensors());
        BOOST_TEST(part.wrong() == "");
        held bias({whole_of("bias", data_type::bf16, {5})}); // not all of what is there
        load(world(), saved, bias.cleared().tensors());
        BOOST_TEST(bias.wrong() == "");
    }
    std::vector<std::string> files;
    for (int rank = 0; rank < world().size(); ++rank)
        files.push_back("rank-0000" + std::to_string(rank) + ".safetensors");
    files.push_back("reshard.json");
    BOOST_TEST((directory.names("now") == files));
}

BOOST_AUTO_TEST_CASE(a_save_for_this_layout_only_is_refused_in_another_one) {
    shared_directory const directory;
    held part(sharded());
    save(world(), part.tensors(), directory / "one", {.writing = {.this_layout_only = true}});
    auto const saved = open_checkpoint(world(), directory / "one");
    // Rows that are cut elsewhere, on every rank.
    index_t const rank = world().rank(), size = world().size();
    index_t const first = rank == 0 ? 0 : rank + 1, end = rank + 1 == size ? 7 : rank + 2;
    held other_held({shard_of("w", data_type::f32, {7, 3}, {first, 0}, {end - first, 3})});
    if (size == 1)
        load(world(), saved, other_held.cleared().tensors()); // alone, all rows are all rows
    else {
        BOOST_CHECK_EXCEPTION(
            load(world(), saved, other_held.cleared().tensors()), error,
            mentions(errc::bad_layout,
                     "'w': rank 1 wants [2:3, 0:3] of [7, 3], but rank 1 of 3 saved [2:4, 0:3] of "
                     "[7, 3]; this checkpoint can be loaded only in its own layout"));
        BOOST_TEST(other_held.is_untouched());
    }
    held half({{"flat", data_type::f32, {5}, whole({5}), flat_range{0, 2}}});
    BOOST_CHECK_EXCEPTION(load(world(), saved, half.tensors()), error,
                          mentions(errc::bad_layout, "'flat': rank 0 wants [0:5] flat 0:2 of [5], "
                                                     "but rank 0 of"));
    held longer(is_first() ? std::vector{shard_of("w", data_type::f32, {8, 3}, {0, 0},
                                                  {size == 1 ? 7 : 2, 3})}
                           : std::vector<shard_descriptor>());
    BOOST_CHECK_EXCEPTION(
        load(world(), saved, longer.tensors(), {.shape_mismatch = {"w"}}), error,
        mentions(errc::bad_layout, "'w': rank 0 wants [0:" + std::to_string(size == 1 ? 7 : 2) +
                                       ", 0:3] of [8, 3], but rank 0 of"));
    BOOST_CHECK_EXCEPTION(
        load(world(), saved, part.tensors(), {.program = identity_mapping(catalog_of(saved))}),
        error, mentions(errc::usage, "not through a program"));

    convert(world(), saved, directory / "two", {.wanted = saved.files_layout()});
    load(world(), open_checkpoint(world(), directory / "two"), other_held.cleared().tensors());
    BOOST_TEST(other_held.wrong() == "");
}

BOOST_AUTO_TEST_CASE(more_or_fewer_ranks_are_another_layout) {
    shared_directory const directory;
    held part(sharded());
    save(world(), part.tensors(), directory / "all", {.writing = {.this_layout_only = true}});
    if (world().size() == 1)
        return;
    if (is_first()) {
        held whole_held(sharded(0, 1));
        BOOST_CHECK_EXCEPTION(load(solo(), checkpoint(directory / "all"), whole_held.tensors()),
                              error, mentions(errc::bad_layout, " of 3 saved "));
        save(solo(), whole_held.tensors(), directory / "one",
             {.writing = {.this_layout_only = true}});
    }
    meet();
    held bias({whole_of("bias", data_type::bf16, {5})}); // rank 1 has saved none
    BOOST_CHECK_EXCEPTION(
        load(world(), open_checkpoint(world(), directory / "one"), bias.tensors()), error,
        mentions(errc::bad_layout,
                 "'bias': rank 1 wants [0:5] of [5], but rank 1 of 1 saved nothing of [5]"));
}

BOOST_AUTO_TEST_CASE(values_and_objects_of_a_save_for_this_layout_only_come_back) {
    shared_directory const directory;
    index_t const rank = world().rank(), size = world().size();
    model_state state;
    state["step"] = stored_value{"300"};
    state["random"] = stored_object{{"rng", {size}, {rank}}, std::to_string(rank)};
    save_state(world(), state, directory / "one", {.writing = {.this_layout_only = true}});
    model_state again{{"random", stored_object{{"rng", {size}, {rank}}, ""}}};
    load_state(world(), open_checkpoint(world(), directory / "one"), again);
    BOOST_TEST(std::get<stored_value>(again.at("step")).bytes == "300");
    BOOST_TEST(std::get<stored_object>(again.at("random")).bytes == std::to_string(rank));
}

BOOST_AUTO_TEST_CASE(whole_tensors_and_other_formats_are_for_any_layout) {
    shared_directory const directory;
    held part(sharded());
    auto const refuses = [&](errc code, std::string const& text, save_options options) {
        options.writing.this_layout_only = true;
        BOOST_CHECK_EXCEPTION(save(world(), part.tensors(), directory / "no", options), error,
                              mentions(code, text));
    };
    refuses(errc::usage, "whole tensors are to be written", {.form = save_form::huggingface});
    refuses(errc::unsupported, "this_layout_only", {.writing = {.format = "torch_dcp"}});
    BOOST_TEST(directory.names().empty());
}

BOOST_AUTO_TEST_SUITE_END()
