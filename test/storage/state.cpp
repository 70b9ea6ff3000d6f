// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/program.hpp>
#include <reshard/layout/equal_shares.hpp>
#include <reshard/model/tensor_cut.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>

#include "shared_directory.hpp"
#include "support/says.hpp"

#include <numeric>

/// \file
/// Tensors, objects, common values and others, by names.

BOOST_AUTO_TEST_SUITE(storage_state)

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::model;
using namespace reshard::test;

std::vector<std::string> keys_in(checkpoint const& saved) {
    std::vector<std::string> keys;
    for (checkpoint_tensor const& tensor : saved.metadata().tensors)
        keys.push_back(tensor.key);
    return keys;
}

/// 128 elements in equal parts along their axis, or whole on each rank of which some do not matter.
struct part_of_128 {
    std::vector<float> elements;
    shard_descriptor shard;

    part_of_128(index_t part, index_t parts)
        : elements(static_cast<std::size_t>(128 / parts)),
          shard(equal_shares("w", data_type::f32, {128 / parts}, {{0, part, parts}})) {
        std::iota(elements.begin(), elements.end(), static_cast<float>(part * (128 / parts)));
    }

    local_shard entry() {
        return {shard, {elements.data(), data_type::f32, local_shape(shard), {1}}};
    }
};

/// Rank `r` has generator `r`, one for each rank, and everybody the learning rate.
model_state values_of_rank() {
    index_t const rank = world().rank(), size = world().size();
    return {{"generator", stored_object{{"rng", {size}, {rank}},
                                        std::string(static_cast<std::size_t>(3 + rank), 'a')}},
            {"lr", stored_value{"0.1"}},
            {"empty", stored_value{""}},
            {"timer", unsaved_value{world().rank()}}};
}

