// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/names/variable_names.hpp>

#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::model;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(model_master_names)

namespace {

catalog stored_vectors(std::vector<std::string> const& keys) {
    std::vector<catalog_entry> entries;
    for (std::string const& key : keys)
        entries.push_back({key, data_type::f32, {4}, {1}});
    return catalog(entries);
}

} // namespace

BOOST_AUTO_TEST_CASE(only_what_is_missing_is_renamed_and_all_of_it_is_reported) {
    catalog const stored = stored_vectors(
        {"opt.a_fp32_master_0", "opt.b_fp32_master_0", "opt.master_weights.b", "opt.c"});
    auto const renamed = renamed_by(
        find_name_table("master-weights"),
        {"opt.master_weights.a", "opt.master_weights.b", "opt.master_weights.c", "opt.c", "opt.d"},
        stored);
    BOOST_TEST(
        (renamed == std::vector<renamed_key>{{"opt.master_weights.a", "opt.a_fp32_master_0"}}));
    mapping program;
    define_renamed(program, renamed, stored);
    BOOST_TEST(program.sources().size() == 1);
    BOOST_TEST(program.sources().key(0) == "opt.a_fp32_master_0");
    BOOST_TEST((program.find("opt.master_weights.a")->value == program.source(0)));
}

BOOST_AUTO_TEST_CASE(a_name_that_is_not_stored_is_refused) {
    mapping program;
    BOOST_CHECK_EXCEPTION(
        define_renamed(program, {{"a", "b"}}, stored_vectors({"a"})), error,
        test::says(errc::unknown_key,
                   "'a' should be read from 'b', which the source does not have"));
}

BOOST_AUTO_TEST_CASE(each_table_finds_what_other_frameworks_and_versions_store) {
    struct example {
        std::string table, wanted, stored;
    };
    for (auto const& [table, wanted, stored] :
         std::vector<example>{{"master-weights", "opt.master_weights.l.w", "opt.l.w_fp32_master_0"},
                              {"master-weights", "opt.l.w_fp32_master_0", "opt.master_weights.l.w"},
                              {"master-weights", "l.weight.w_0", "master_weights.l.weight"},
                              {"master-weights", "master_weights.l.weight", "l.weight.w_0"},
                              {"master-weights", "w_fp32_master", "w_fp32_master_0"},
                              {"slices", "linear_0.w_0", "slice@linear_0.w_0"},
                              {"slices", "slice@linear_0.w_0", "linear_0.w_0"},
                              {"separators", "a.b.c", "a/b/c"},
                              {"separators", "a/b/c", "a.b.c"},
                              {"wrappers", "l.w", "module.l.w"},
                              {"wrappers", "_orig_mod.l.w", "l.w"}}) {
        auto const renamed = renamed_by(find_name_table(table), {wanted}, stored_vectors({stored}));
        BOOST_TEST((renamed == std::vector<renamed_key>{{wanted, stored}}),
                   table << ": " << wanted);
        for (name_table const& name_table : name_tables())
            if (name_table.name != table)
                BOOST_TEST(renamed_by(name_table, {wanted}, stored_vectors({stored})).empty());
    }
}

BOOST_AUTO_TEST_CASE(a_segment_is_whole_and_other_states_are_no_master_weights) {
    name_table const& masters = find_name_table("master-weights");
    BOOST_TEST(masters.others("opt.my_master_weights.w").empty());
    BOOST_TEST(masters.others("opt.w.moment1_0").empty());
}

BOOST_AUTO_TEST_CASE(a_key_with_two_other_names_is_not_renamed) {
    catalog const stored = stored_vectors({"module.w", "_orig_mod.w"});
    BOOST_TEST(renamed_by(find_name_table("wrappers"), {"w"}, stored).empty());
}

BOOST_AUTO_TEST_CASE(a_program_takes_stored_names_first_and_tells_what_it_renames) {
    std::vector<std::string> digests;
    auto const program = program_by_names(
        {"separators", "wrappers"}, [&](name_table const& table, renamed_key const& renamed_key) {
            digests.push_back(renamed_key.wanted + " " + renamed_key.stored + " " +
                              std::string(table.name));
        });
    catalog const stored = stored_vectors({"a.b", "a/b", "c/d", "module.e", "f"});
    catalog const wanted = stored_vectors({"a.b", "c.d", "e", "g"});
    mapping const mapping = program(stored, &wanted);
    BOOST_TEST((digests == std::vector<std::string>{"c.d c/d separators", "e module.e wrappers"}));
    BOOST_TEST(mapping.outputs().size() == 3);
    BOOST_TEST(mapping.sources().key(mapping.find("a.b")->value.pieces.source(0)) == "a.b");
    BOOST_TEST(mapping.sources().key(mapping.find("e")->value.pieces.source(0)) == "module.e");
    BOOST_TEST(!mapping.find("g"));
}

BOOST_AUTO_TEST_CASE(a_table_that_there_is_not_is_refused_with_all_that_there_are) {
    BOOST_CHECK_EXCEPTION(program_by_names({"seperators"}), error,
                          test::says(errc::usage, "unknown table of names 'seperators' (did "
                                                  "you mean 'separators'?); choose one of "
                                                  "master-weights, slices, separators, wrappers"));
}

BOOST_AUTO_TEST_CASE(what_is_missing_has_a_hint_of_the_tables_that_find_it) {
    catalog const stored = stored_vectors({"a/b", "c/d", "module.e"});
    BOOST_TEST(hint_of_names({"a.b", "c.d", "e", "x"}, stored) ==
               "'a.b' is called 'a/b' in the name table 'separators' (and 1 more key), "
               "'e' is called 'module.e' in the name table 'wrappers'");
    BOOST_TEST(hint_of_names({"x"}, stored) == "");
}

BOOST_AUTO_TEST_SUITE_END()
