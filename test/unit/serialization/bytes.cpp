// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/serialization/bytes.hpp>

#include <reshard/serialization/options.hpp>

#include "support/archives.hpp"

using namespace reshard;
using namespace reshard::test;

BOOST_AUTO_TEST_SUITE(serialization_bytes)

BOOST_AUTO_TEST_CASE(bytes_are_mark_form_version_value_and_mark) {
    // 4 + 1 + 1 in front, 4 + 1 + 4 of the options, 4 behind.
    std::string const bytes = to_bytes(plan_options{4, true, 8});
    BOOST_TEST(bytes.size() == 19u);
    BOOST_TEST((from_bytes<plan_options>(bytes) == plan_options{4, true, 8}));
}

BOOST_AUTO_TEST_CASE(a_text_reads_the_same_everywhere) {
    BOOST_TEST(to_text(plan_options{4, true, 8}) == "1920165988 6 1 4 1 8 1920165988\n");
    BOOST_TEST(
        (from_text<plan_options>("1920165988 6 1 4 1 8 1920165988") == plan_options{4, true, 8}));
}

BOOST_AUTO_TEST_CASE(what_is_no_archive_is_refused) {
    for (std::string const& bytes : {std::string(), std::string("{}"), std::string(1000, 'x')}) {
        BOOST_TEST(said([&] {
                       from_bytes<plan_options>(bytes);
                   }).starts_with("corrupt_file: the archive "));
        BOOST_TEST(said([&] {
                       from_text<plan_options>(bytes);
                   }).starts_with("corrupt_file: the archive "));
    }
    BOOST_TEST(said([] { from_text<plan_options>("1920165988 6 1 4 1 8 1920165988 9\n"); }) ==
               "corrupt_file: the archive of a set of options has 3 bytes behind its end");
}

BOOST_AUTO_TEST_SUITE_END()
