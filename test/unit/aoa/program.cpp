// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/program.hpp>

#include "aoa/language.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::aoa;
using reshard::test::parsed;
using kind = reshard::aoa::name::kind_type;

BOOST_AUTO_TEST_SUITE(aoa_program)

BOOST_AUTO_TEST_CASE(a_program_can_be_made_without_text) {
    program code;
    aoa::name const a = code.make_text("a"), b = code.make_text("b"), t = code.make_fresh("t");
    aoa::name const from[] = {a, b}, to[] = {t};
    statement like;
    like.attributes = code.make_attributes({{"axis", index_t{1}, '"', {}}});
    code.add(code.make_statement(from, to, like));
    BOOST_TEST_REQUIRE(code.statements().size() == 1u);
    statement const& statement = code.statements()[0];
    BOOST_TEST(code.left(statement).size() == 2u);
    BOOST_TEST(code.text(code.left(statement)[1]) == "b");
    BOOST_TEST(code.text(code.right(statement)[0]) == "t");
    BOOST_TEST(code.attributes(statement)[0].word == "axis");
    BOOST_TEST(code.source_text() == "");
}

BOOST_AUTO_TEST_CASE(programs_are_equal_when_they_say_the_same) {
    BOOST_TEST((parsed("a,b->c,axis=0") == parsed("# x\n a, b ->\n c, axis = 0\n", "file")));
    BOOST_TEST((parsed("a -> b, permute='[]'") == parsed("a -> b, permute=\"[]\"")));
    for (char const* other : {"", "a -> b, c", "a^T -> b", "a -> c", "a -> b, axis=0",
                              "a -> b\na -> b", "_ -> b", "a* -> b"})
        BOOST_TEST(!(parsed("a -> b") == parsed(other)), other);
    BOOST_TEST(!(parsed("a, b -> c") == parsed("a -> b, c")));
    BOOST_TEST(!(parsed("a -> b, axis=0") == parsed("a -> b, axis='0'")));
    BOOST_TEST(!(parsed("a[0:1] -> b") == parsed("a[0:2] -> b")));
}

BOOST_AUTO_TEST_CASE(a_copy_is_a_value_of_its_own) {
    program code = parsed("a -> b");
    program const copy = code;
    code.replace_statements({});
    BOOST_TEST(code.empty());
    BOOST_TEST((copy == parsed("a -> b")));
}

BOOST_AUTO_TEST_CASE(a_temporary_is_no_text_of_the_same_name) {
    program code;
    aoa::name const text = code.make_text("t"), fresh = code.make_fresh("t"),
                    name = code.make_fresh("t");
    BOOST_TEST(same_name(code, text, code, text));
    BOOST_TEST(!same_name(code, text, code, fresh));
    BOOST_TEST(!same_name(code, fresh, code, name));
    BOOST_TEST(code.fresh_count() == 2u);
}

BOOST_AUTO_TEST_CASE(a_name_is_found_by_its_text) {
    program const code = parsed("a -> b");
    BOOST_TEST(code.find("b").value() == code.right(code.statements()[0])[0].id);
    BOOST_TEST(!code.find("c").has_value());
    BOOST_TEST(code.text_count() == 2u);
}

BOOST_AUTO_TEST_CASE(nothing_is_called_underscore) {
    program const code = parsed("_ -> b");
    BOOST_TEST(code.text(code.left(code.statements()[0])[0]) == "_");
    BOOST_TEST((code.left(code.statements()[0])[0].kind == kind::nothing));
}

BOOST_AUTO_TEST_CASE(an_origin_asked_for_twice_is_one) {
    program code;
    auto const first = code.make_origin({"*", 0, {1, 2}});
    BOOST_TEST(code.make_origin({"*", 0, {1, 2}}) == first);
    BOOST_TEST(code.make_origin({"^T", first, {1, 2}}) != first);
    BOOST_TEST(code.origin(first).macro == "*");
    BOOST_TEST(code.make_attributes({}) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
