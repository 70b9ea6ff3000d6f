// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/program.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/format/names/variable_names.hpp>
#include <reshard/storage/convert.hpp>
#include <reshard/storage/load.hpp>
#include <reshard/storage/save.hpp>

#include "held.hpp"
#include "shared_directory.hpp"

/// \file
/// Keys that only one side has: a checkpoint of `a` and `c`, and tensors `a` and `b` that want it.

BOOST_AUTO_TEST_SUITE(storage_strictness)

namespace {

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

shard_descriptor const strict_a = whole_of("a", data_type::f32, {6});
shard_descriptor const strict_b = whole_of("b", data_type::f32, {3});
shard_descriptor const strict_c = whole_of("c", data_type::f32, {2});

/// The checkpoint that the first rank has saved.
class stored_a_and_c {
public:
    stored_a_and_c() {
        held source(world().rank() == 0 ? std::vector{strict_a, strict_c}
                                        : std::vector<shard_descriptor>{});
        save(world(), source.tensors(), directory / "stored");
    }

    checkpoint open() const { return open_checkpoint(world(), directory / "stored"); }

    shared_directory const directory;
};

/// Every rank wants all of `a` and `b`.
struct wanted_a_and_b {
    held a{{strict_a}};
    held b{{strict_b}};

    state_dict cleared() {
        state_dict tensors;
        for (auto const& [shard, view] :
             {std::pair(strict_a, view_of(a, strict_a)), std::pair(strict_b, view_of(b, strict_b))})
            tensors.add(shard, view);
        return tensors;
    }

    static tensor_view view_of(held& current_held, shard_descriptor const& shard) {
        current_held.cleared();
        return {current_held.memory(0).data(), shard.dtype, shard.global_shape, {1}};
    }
};

std::string with_path(std::filesystem::path const& path, char const* text) {
    return path.string() + ": " + text;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_lenient_load_leaves_what_is_not_there_as_it_is) {
    stored_a_and_c const stored;
    checkpoint const source = stored.open();
    for (strictness const mode :
         {strictness::log_unexpected, strictness::log_all, strictness::return_unexpected,
          strictness::return_all, strictness::ignore_all}) {
        wanted_a_and_b wanted;
        strict_verdict const verdict = load(world(), source, wanted.cleared(), {.strict = mode});
        BOOST_TEST((verdict == judge(mode, {{"b"}, {"c"}})), name(mode));
        BOOST_TEST(wanted.a.wrong() == "");
        BOOST_TEST(wanted.b.is_untouched());
    }
}

BOOST_AUTO_TEST_CASE(a_strict_load_names_the_keys_and_writes_nothing) {
    stored_a_and_c const stored;
    checkpoint const source = stored.open();
    std::pair<std::optional<strictness>, char const*> const table[] = {
        {std::nullopt, "'b' is wanted by rank 0, but the source does not have it"},
        {strictness::assume_ok_unexpected,
         "'b' is wanted by rank 0, but the source does not have it"},
        {strictness::raise_unexpected, "1 key is wanted but not available: 'b'"},
        {strictness::raise_all,
         "1 key is wanted but not available: 'b'; 1 key is available but not wanted: 'c'"}};
    for (auto const& [mode, text] : table) {
        wanted_a_and_b wanted;
        std::string const sentence = with_path(stored.directory / "stored", text);
        BOOST_CHECK_EXCEPTION(load(world(), source, wanted.cleared(), {.strict = mode}), error,
                              [&](error const& problem) {
                                  BOOST_TEST(problem.what() == sentence);
                                  return problem.code() == errc::unknown_key;
                              });
        BOOST_TEST(wanted.a.is_untouched());
        BOOST_TEST(wanted.b.is_untouched());
    }
}

BOOST_AUTO_TEST_CASE(what_is_there_and_not_wanted_is_an_error_where_that_is_asked) {
    stored_a_and_c const stored;
    checkpoint const source = stored.open();
    held only_a({strict_a});
    BOOST_CHECK_NO_THROW(load(world(), source, only_a.cleared().tensors(),
                              {.strict = strictness::raise_unexpected}));
    BOOST_TEST(only_a.wrong() == "");
    BOOST_CHECK_THROW(
        load(world(), source, only_a.cleared().tensors(), {.strict = strictness::raise_all}),
        error);
}

BOOST_AUTO_TEST_CASE(with_a_program_the_keys_are_those_that_it_yields) {
    stored_a_and_c const stored;
    checkpoint const source = stored.open();
    mapping program(catalog_of(source));
    program.define("a", program.source(0));
    program.define("d", program.source(1));
    wanted_a_and_b wanted;
    strict_verdict const verdict = load(world(), source, wanted.cleared(),
                                        {.program = program, .strict = strictness::return_all});
    BOOST_TEST((verdict.give_back == key_mismatch{{"b"}, {"d"}}));
    BOOST_TEST(wanted.a.wrong() == "");
    BOOST_TEST(wanted.b.is_untouched());
}

BOOST_AUTO_TEST_CASE(a_lenient_conversion_does_not_write_what_is_not_there) {
    stored_a_and_c const stored;
    checkpoint const source = stored.open();
    layout const wanted =
        layout_of(std::vector<std::vector<shard_descriptor>>{{strict_a, strict_b}});
    mapping const everything = identity_mapping(catalog_of(source));
    auto const report =
        convert(world(), source, stored.directory / "lenient",
                {.program = everything, .wanted = wanted, .strict = strictness::log_all});
    BOOST_TEST((report.keys_judged.log == key_mismatch{{"b"}, {"c"}}));
    BOOST_TEST(report.keys == 1);
    auto const written = open_checkpoint(world(), stored.directory / "lenient");
    BOOST_TEST(written.files_layout().find("b") == nullptr);
    held a({strict_a});
    load(world(), written, a.cleared().tensors());
    BOOST_TEST(a.wrong() == "");
    BOOST_CHECK_THROW(
        convert(world(), source, stored.directory / "strict",
                {.program = everything, .wanted = wanted, .strict = strictness::raise_unexpected}),
        error);
    BOOST_TEST(!std::filesystem::exists(stored.directory / "strict"));
}

BOOST_AUTO_TEST_CASE(a_name_of_another_framework_is_said_and_taken_where_it_is_asked_for) {
    shard_descriptor const stored = whole_of("l/w", data_type::f32, {6});
    shard_descriptor const named = whole_of("l.w", data_type::f32, {6});
    shared_directory const directory;
    held source(world().rank() == 0 ? std::vector{stored} : std::vector<shard_descriptor>{});
    save(world(), source.tensors(), directory / "stored");
    checkpoint const saved = open_checkpoint(world(), directory / "stored");
    held target({named});
    target.cleared();
    state_dict want;
    want.add(named, {target.memory(0).data(), named.dtype, named.global_shape, {1}});
    BOOST_CHECK_EXCEPTION(load(world(), saved, want), error, [](error const& problem) {
        return std::string_view(problem.what())
                   .find("; 'l.w' is called 'l/w' in the name table 'separators'") !=
               std::string_view::npos;
    });
    std::vector<std::string> digests;
    load(world(), saved, want,
         {.program = model::program_by_names(
              {"wrappers", "separators"}, [&](model::name_table const& table, auto const& element) {
                  digests.push_back(element.wanted + " " + element.stored + " " +
                                    std::string(table.name));
              })});
    BOOST_TEST((digests == std::vector<std::string>{"l.w l/w separators"}));
    BOOST_TEST((target.memory(0) == content_of(stored)));
}

BOOST_AUTO_TEST_SUITE_END()
