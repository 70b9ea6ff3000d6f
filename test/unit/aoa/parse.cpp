// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/parse.hpp>

#include "aoa/language.hpp"
#include "support/says.hpp"

// The only test that sees the grammar, for its header and for parse.hpp: it takes seconds to
// compile.

using namespace reshard;
using namespace reshard::aoa;
using reshard::test::says;

program reshard::test::parsed(std::string_view text, std::string_view file) {
    return parse(text, file);
}

BOOST_AUTO_TEST_SUITE(aoa_parse)

namespace {

using kind = segment::kind_type;

std::vector<segment> segments_of(std::string_view text) {
    program const code = parse(std::string(text) + " -> target");
    return code.pattern(code.left(code.statements()[0])[0]);
}

std::string left_text(std::string_view text) {
    program const code = parse(std::string(text) + " -> target");
    aoa::name const& first = code.left(code.statements()[0])[0];
    BOOST_TEST((first.kind == aoa::name::kind_type::text));
    return std::string(code.text(first));
}

attribute only_attribute(std::string_view text) {
    program const code = parse("a -> b, " + std::string(text));
    BOOST_TEST_REQUIRE(code.attributes(code.statements()[0]).size() == 1u);
    return code.attributes(code.statements()[0])[0];
}

} // namespace

BOOST_AUTO_TEST_CASE(a_statement_has_names_on_both_sides_and_attributes) {
    program const code = parse("a, b.c_1 -> d, axis = 1, dtype='float32'");
    BOOST_TEST_REQUIRE(code.statements().size() == 1u);
    statement const& statement = code.statements()[0];
    BOOST_TEST_REQUIRE(code.left(statement).size() == 2u);
    BOOST_TEST_REQUIRE(code.right(statement).size() == 1u);
    BOOST_TEST(code.text(code.left(statement)[0]) == "a");
    BOOST_TEST(code.text(code.left(statement)[1]) == "b.c_1");
    BOOST_TEST(code.text(code.right(statement)[0]) == "d");
    BOOST_TEST_REQUIRE(code.attributes(statement).size() == 2u);
    BOOST_TEST(code.attributes(statement)[0].word == "axis");
    BOOST_TEST(std::get<index_t>(code.attributes(statement)[0].value) == 1);
    BOOST_TEST(std::get<std::string>(code.attributes(statement)[1].value) == "float32");
}

BOOST_AUTO_TEST_CASE(each_node_knows_its_place_in_the_text) {
    program const code = parse("# first\n  a^T, bb -> c, axis = 1 # last\n");
    statement const& statement = code.statements()[0];
    BOOST_TEST((statement.where == text_span{10, 32}));
    BOOST_TEST((code.left(statement)[0].where == text_span{10, 13}));
    BOOST_TEST((code.left(statement)[1].where == text_span{15, 17}));
    BOOST_TEST((code.right(statement)[0].where == text_span{21, 22}));
    BOOST_TEST((code.attributes(statement)[0].where == text_span{24, 32}));
    BOOST_TEST(code.origin(statement.origin).macro == "");
    BOOST_TEST((code.origin(statement.origin).where == statement.where));
}

BOOST_AUTO_TEST_CASE(a_program_without_statements_is_empty) {
    for (char const* text : {"", "\n", " \t \r\n\n", "# nothing", "# nothing\n  # more\n"})
        BOOST_TEST(parse(text).empty());
}

