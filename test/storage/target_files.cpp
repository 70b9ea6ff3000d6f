// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/target_files.hpp>

#include "support/listed_layout.hpp"

#include <boost/test/unit_test.hpp>

/// \file
/// Who writes which files.

BOOST_AUTO_TEST_SUITE(storage_target_files)

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_CASE(options_that_differ_have_different_digests) {
    auto const plain = digest_of(write_options{});
    BOOST_TEST(digest_of(write_options{.replace = true}) != plain);
    BOOST_TEST(digest_of(write_options{.partial = true}) != plain);
    BOOST_TEST(digest_of(write_options{.sync = false}) != plain);
    BOOST_TEST(digest_of(write_options{.digests = false}) != plain);
    BOOST_TEST(digest_of(write_options{.most_file_bytes = 1}) != plain);
    BOOST_TEST(digest_of(write_options{.single_file = true}) != plain);
    BOOST_TEST(digest_of(write_options{.replicas = true}) != plain);
    BOOST_TEST(digest_of(write_options{}) == plain);
}

BOOST_AUTO_TEST_SUITE_END()
