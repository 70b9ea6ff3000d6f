// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/version_table.hpp>

#include "aoa/language.hpp"

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::aoa;
using namespace reshard::aoa::detail;
using reshard::test::parsed;

BOOST_AUTO_TEST_SUITE(aoa_version_table)

BOOST_AUTO_TEST_CASE(a_name_that_is_bound_again_is_another_value) {
    program const code = parsed("a -> b\nb -> a\na -> c");
    version_table const versions(code);
    auto const& statements = code.statements();
    BOOST_TEST(versions.size() == 4u); // a, b, a again, c
    BOOST_TEST(versions.at(statements[0], 1) == versions.at(statements[1], 0));
    BOOST_TEST(versions.at(statements[1], 1) == versions.at(statements[2], 0));
    BOOST_TEST(versions.at(statements[0], 0) != versions.at(statements[2], 0));
    BOOST_TEST(versions.maker(versions.at(statements[0], 0)) == version_table::none);
    BOOST_TEST(versions.maker(versions.at(statements[2], 0)) == 1u);
    BOOST_TEST(!versions.is_last(versions.at(statements[0], 0)));
    BOOST_TEST(versions.is_last(versions.at(statements[1], 1)));
    std::uint32_t const a = *code.find("a"), c = *code.find("c");
    BOOST_TEST(versions.source(a) == versions.at(statements[0], 0));
    BOOST_TEST(versions.last(a) == versions.at(statements[1], 1));
    BOOST_TEST(versions.source(c) == version_table::none);
}

BOOST_AUTO_TEST_CASE(a_name_that_is_bound_before_it_is_read_is_no_tensor_of_the_source) {
    program const code = parsed("a -> b\nb -> c");
    BOOST_TEST(version_table(code).source(*code.find("b")) == version_table::none);
}

BOOST_AUTO_TEST_CASE(removals_and_additions_read_and_bind_nothing) {
    program const code = parsed("a -> _\n_ -> b\nc -> c");
    version_table const versions(code);
    std::uint32_t const a = *code.find("a"), b = *code.find("b");
    BOOST_TEST(versions.removed_by(a) == 0u);
    BOOST_TEST(versions.added_by(b) == 1u);
    BOOST_TEST(versions.last(a) == version_table::none);
    BOOST_TEST(versions.last(b) == version_table::none);
    BOOST_TEST(versions.at(code.statements()[0], 0) == version_table::none);
    BOOST_TEST(versions.size() == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
