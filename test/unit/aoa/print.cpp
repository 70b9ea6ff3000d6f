// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/macro/make_key_pattern.hpp>
#include <reshard/aoa/print.hpp>

#include "aoa/language.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::aoa;
using reshard::test::parsed;

BOOST_AUTO_TEST_SUITE(aoa_print)

namespace {

/// A program that binds temporaries of that preferred name and reads each of them at once.
program with_temporaries(std::initializer_list<char const*> preferred) {
    program code;
    for (char const* const text : preferred) {
        aoa::name const a = code.make_text("a"), t = code.make_fresh(text);
        code.add(code.make_statement({&a, 1}, {&t, 1}, {}));
        code.add(code.make_statement({&t, 1}, {&a, 1}, {}));
    }
    return code;
}

/// A program that needs two temporaries at once, which would like the same name.
program with_two_at_once() {
    program code;
    aoa::name const a = code.make_text("a"), s = code.make_fresh("t"), t = code.make_fresh("t");
    aoa::name const both[] = {s, t};
    code.add(code.make_statement({&a, 1}, {&s, 1}, {}));
    code.add(code.make_statement({&a, 1}, {&t, 1}, {}));
    code.add(code.make_statement(both, {&a, 1}, {}));
    return code;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_printed_program_says_the_same) {
    for (char const* text : {"", "a -> b\n", "a, b^T -> c, axis=-1\n", "_ -> b\na -> _\n",
                             "a -> b, permute='[1, 0]'\n",
                             "l.$LAYER_ID-1.w, e.*.w, w[0:3]^T -> \"x-$Y/*\"[1:2], fused_ffn\n",
                             "'a*b', \"1a\", \".a\", \"axis\", \"_\", 'a$B', \"a b\" -> 'x\"y'\n",
                             "a$b, c^d -> e^Tf\n", "\"-$A\", \".$A\", \"0$A\", \"$A\" -> b\n",
                             "a -> b, dtype='\"x\"'\n"})
        BOOST_TEST((parsed(print(parsed(text))) == parsed(text)),
                   text << " -> " << print(parsed(text)));
}

BOOST_AUTO_TEST_CASE(names_are_quoted_where_they_have_to_be) {
    BOOST_TEST(print(parsed("\"a\", \"a-b\", 'l.*' -> \"axis\", axis=0")) ==
               "a, \"a-b\", 'l.*' -> \"axis\", axis=0\n");
    BOOST_TEST(print(parsed("\"it's $eg\" -> b")) == "\"it's $eg\" -> b\n");
}

BOOST_AUTO_TEST_CASE(what_follows_a_placeholder_does_not_become_part_of_it) {
    for (auto const& [written, printed] :
         {std::pair("a.$E + 0ID -> b.$E.w", "a.$E+0ID -> b.$E.w\n"),
          std::pair("a.$E + 0_B -> b.$E_0", "a.$E+0_B -> b.$E_0\n"),
          std::pair("a.$E + 0000000015 -> b.$E - 0000000025",
                    "a.$E+0000000015 -> b.$E-0000000025\n"),
          std::pair("\"a.$E+0+1\" -> \"b.$EXPERT_ID + 0 - 1\"",
                    "\"a.$E+0+1\" -> \"b.$EXPERT_ID+0 - 1\"\n"),
          std::pair("\"a.$E+0+x\" -> \"b.$E+0+ \"", "\"a.$E+x\" -> \"b.$E+ \"\n")}) {
        BOOST_TEST(print(parsed(written)) == printed);
        BOOST_TEST((parsed(printed) == parsed(written)), printed);
    }
}

BOOST_AUTO_TEST_CASE(a_temporary_is_called_as_it_would_like) {
    BOOST_TEST(print(with_temporaries({"t"})) == "a -> t\nt -> a\n");
}

BOOST_AUTO_TEST_CASE(a_name_is_used_again_when_it_is_no_longer_needed) {
    BOOST_TEST(print(with_temporaries({"t", "t"})) == "a -> t\nt -> a\na -> t\nt -> a\n");
}

BOOST_AUTO_TEST_CASE(a_temporary_stands_in_quotes_where_it_has_to) {
    BOOST_TEST(print(with_temporaries({"s/1"})) == "a -> \"s/1\"\n\"s/1\" -> a\n");
}

BOOST_AUTO_TEST_CASE(a_number_is_added_where_a_tensor_has_the_name) {
    BOOST_TEST(print(with_temporaries({"a"})) == "a -> a_2\na_2 -> a\n");
    auto const taken = [](std::string_view key) { return key == "t" || key == "t_2"; };
    BOOST_TEST(print(with_temporaries({"t"}), taken) == "a -> t_3\nt_3 -> a\n");
}

BOOST_AUTO_TEST_CASE(a_number_is_added_where_another_temporary_is_still_needed) {
    program const code = with_two_at_once();
    BOOST_TEST(print(code) == "a -> t\na -> t_2\nt, t_2 -> a\n");
    BOOST_TEST(test::same_up_to_temporaries(code, parsed(print(code))));
}

BOOST_AUTO_TEST_CASE(no_temporary_is_called_like_a_tensor_of_either_side) {
    catalog const source({test::tensor("t", {})}), target({test::tensor("t_3", {})});
    program const code = with_two_at_once();
    BOOST_TEST(print(code, source, target) == "a -> t_2\na -> t_4\nt_2, t_4 -> a\n");
}

BOOST_AUTO_TEST_CASE(temporaries_that_like_different_names_do_not_share_one) {
    program code;
    aoa::name const a = code.make_text("a"), s = code.make_fresh("t_2");
    aoa::name const t = code.make_fresh("t"), u = code.make_fresh("t");
    aoa::name const name[] = {s, t, u};
    code.add(code.make_statement({&a, 1}, name, {}));
    code.add(code.make_statement(name, {&a, 1}, {}));
    BOOST_TEST(print(code) == "a -> t_2, t, t_3\nt_2, t, t_3 -> a\n");
}

BOOST_AUTO_TEST_CASE(one_statement_alone_has_the_preferred_names) {
    program const code = with_temporaries({"a"});
    BOOST_TEST(print(code, code.statements()[0]) == "a -> a");
}

BOOST_AUTO_TEST_SUITE_END()
