// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/program.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard::aoa;
using namespace reshard::aoa::detail;

BOOST_AUTO_TEST_SUITE(aoa_name_table)

BOOST_AUTO_TEST_CASE(equal_texts_have_one_number) {
    name_table names;
    BOOST_TEST(names.intern("a") == 0u);
    BOOST_TEST(names.intern("b") == 1u);
    BOOST_TEST(names.intern("a") == 0u);
    BOOST_TEST(names.size() == 2u);
    BOOST_TEST(names[1] == "b");
}

BOOST_AUTO_TEST_CASE(a_text_that_was_never_there_is_not_found) {
    name_table names;
    BOOST_TEST(!names.find("a").has_value());
    names.intern("a");
    BOOST_TEST(names.find("a").value() == 0u);
    BOOST_TEST(!names.find("").has_value());
}

BOOST_AUTO_TEST_CASE(numbers_stay_while_the_table_grows) {
    name_table names;
    for (std::uint32_t i = 0; i < 1000; ++i)
        BOOST_TEST(names.intern("key." + std::to_string(i)) == i);
    name_table const copy = names;
    for (std::uint32_t i = 0; i < 1000; ++i)
        BOOST_TEST(copy.find("key." + std::to_string(i)).value() == i);
}

BOOST_AUTO_TEST_SUITE_END()
