// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/other_names.hpp>

#include "support/says.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(format_other_names)

namespace {

using namespace reshard;
using namespace reshard::detail;
using names = std::map<std::string, std::string>;

/// A file of tensors of these names, with that metadata.
safetensors_header header_of(std::vector<std::string> const& tensors, names const& metadata) {
    safetensors_header header;
    for (std::string const& name : tensors)
        header.tensors.push_back({name, data_type::u8, {0}, 0, 0});
    header.metadata = metadata;
    return header;
}

checkpoint_metadata checkpoint_of(std::vector<std::string> const& tensors) {
    checkpoint_metadata opened;
    opened.files = {{"f", 8, 0}};
    for (std::string const& name : tensors)
        opened.tensors.push_back({name, data_type::u8, {2}, {{0, {{0}, {2}}, {}, 2, 4}}});
    return opened;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_name_is_an_alias_where_its_value_is_a_tensor_and_it_is_none) {
    names aliases;
    note_aliases(aliases, header_of({"w", "v"}, {{"a", "w"},
                                                 {"v", "w"},
                                                 {"b", "x"},
                                                 {"c", "a"},
                                                 {"d", "d"},
                                                 {"format", "w"},
                                                 {"RESHARD_SAVE", "w"},
                                                 {"RESHARD_HEADER", "w"},
                                                 {"RESHARD_DELTA", "w"}}));
    BOOST_TEST((aliases == names{{"a", "w"}}));
}

BOOST_AUTO_TEST_CASE(a_text_has_no_name_that_files_have_already) {
    for (std::string const name :
         {"format", "DCP_VERSION", "RESHARD_FILES", "RESHARD_HEADER", "RESHARD_DELTA", "tied"})
        BOOST_CHECK_EXCEPTION(
            check_texts({{name, "x"}}, {{"tied", "w"}}, {"w"}), error,
            test::mentions(errc::usage, "'" + name + "' is a name that the files already use"));
    BOOST_CHECK_EXCEPTION(check_texts({{"a", "w"}}, {}, {"w"}), error,
                          test::mentions(errc::usage, "'a' has the value 'w', which is the key"));
    check_texts({{"a", "x"}}, {{"tied", "w"}}, {"w"});
}

BOOST_AUTO_TEST_CASE(files_that_disagree_have_no_alias) {
    names aliases;
    note_aliases(aliases, header_of({"w"}, {{"a", "w"}, {"b", "w"}}));
    note_aliases(aliases, header_of({"w", "v"}, {{"a", "v"}, {"b", "w"}}));
    note_aliases(aliases, header_of({"w"}, {{"a", "w"}}));
    checkpoint_metadata opened = checkpoint_of({"v", "w"});
    add_aliases(opened, aliases);
    BOOST_TEST((opened.aliases == names{{"b", "w"}}));
}

BOOST_AUTO_TEST_CASE(a_number_is_an_alias_of_numbers_only) {
    names aliases;
    note_aliases(aliases, header_of({"0", "1", "2.5"}, {{"epoch", "1"}, {"v", "2.5"}, {"3", "0"}}));
    BOOST_TEST((aliases == names{{"3", "0"}}));
    check_texts({{"epoch", "1"}}, {}, {"0", "1"});
}

BOOST_AUTO_TEST_CASE(texts_are_of_all_files) {
    checkpoint_metadata opened = checkpoint_of({});
    add_texts(opened, {{"a", "1"}, {"b", "2"}});
    add_texts(opened, {{"a", "1"}, {"b", "3"}, {"c", "4"}});
    BOOST_TEST(opened.metadata.at("b") == "2");
    BOOST_TEST(opened.metadata.at("c") == "4");
    BOOST_TEST((opened.metadata_differs == std::set<std::string>{"b"}));
}

BOOST_AUTO_TEST_CASE(an_alias_is_a_tensor_with_the_shards_of_its_key) {
    checkpoint_metadata opened = checkpoint_of({"m", "w"});
    opened.metadata = {{"a", "w"}, {"author", "nobody"}};
    checkpoint_metadata const before = opened;
    // Existing tensors, and names of none, stay out.
    add_aliases(opened, {{"a", "w"}, {"m", "w"}, {"z", "x"}});
    BOOST_TEST_REQUIRE(opened.tensors.size() == 3u);
    BOOST_TEST(opened.tensors[0].key == "a");
    BOOST_TEST((opened.tensors[0].shards == before.tensors[1].shards));
    BOOST_TEST((opened.aliases == names{{"a", "w"}}));
    BOOST_TEST((opened.metadata == names{{"author", "nobody"}}));
    BOOST_TEST((without_aliases(opened).tensors == before.tensors));
}

BOOST_AUTO_TEST_SUITE_END()
