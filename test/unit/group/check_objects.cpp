// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/group/check_objects.hpp>

#include <reshard/group/solo.hpp>

#include "support/says.hpp"

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(shard_check_objects)

namespace {

void refused_objects(std::vector<held_object> const& objects, errc code, std::string const& text) {
    BOOST_CHECK_EXCEPTION(check_objects(solo{}, objects), error, says(code, text));
}

} // namespace

BOOST_AUTO_TEST_CASE(arrays_that_have_all_their_cells_pass) {
    check_objects(solo{}, {});
    check_objects(solo{}, {{{"b", {}, {}}, "x"}});
    check_objects(solo{}, {{{"a", {2, 2}, {1, 1}}, "3"},
                           {{"b", {1}, {0}}, ""},
                           {{"a", {2, 2}, {0, 0}}, "0"},
                           {{"a", {2, 2}, {0, 1}}, "1"},
                           {{"a", {2, 2}, {1, 0}}, "2"},
                           {{"a", {2, 2}, {1, 0}}, "2"}});
}

BOOST_AUTO_TEST_CASE(the_first_cell_that_nobody_has_is_named) {
    refused_objects({{{"a", {2, 2}, {1, 0}}, ""}, {{"a", {2, 2}, {0, 0}}, ""}}, errc::not_covered,
                    "'a': no rank has the object [0, 1] of an array of shape [2, 2]");
    refused_objects({{{"a", {3}, {1}}, ""}, {{"a", {3}, {2}}, ""}}, errc::not_covered,
                    "'a': no rank has the object [0] of an array of shape [3]");
    refused_objects({{{"a", {3}, {1}}, ""}, {{"a", {3}, {0}}, ""}, {{"b", {1}, {0}}, ""}},
                    errc::not_covered, "'a': no rank has the object [2] of an array of shape [3]");
    // An array of more cells than fit any memory costs no more.
    refused_objects({{{"a", {4611686018427387904}, {0}}, ""}}, errc::not_covered,
                    "'a': no rank has the object [1] of an array of shape [4611686018427387904]");
}

BOOST_AUTO_TEST_CASE(copies_that_differ_are_refused) {
    refused_objects({{{"a", {1}, {0}}, "xy"}, {{"a", {1}, {0}}, "xyz"}}, errc::overlap,
                    "'a' [0] of [1] differs: it has 2 bytes on rank 0 and 3 bytes on rank 0");
    refused_objects(
        {{{"a", {1}, {0}}, "xy"}, {{"a", {1}, {0}}, "xx"}}, errc::overlap,
        "'a' [0] of [1] differs: it has 2 bytes on rank 0 and 2 different bytes on rank 0");
}

BOOST_AUTO_TEST_CASE(one_key_is_one_array) {
    refused_objects({{{"a", {1}, {0}}, ""}, {{"a", {2}, {0}}, ""}, {{"a", {2}, {1}}, ""}},
                    errc::bad_layout, "'a' is an array of shape [1] on rank 0 and [2] on rank 0");
}

BOOST_AUTO_TEST_CASE(a_cell_that_its_array_does_not_have_is_refused) {
    refused_objects({{{"a", {1}, {1}}, ""}}, errc::bad_layout,
                    "'a': axis 0: an array of extent 1 has no index 1");
}

BOOST_AUTO_TEST_SUITE_END()