BOOST_AUTO_TEST_CASE(a_statement_ends_with_its_line) {
    BOOST_TEST(parse("\n\n a -> b \n\n").statements().size() == 1u);
    BOOST_TEST(parse("a -> b\r\nc -> d\re -> f").statements().size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_line_goes_on_after_a_comma_an_arrow_and_inside_brackets) {
    program const code = parse("a,\n b[0:\n2\n] -> # why\n\n c,\n axis=\t0\n");
    BOOST_TEST((code == parse("a, b[0:2] -> c, axis=0")));
}

BOOST_AUTO_TEST_CASE(nothing_is_the_name_of_one_underscore_without_quotes) {
    program const code = parse("_ -> b\na -> _\n\"_\" -> c");
    BOOST_TEST((code.left(code.statements()[0])[0].kind == aoa::name::kind_type::nothing));
    BOOST_TEST((code.right(code.statements()[1])[0].kind == aoa::name::kind_type::nothing));
    BOOST_TEST((code.left(code.statements()[2])[0].kind == aoa::name::kind_type::text));
}

BOOST_AUTO_TEST_CASE(a_name_may_have_stars_placeholders_and_an_array) {
    using list = std::vector<segment>;
    BOOST_TEST(
        (segments_of("e.*.w") == list{{kind::text, "e."}, {kind::star, ""}, {kind::text, ".w"}}));
    BOOST_TEST((segments_of("l.$LAYER_ID.w") ==
                list{{kind::text, "l."}, {kind::placeholder, "LAYER_ID"}, {kind::text, ".w"}}));
    BOOST_TEST((segments_of("w[0:3]") == list{{kind::text, "w"}, {kind::array, "", 0, 3}}));
    BOOST_TEST((segments_of("w [ 1 : 3 ]") == list{{kind::text, "w"}, {kind::array, "", 1, 3}}));
    BOOST_TEST((segments_of("exp$E2_X.w") ==
                list{{kind::text, "exp"}, {kind::placeholder, "E2_X"}, {kind::text, ".w"}}));
}

BOOST_AUTO_TEST_CASE(the_placeholders_of_the_original_end_where_they_end_there) {
    using list = std::vector<segment>;
    BOOST_TEST((segments_of("l$LAYER_IDS") ==
                list{{kind::text, "l"}, {kind::placeholder, "LAYER_ID"}, {kind::text, "S"}}));
    BOOST_TEST(
        (segments_of("l$LAYER_ID_OFFSET.w") ==
         list{{kind::text, "l"}, {kind::placeholder, "LAYER_ID_OFFSET"}, {kind::text, ".w"}}));
    BOOST_TEST((segments_of("l$LAYER_ID_w") ==
                list{{kind::text, "l"}, {kind::placeholder, "LAYER_ID"}, {kind::text, "_w"}}));
}

BOOST_AUTO_TEST_CASE(a_number_may_be_added_to_a_placeholder) {
    using list = std::vector<segment>;
    BOOST_TEST((segments_of("l.$LAYER_ID + 2.w") ==
                list{{kind::text, "l."}, {kind::placeholder, "LAYER_ID", 2}, {kind::text, ".w"}}));
    BOOST_TEST((segments_of("l.$LAYER_ID-1") ==
                list{{kind::text, "l."}, {kind::placeholder, "LAYER_ID", -1}}));
}

BOOST_AUTO_TEST_CASE(a_dollar_or_a_hat_without_a_meaning_is_a_character) {
    BOOST_TEST(left_text("a$b") == "a$b");
    BOOST_TEST(left_text("a^b") == "a^b");
    BOOST_TEST(left_text("a^Tb") == "a^Tb");
}

BOOST_AUTO_TEST_CASE(a_name_is_transposed_where_it_ends_in_hat_t) {
    program const code = parse("a^T, \"x-y\"^T, w[0:2]^T, b -> c");
    auto const left = code.left(code.statements()[0]);
    BOOST_TEST(left[0].transposed);
    BOOST_TEST(code.text(left[0]) == "a");
    BOOST_TEST(left[1].transposed);
    BOOST_TEST(left[2].transposed);
    BOOST_TEST(!left[3].transposed);
}

BOOST_AUTO_TEST_CASE(double_quotes_take_any_character_and_single_quotes_take_it_literally) {
    BOOST_TEST(left_text("\"any-name/here it's\"") == "any-name/here it's");
    BOOST_TEST(left_text("'l.$LAYER_ID.*\"'") == "l.$LAYER_ID.*\"");
    BOOST_TEST(segments_of("\"any-$LAYER_ID/*\"").size() == 4u);
    BOOST_TEST(left_text("\"1st\"") == "1st");
    BOOST_TEST(left_text("\"axis\"") == "axis");
    BOOST_TEST(left_text("\"\xc3\xa4\"") == "\xc3\xa4");
}

BOOST_AUTO_TEST_CASE(a_value_is_an_integer_or_a_text_without_its_quotes) {
    BOOST_TEST(std::get<index_t>(only_attribute("axis = -1").value) == -1);
    BOOST_TEST(std::get<std::string>(only_attribute("dtype = \"'float32'\"").value) == "float32");
    BOOST_TEST(std::get<std::string>(only_attribute("permute='[1,\n0]'").value) == "[1,\n0]");
    BOOST_TEST(std::get<std::string>(only_attribute("dtype=''").value) == "");
    BOOST_TEST(std::get<std::string>(only_attribute("slice=\"[0:2, #]\"").value) == "[0:2, #]");
}

BOOST_AUTO_TEST_CASE(a_macro_is_a_word_alone_and_other_attributes_have_any_word) {
    BOOST_TEST(only_attribute("fused_qkv").value.index() == 0u);
    BOOST_TEST(only_attribute("any_word = 3").word == "any_word");
}

BOOST_AUTO_TEST_CASE(words_that_the_original_does_not_have_may_name_tensors) {
    BOOST_TEST(left_text("sizes") == "sizes");
    BOOST_TEST(left_text("axis.weight") == "axis.weight");
    BOOST_TEST(parse("a -> sizes").attributes(parse("a -> sizes").statements()[0]).empty());
}

BOOST_AUTO_TEST_CASE(an_error_names_place_what_was_expected_and_what_was_found) {
    BOOST_CHECK_EXCEPTION(parse("a -> b\nc, d\n", "m.aoa"), error,
                          says(errc::syntax, "m.aoa:2:5: syntax: expected '->', found the end of "
                                             "the line\n    c, d\n        ^"));
    BOOST_CHECK_EXCEPTION(parse("a -> b,"), error,
                          says(errc::syntax,
                               "program:1:8: syntax: expected a name or an attribute, "
                               "found the end of the text; is the comma before it superfluous?\n"
                               "    a -> b,\n           ^"));
}

BOOST_AUTO_TEST_CASE(every_operand_of_an_expectation_has_a_name_for_people) {
    for (char const* text : {"a",
                             "a,",
                             "->",
                             "a ->",
                             "a -> b,",
                             "a -> b, axis",
                             "a -> b, axis=",
                             "a -> b, x=y",
                             "a -> b, axis=0, c",
                             "a -> b, axis=0,",
                             "a -> b c",
                             "w[",
                             "w[0",
                             "w[0:",
                             "w[0:1",
                             "w[a:b]",
                             "w[0:1]^T^T -> b",
                             "\"a",
                             "'a",
                             "\"a\n\"",
                             "\"\" -> b",
                             "'' -> b",
                             "a -> b\n, axis=0",
                             "a -> b, dtype='f",
                             "a^T[0:1] -> b",
                             "-> b",
                             "1a -> b",
                             "$a -> b",
                             "fused_ffn -> b",
                             "a -> b, fused_ffn=1",
                             "a -> b, axis=99999999999999999999",
                             "w[0:99999999999999999999]",
                             "\xff -> b",
                             "a \xc3\xa4 b",
                             "a -> b, axis=.5",
                             "a -> b; c -> d"}) {
        try {
            parse(text);
            BOOST_ERROR(std::string("accepted: ") + text);
        } catch (error const& problem) {
            BOOST_TEST((problem.code() == errc::syntax));
            BOOST_TEST(std::string(problem.what()).find("N5boost") == std::string::npos);
            BOOST_TEST(std::string(problem.what()).find("expected") != std::string::npos);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
