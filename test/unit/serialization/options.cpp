// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/serialization/options.hpp>

#include "support/archives.hpp"

using namespace reshard;
using namespace reshard::test;

BOOST_AUTO_TEST_SUITE(serialization_options)

BOOST_AUTO_TEST_CASE(scopes_come_back_as_they_were) {
    BOOST_TEST(comes_back(plan_scope()));
    BOOST_TEST(comes_back(plan_scope{holder_set::nobody(), holder_set({3, 1, 70'000})}));
    BOOST_TEST(from_bytes<plan_scope>(to_bytes(plan_scope{})).sources.is_everybody());
}

BOOST_AUTO_TEST_CASE(options_come_back_as_they_were) {
    BOOST_TEST(comes_back(plan_options()));
    BOOST_TEST(comes_back(plan_options{4, true, 0}));
    BOOST_TEST(comes_back(plan_options{0, false, 8}));
}

BOOST_AUTO_TEST_CASE(archives_that_are_cut_off_are_refused) {
    BOOST_TEST(cut_archives_that_pass(plan_scope{holder_set::nobody(), holder_set({3, 1})}) == 0);
    BOOST_TEST(cut_archives_that_pass(plan_options{4, true, 8}) == 0);
}

BOOST_AUTO_TEST_CASE(damaged_archives_are_refused_or_read_as_others) {
    BOOST_TEST(damaged_archives_that_pass(plan_scope{holder_set::nobody(), holder_set({3})}) > 0);
    BOOST_TEST(damaged_archives_that_pass(plan_options{4, true, 8}) > 0);
}

BOOST_AUTO_TEST_CASE(a_set_is_everybody_or_a_list) {
    BOOST_TEST(said([] { from_text<plan_scope>("1920165988 5 1 1 1 7 1 0 1920165988\n"); }) ==
               "corrupt_file: the archive lists some holders of everybody");
    BOOST_TEST(said([] { from_text<plan_options>("1920165988 6 1 4 2 8 1920165988\n"); }) ==
               "corrupt_file: the archive has the truth value 2 of 2");
}

BOOST_AUTO_TEST_SUITE_END()
