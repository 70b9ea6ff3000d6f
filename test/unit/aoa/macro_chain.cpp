// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/statement_trace.hpp>

#include "aoa/language.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard::aoa;
using namespace reshard::aoa::detail;
using reshard::test::parsed;

BOOST_AUTO_TEST_SUITE(aoa_macro_chain)

BOOST_AUTO_TEST_CASE(each_binding_of_a_name_is_a_version) {
    program const code = parsed("s -> t\nt -> d\ns -> t\nt, t -> e");
    auto const& lines = code.statements();
    name_chain const chain(code, lines);
    BOOST_TEST(chain.version(lines[0], 1) == chain.version(lines[1], 0));
    BOOST_TEST(chain.version(lines[2], 1) == chain.version(lines[3], 1));
    BOOST_TEST(chain.version(lines[0], 1) != chain.version(lines[2], 1));
    BOOST_TEST(chain.version(lines[0], 0) == chain.version(lines[2], 0));
    BOOST_TEST(!chain.is_last(chain.version(lines[0], 1)));
    BOOST_TEST(chain.is_last(chain.version(lines[2], 1)));
}

BOOST_AUTO_TEST_CASE(a_version_knows_who_makes_it_and_who_reads_it) {
    program const code = parsed("s -> t\nt -> d\nt -> e");
    auto const& lines = code.statements();
    name_chain const chain(code, lines);
    auto const t = chain.version(lines[0], 1);
    BOOST_TEST(chain.maker(chain.version(lines[0], 0)) == name_chain::none);
    BOOST_TEST(chain.maker(t) == 0u);
    std::size_t readers = 0;
    chain.for_each_reader(t, [&](statement const& statement) {
        BOOST_TEST((statement.names == lines[1].names || statement.names == lines[2].names));
        ++readers;
    });
    BOOST_TEST(readers == 2u);
    BOOST_TEST(code.text(chain.name_of(t)) == "t");
}

BOOST_AUTO_TEST_CASE(nothing_has_no_version) {
    program const code = parsed("_ -> t");
    name_chain const chain(code, code.statements());
    BOOST_TEST(chain.version(code.statements()[0], 0) == name_chain::none);
}

BOOST_AUTO_TEST_SUITE_END()
