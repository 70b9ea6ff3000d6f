// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/statement_trace.hpp>

#include "aoa/language.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;
using reshard::test::parsed;

BOOST_AUTO_TEST_SUITE(aoa_statement_trace)

namespace {

using statements = std::vector<std::size_t>;

/// Made when it is needed: the grammar does not exist before main.
aoa::program traced() {
    return parsed("a -> t\n"
                  "b -> u, dtype='float64'\n"
                  "t, u -> v, axis=0\n"
                  "v -> x, y, axis=0\n"
                  "_ -> z\n"
                  "x -> a\n"
                  "c, d -> e, axis=0, scales='_s', blocks='[2]'\n");
}

} // namespace

BOOST_AUTO_TEST_CASE(what_lies_between_two_keys_is_found) {
    aoa::program const code = traced();
    aoa::statement_trace const trace(code);
    BOOST_TEST(trace.between("a", "y") == (statements{0, 2, 3}), boost::test_tools::per_element());
    BOOST_TEST(trace.between("b", "y") == (statements{1, 2, 3}), boost::test_tools::per_element());
    BOOST_TEST(trace.between("b", "a") == (statements{1, 2, 3, 5}),
               boost::test_tools::per_element());
    BOOST_TEST(trace.between("c", "y").empty());
    BOOST_TEST(trace.between("nothing", "at_all").empty());
}

BOOST_AUTO_TEST_CASE(state_and_scales_have_the_statements_of_their_parameter) {
    aoa::program const code = traced();
    aoa::statement_trace const trace(code);
    BOOST_TEST(trace.between("b.moment1_0", "y.moment1_0") == (statements{1, 2, 3}),
               boost::test_tools::per_element());
    BOOST_TEST(trace.between("d_s", "e_s") == (statements{6}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_comes_from_no_tensor_has_statements_as_well) {
    aoa::program const code = traced();
    aoa::statement_trace const trace(code);
    BOOST_TEST(trace.leading_to("z") == (statements{4}), boost::test_tools::per_element());
    BOOST_TEST(trace.leading_to("z.moment1_0") == (statements{4}),
               boost::test_tools::per_element());
    BOOST_TEST(trace.leading_to("y") == (statements{0, 1, 2, 3}), boost::test_tools::per_element());
    BOOST_TEST(trace.leading_to("nothing").empty());
}

BOOST_AUTO_TEST_SUITE_END()
