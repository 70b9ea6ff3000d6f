// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/group/gather_values.hpp>

#include <reshard/group/solo.hpp>

#include "support/says.hpp"

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(shard_common_values)

namespace {

/// The message about the values of rank 0 and of rank 5.
void refused_values(std::vector<common_value> const& first, std::vector<common_value> const& values,
                    std::string const& text) {
    BOOST_CHECK_EXCEPTION(
        detail::compare_values(detail::digests_of(first), detail::digests_of(values), 5), error,
        says(errc::ranks_disagree, text));
}

} // namespace

BOOST_AUTO_TEST_CASE(one_process_agrees_with_itself) {
    check_common(solo{}, {});
    check_common(solo{}, {{"iteration", "7"}, {"args", ""}});
}

BOOST_AUTO_TEST_CASE(the_first_name_that_is_seen_differently_is_named) {
    refused_values({{"a", "x"}, {"b", "yy"}}, {{"a", "x"}, {"b", "yyy"}},
                   "the common value 'b' differs: it has 2 bytes on rank 0 and 3 bytes on rank 5");
    refused_values(
        {{"a", "x"}, {"b", "yy"}}, {{"a", "z"}, {"b", "yyy"}},
        "the common value 'a' differs: it has 1 byte on rank 0 and 1 different byte on rank 5");
    refused_values({{"a", "x"}, {"b", "yy"}}, {{"a", "x"}},
                   "'b' is a common value on rank 0 but not on rank 5; common values must be the "
                   "same on every rank");
    refused_values({{"a", "x"}}, {{"a", "x"}, {"b", "yy"}},
                   "'b' is a common value on rank 5 but not on rank 0; common values must be the "
                   "same on every rank");
}

BOOST_AUTO_TEST_SUITE_END()
