// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/storage/staging.hpp>

#include "support/says.hpp"

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(storage_staging)

BOOST_AUTO_TEST_CASE(a_directory_that_another_machine_has_is_refused_by_name) {
    BOOST_CHECK_EXCEPTION(staged_target("model", false, "/no/such/.model.partial-1"), error,
                          test::mentions(errc::io,
                                         "this process does not see the directory "
                                         "/no/such/.model.partial-1, which rank 0 made for it"));
}

BOOST_AUTO_TEST_SUITE_END()