std::string bytes_of_object(model_state const& state, char const* name) {
    return std::get<stored_object>(state.at(name)).bytes;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_kind_of_entry_is_saved_and_loaded_as_it_should_be) {
    shared_directory const directory;
    part_of_128 source(0, 1);
    model_state saved = values_of_rank();
    saved["weight"] = source.entry();
    save_state(world(), saved, directory / "saved");

    // Other names, other values; each rank takes the generator of the next one.
    part_of_128 target(0, 1);
    std::vector<float> const expected = target.elements;
    target.elements.assign(128, -1);
    index_t const size = world().size(), next = (world().rank() + 1) % size;
    model_state state{{"my_weight", target.entry()},
                      {"my_generator", stored_object{{"rng", {size}, {next}}, "old"}},
                      {"lr", stored_value{"5"}},
                      {"timer", unsaved_value{std::string("kept")}}};
    auto const checkpoint = open_checkpoint(world(), directory / "saved");
    load_state(world(), checkpoint, state);
    BOOST_TEST(target.elements == expected, boost::test_tools::per_element());
    BOOST_TEST(bytes_of_object(state, "my_generator") ==
               std::string(static_cast<std::size_t>(3 + next), 'a'));
    BOOST_TEST(std::get<stored_value>(state.at("lr")).bytes == "0.1");
    BOOST_TEST(std::get<stored_value>(state.at("empty")).bytes == "");
    BOOST_TEST(std::any_cast<std::string>(std::get<unsaved_value>(state.at("timer")).value) ==
               "kept");

    std::vector<std::string> keys{"common/empty", "common/lr"};
    for (index_t rank = 0; rank < size; ++rank)
        keys.push_back("rng/shard_" + std::to_string(rank) + "_" + std::to_string(size));
    keys.push_back("w");
    BOOST_TEST(keys_in(checkpoint) == keys, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_any_number_of_parts_saved_any_other_number_loads) {
    // Only the first ranks take part, in 1, 2, 4, ... equal parts as far as there are ranks.
    shared_directory const directory;
    index_t const rank = world().rank();
    for (index_t from = 1; from <= world().size(); from *= 2) {
        part_of_128 source(std::min(rank, from - 1), from);
        model_state saved;
        if (rank < from)
            saved["w"] = source.entry();
        auto const path = directory / std::to_string(from);
        save_state(world(), saved, path);
        auto const checkpoint = open_checkpoint(world(), path);
        for (index_t to = 1; to <= world().size(); to *= 2) {
            part_of_128 target(std::min(rank, to - 1), to);
            std::vector<float> const expected = target.elements;
            target.elements.assign(expected.size(), -1);
            model_state state{{"other name", target.entry()}};
            load_state(world(), checkpoint, state);
            BOOST_TEST(target.elements == expected, boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(a_deferred_tensor_is_built_for_the_file_and_merged_from_it) {
    shared_directory const directory;
    std::vector<float> elements{1, 2, 3};
    int merges = 0;
    // The file has the double of each element.
    deferred_tensor::functions const doubled{
        [](std::string const& key, tensor_view const& tensor) {
            auto const memory = std::make_shared<std::vector<float>>(3);
            for (std::size_t i = 0; i < 3; ++i)
                (*memory)[i] = 2 * static_cast<float*>(tensor.data)[i];
            deferred_tensor::built built;
            built.memory = memory;
            built.shards.add(replicated(key + ".doubled", tensor.dtype, tensor.shape),
                             tensor_view{memory->data(), tensor.dtype, tensor.shape, {1}});
            return built;
        },
        [&](deferred_tensor::built const& built, tensor_view const& tensor) {
            ++merges;
            for (std::size_t i = 0; i < 3; ++i)
                static_cast<float*>(tensor.data)[i] =
                    static_cast<float*>(built.shards[0].tensor.data)[i] / 2;
        }};
    model_state state{
        {"w", deferred_tensor{"w", {elements.data(), data_type::f32, {3}, {1}}, doubled}}};
    save_state(world(), state, directory / "saved");
    BOOST_TEST(merges == 0);
    auto const checkpoint = open_checkpoint(world(), directory / "saved");
    BOOST_TEST(keys_in(checkpoint) == std::vector<std::string>{"w.doubled"},
               boost::test_tools::per_element());
    std::vector<float> stored(3);
    state_dict plain;
    plain.add(replicated("w.doubled", data_type::f32, {3}),
              tensor_view{stored.data(), data_type::f32, {3}, {1}});
    load(world(), checkpoint, plain);
    BOOST_TEST(stored == (std::vector<float>{2, 4, 6}), boost::test_tools::per_element());
    elements = {0, 0, 0};
    load_state(world(), checkpoint, state);
    BOOST_TEST(elements == (std::vector<float>{1, 2, 3}), boost::test_tools::per_element());
    BOOST_TEST(merges == 1);
}

BOOST_AUTO_TEST_CASE(a_factory_that_fails_on_one_rank_is_an_error_on_all) {
    shared_directory const directory;
    bool const is_last = world().rank() == world().size() - 1;
    std::vector<float> elements(1);
    deferred_tensor::functions const failing{[&](std::string const& key, tensor_view const&) {
        if (is_last)
            fail(errc::unsupported, "no " + key + " today");
        return deferred_tensor::built{};
    }};
    model_state const state{
        {"w", deferred_tensor{"w", {elements.data(), data_type::f32, {1}, {1}}, failing}}};
    BOOST_CHECK_EXCEPTION(save_state(world(), state, directory / "saved"), error,
                          says(errc::unsupported, "no w today"));
    BOOST_TEST(directory.names().empty());
}

BOOST_AUTO_TEST_CASE(an_array_that_lacks_a_cell_is_not_saved) {
    shared_directory const directory;
    index_t const size = world().size();
    model_state const state{
        {"generator", stored_object{{"rng", {size + 1}, {world().rank()}}, "x"}}};
    BOOST_CHECK_EXCEPTION(
        save_state(world(), state, directory / "saved"), error,
        says(errc::not_covered, "'rng': no rank has the object [" + std::to_string(size) +
                                    "] of an array of shape [" + std::to_string(size + 1) + "]"));
    BOOST_TEST(directory.names().empty());
}

BOOST_AUTO_TEST_CASE(common_values_that_differ_are_not_saved) {
    if (world().size() == 1)
        return;
    shared_directory const directory;
    model_state const state{{"seed", stored_value{std::to_string(world().rank())}}};
    BOOST_CHECK_EXCEPTION(save_state(world(), state, directory / "saved"), error,
                          says(errc::ranks_disagree,
                               "the common value 'seed' differs: it has 1 byte on rank 0 and 1 "
                               "different byte on rank 1"));
    BOOST_TEST(directory.names().empty());
}

BOOST_AUTO_TEST_CASE(a_tensor_may_not_be_called_as_a_common_value_is) {
    shared_directory const directory;
    std::vector<float> elements(1);
    model_state const state{{"w", local_shard{replicated("common/w", data_type::f32, {1}),
                                              {elements.data(), data_type::f32, {1}, {1}}}}};
    BOOST_CHECK_EXCEPTION(save_state(world(), state, directory / "saved"), error,
                          says(errc::bad_layout, "'common/w': keys that begin with 'common/' are "
                                                 "reserved for common values; use another key"));
}

BOOST_AUTO_TEST_CASE(what_the_checkpoint_does_not_have_leaves_the_state_as_it_is) {
    shared_directory const directory;
    save_state(world(), values_of_rank(), directory / "saved");
    std::string const path = (directory / "saved").string();
    auto const checkpoint = open_checkpoint(world(), directory / "saved");
    model_state state{{"generator", stored_object{{"rgn", {9}, {1}}, "old"}},
                      {"lr", stored_value{"5"}}};
    BOOST_CHECK_EXCEPTION(load_state(world(), checkpoint, state), error, [&](error const& problem) {
        return problem.code() == errc::unknown_key &&
               std::string(problem.what())
                   .starts_with(path + ": has no object 'rgn' [1] of [9] (key 'rgn/shard_1_9')");
    });
    BOOST_TEST(bytes_of_object(state, "generator") == "old");
    BOOST_TEST(std::get<stored_value>(state.at("lr")).bytes == "5");

    model_state more{{"lr", stored_value{"5"}}, {"step", stored_value{"7"}}};
    for (std::optional<strictness> const mode :
         {std::optional<strictness>(), std::optional(strictness::assume_ok_unexpected),
          std::optional(strictness::raise_all)})
        BOOST_CHECK_EXCEPTION(load_state(world(), checkpoint, more, {.strict = mode}), error,
                              mentions(errc::unknown_key, "common/step"));
    BOOST_TEST(std::get<stored_value>(more.at("lr")).bytes == "5");
    auto const verdict =
        load_state(world(), checkpoint, more, {.strict = strictness::return_unexpected});
    BOOST_TEST(std::get<stored_value>(more.at("lr")).bytes == "0.1");
    BOOST_TEST(std::get<stored_value>(more.at("step")).bytes == "7");
    BOOST_TEST((verdict.give_back.unexpected == std::vector<std::string>{"common/step"}));

    model_state other_state{{"lr", unsaved_value{}}};
    BOOST_CHECK_EXCEPTION(load_state(world(), checkpoint, other_state), error,
                          says(errc::usage, path + ": 'lr' is a common value in the checkpoint, "
                                                   "but not in the state; rename it in the state"));
}

namespace {

/// An object that notes its calls.
struct recorded {
    std::string name;
    std::string& calls;
    float weight = 0;
    std::string step = "none";
    std::string failing = {}; ///< the call that fails

    void note(std::string const& call) {
        calls += name + "." + call + ";";
        if (call == failing)
            fail(errc::unsupported, name + "." + call + " fails");
    }

    model_state state() {
        note("state");
        return {{name + ".weight", local_shard{replicated(name, data_type::f32, {1}),
                                               {&weight, data_type::f32, {1}, {1}}}},
                {name + ".step", stored_value{step}}};
    }

    void loaded(model_state const& state) {
        note("loaded with " + std::to_string(weight).substr(0, 1));
        step = std::get<stored_value>(state.at(name + ".step")).bytes;
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(objects_are_asked_before_a_save_and_a_load_and_told_after_a_load) {
    shared_directory const directory;
    std::string calls;
    recorded model{"model", calls, 3, "7"}, optimizer{"adam", calls, 4, "8"};
    save_state(world(), std::tie(model, optimizer), directory / "saved");
    BOOST_TEST(calls == "model.state;adam.state;");
    model.weight = optimizer.weight = 0;
    model.step = optimizer.step = "none";
    calls.clear();
    auto const checkpoint = open_checkpoint(world(), directory / "saved");
    load_state(world(), checkpoint, std::tie(model, optimizer));
    BOOST_TEST(calls == "model.state;adam.state;model.loaded with 3;adam.loaded with 4;");
    BOOST_TEST(model.step == "7");
    BOOST_TEST(optimizer.step == "8");

    calls.clear();
    load_state(world(), checkpoint, std::tie(optimizer));
    BOOST_TEST(calls == "adam.state;adam.loaded with 4;");
}

BOOST_AUTO_TEST_CASE(an_object_is_not_told_that_it_is_loaded_where_the_load_failed_on_any_rank) {
    shared_directory const directory;
    std::string calls;
    recorded model{"model", calls, 3}, optimizer{"adam", calls, 4};
    save_state(world(), std::tie(model), directory / "saved");
    auto const checkpoint = open_checkpoint(world(), directory / "saved");
    calls.clear();
    BOOST_CHECK_EXCEPTION(load_state(world(), checkpoint, std::tie(model, optimizer)), error,
                          mentions(errc::unknown_key, "adam"));
    BOOST_TEST(calls == "model.state;adam.state;");

    bool const is_last = world().rank() == world().size() - 1;
    calls.clear();
    model.failing = is_last ? "state" : "";
    BOOST_CHECK_EXCEPTION(load_state(world(), checkpoint, std::tie(model)), error,
                          says(errc::unsupported, "model.state fails"));
    BOOST_CHECK_EXCEPTION(save_state(world(), std::tie(model), directory / "other"), error,
                          says(errc::unsupported, "model.state fails"));
    BOOST_TEST(calls == "model.state;model.state;");

    model.failing = is_last ? "loaded with 3" : "";
    BOOST_CHECK_EXCEPTION(load_state(world(), checkpoint, std::tie(model)), error,
                          says(errc::unsupported, "model.loaded with 3 fails"));
    BOOST_TEST((directory.names() == std::vector<std::string>{"saved"}));
}

BOOST_AUTO_TEST_CASE(two_objects_give_no_name_twice) {
    shared_directory const directory;
    std::string calls;
    recorded model{"model", calls}, twin{"model", calls};
    BOOST_CHECK_EXCEPTION(
        save_state(world(), std::tie(model, twin), directory / "saved"), error,
        says(errc::usage, "'model.step' is given by two objects; give it another name in one of "
                          "them"));
    BOOST_TEST(directory.names().empty());
}

BOOST_AUTO_TEST_SUITE_END()
