// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/program.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>

#include "shared_directory.hpp"
#include "support/says.hpp"

/// \file
/// Objects of ranks, such as random generators, saved by some number of ranks and loaded by
/// another.

BOOST_AUTO_TEST_SUITE(storage_objects)

namespace {

using namespace reshard;
using namespace reshard::test;

/// The content of cell `i` when it was saved; cells have unequal sizes, the first one none.
std::string saved_content(index_t i) { return std::string(static_cast<std::size_t>(3 * i), 'a'); }

/// The cells of an array of `count`, dealt out to the ranks: also more than there are ranks, or
/// fewer.
model_state generators(index_t count, std::string const& content, object_rule beyond = {}) {
    model_state state;
    for (index_t i = world().rank(); i < count; i += world().size())
        state["generator " + std::to_string(i)] =
            stored_object{{"rng", {count}, {i}}, content, beyond};
    return state;
}

void save_generators(std::filesystem::path const& path, index_t count) {
    model_state state = generators(count, "");
    for (auto& [name, entry] : state) {
        auto& object = std::get<stored_object>(entry);
        object.bytes = saved_content(object.cell.index[0]);
    }
    save_state(world(), state, path);
}

/// The content of each of this rank's cells, in order.
std::vector<std::string> contents(model_state const& state) {
    std::vector<std::string> all;
    for (auto const& [name, entry] : state)
        all.push_back(std::get<stored_object>(entry).bytes);
    return all;
}

/// The same as `expected(i)` says of cell `i`.
template <class Expected>
void check_contents(model_state const& state, Expected const& expected) {
    for (auto const& [name, entry] : state) {
        auto const& object = std::get<stored_object>(entry);
        BOOST_TEST(object.bytes == expected(object.cell.index[0]), name);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(more_ranks_than_saved_get_cells_by_the_rule_that_they_choose) {
    shared_directory const directory;
    save_generators(directory / "3", 3);
    auto const saved = open_checkpoint(world(), directory / "3");

    model_state repeated = generators(7, "fresh", object_rule::repeat);
    strict_verdict const verdict = load_state(world(), saved, repeated);
    check_contents(repeated, [](index_t i) { return saved_content(i % 3); });
    BOOST_TEST(verdict.log.missing.empty());

    model_state kept = generators(7, "fresh", object_rule::keep);
    load_state(world(), saved, kept);
    check_contents(kept, [](index_t i) { return i < 3 ? saved_content(i) : "fresh"; });
}

BOOST_AUTO_TEST_CASE(more_ranks_than_saved_are_an_error_by_default) {
    shared_directory const directory;
    save_generators(directory / "3", 3);
    auto const saved = open_checkpoint(world(), directory / "3");
    model_state state = generators(4, "fresh");
    BOOST_CHECK_EXCEPTION(
        load_state(world(), saved, state), error,
        says(errc::unknown_key,
             (directory / "3").string() +
                 ": object 'rng' [3] of [4]: the checkpoint's array has the shape [3], so the "
                 "object is outside it; set stored_object::beyond to repeat (the object gets "
                 "another object's cell) or to keep (it stays as it is)"));
    check_contents(state, [](index_t) { return "fresh"; });
}

BOOST_AUTO_TEST_CASE(fewer_ranks_than_saved_get_their_own_and_are_told_what_is_left) {
    shared_directory const directory;
    save_generators(directory / "5", 5);
    auto const saved = open_checkpoint(world(), directory / "5");
    std::vector<std::string> const left{"rng/shard_3_5", "rng/shard_4_5"};
    for (object_rule const rule : {object_rule::refuse, object_rule::repeat, object_rule::keep}) {
        model_state state = generators(3, "fresh", rule);
        strict_verdict const verdict = load_state(world(), saved, state);
        check_contents(state, saved_content);
        BOOST_TEST(verdict.log.missing == left, boost::test_tools::per_element());
    }
    // With a mode, its own lists say it.
    model_state state = generators(3, "fresh");
    strict_verdict const verdict =
        load_state(world(), saved, state, {.strict = strictness::return_all});
    BOOST_TEST(verdict.give_back.missing == left, boost::test_tools::per_element());
    BOOST_TEST(verdict.log.missing.empty());
    BOOST_CHECK_THROW(load_state(world(), saved, state, {.strict = strictness::raise_all}), error);
}

BOOST_AUTO_TEST_CASE(the_same_number_gets_its_own_whatever_the_rule) {
    shared_directory const directory;
    save_generators(directory / "4", 4);
    auto const saved = open_checkpoint(world(), directory / "4");
    for (object_rule const rule : {object_rule::refuse, object_rule::repeat, object_rule::keep}) {
        model_state state = generators(4, "fresh", rule);
        BOOST_TEST(load_state(world(), saved, state).log.missing.empty());
        check_contents(state, saved_content);
    }
}

BOOST_AUTO_TEST_CASE(arrays_of_several_axes_repeat_along_each) {
    // saved by 2 x 1, loaded by 3 x 2
    shared_directory const directory;
    model_state source;
    if (world().rank() == 0)
        source = {{"a", stored_object{{"rng", {2, 1}, {0, 0}}, "00"}},
                  {"b", stored_object{{"rng", {2, 1}, {1, 0}}, "10"}}};
    save_state(world(), source, directory / "saved");
    auto const saved = open_checkpoint(world(), directory / "saved");
    auto const cell = [](index_t row, index_t column, object_rule rule) {
        return stored_object{{"rng", {3, 2}, {row, column}}, "fresh", rule};
    };
    model_state state{{"a", cell(1, 1, object_rule::repeat)},
                      {"b", cell(2, 0, object_rule::repeat)},
                      {"c", cell(2, 1, object_rule::keep)},
                      {"d", cell(1, 0, object_rule::keep)}};
    load_state(world(), saved, state);
    BOOST_TEST(contents(state) == (std::vector<std::string>{"10", "00", "fresh", "10"}),
               boost::test_tools::per_element());

    model_state flat{{"a", stored_object{{"rng", {2}, {1}}, "fresh", object_rule::repeat}}};
    BOOST_CHECK_EXCEPTION(
        load_state(world(), saved, flat), error,
        says(errc::shape_mismatch, (directory / "saved").string() +
                                       ": object 'rng' [1] of [2]: the checkpoint's array "
                                       "has another number of axes: its shape is [2, 1]"));
}

BOOST_AUTO_TEST_CASE(a_scalar_array_and_keys_that_look_alike_are_told_apart) {
    shared_directory const directory;
    model_state source;
    if (world().rank() == 0)
        source = {{"one", stored_object{{"rng", {}, {}}, "one"}},
                  {"two", stored_object{{"rng/shard_x", {1}, {0}}, "two"}},
                  {"other", stored_object{{"rng2", {1}, {0}}, "other"}}};
    save_state(world(), source, directory / "saved");
    auto const saved = open_checkpoint(world(), directory / "saved");
    model_state state{{"one", stored_object{{"rng", {}, {}}, ""}},
                      {"two", stored_object{{"rng/shard_x", {2}, {1}}, "", object_rule::repeat}}};
    strict_verdict const verdict = load_state(world(), saved, state);
    BOOST_TEST(contents(state) == (std::vector<std::string>{"one", "two"}),
               boost::test_tools::per_element());
    BOOST_TEST(verdict.log.missing.empty()); // nobody asked for rng2
}

BOOST_AUTO_TEST_SUITE_END()
