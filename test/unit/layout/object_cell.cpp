// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/group/check_objects.hpp>

#include "support/says.hpp"

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(shard_object_cell)

namespace {

void refused_cell(object_cell const& cell, errc code, std::string const& text) {
    BOOST_CHECK_EXCEPTION(check(cell), error, says(code, text));
}

} // namespace

BOOST_AUTO_TEST_CASE(a_checkpoint_has_a_cell_under_its_index_and_shape) {
    BOOST_TEST(tensor_key({"rng", {4}, {1}}) == "rng/shard_1_4");
    BOOST_TEST(tensor_key({"rng", {2, 3}, {1, 0}}) == "rng/shard_1.0_2.3");
    BOOST_TEST(tensor_key({"rng", {}, {}}) == "rng/shard__");
    BOOST_TEST(to_string(object_cell{"rng", {2, 3}, {1, 0}}) == "'rng' [1, 0] of [2, 3]");
}

BOOST_AUTO_TEST_CASE(cells_of_an_array_pass) {
    check(object_cell{"rng", {2, 3}, {1, 2}});
    check(object_cell{"rng", {}, {}});
}

BOOST_AUTO_TEST_CASE(cells_that_an_array_does_not_have_are_refused) {
    refused_cell({"", {4}, {1}}, errc::bad_layout, "an object in an array of shape [4] has no key");
    refused_cell({"rng", {4}, {1, 0}}, errc::bad_layout,
                 "'rng': the index [1, 0] has another number of axes than an array of shape [4]");
    refused_cell({"rng", {4, 2}, {1, 2}}, errc::bad_layout,
                 "'rng': axis 1: an array of extent 2 has no index 2");
    refused_cell({"rng", {4}, {-1}}, errc::bad_layout,
                 "'rng': axis 0: an array of extent 4 has no index -1");
    refused_cell({"rng", {-4}, {0}}, errc::bad_layout,
                 "'rng': axis 0: an array of extent -4 has no index 0");
    refused_cell({"rng", {4294967296, 2147483648}, {0, 0}}, errc::overflow,
                 "'rng': a tensor of shape [4294967296, 2147483648] has more than "
                 "9223372036854775807 elements; its shape must be smaller");
}

BOOST_AUTO_TEST_SUITE_END()
