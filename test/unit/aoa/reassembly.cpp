// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/aoa/reassembler.hpp>

#include "aoa/language.hpp"

#include <reshard/aoa/lower.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

using namespace reshard;
using namespace reshard::aoa;
using namespace reshard::aoa::detail;
using reshard::test::parsed;
using reshard::test::tensor;

BOOST_AUTO_TEST_SUITE(aoa_reassembly)

namespace {

/// The cells of `w`, as `a[0:2]`, with the tensors that have them.
std::string cells_of(char const* text, catalog const& target) {
    catalog const source({tensor("w", {4, 4}), tensor("z", {4, 4})});
    mapping const map = lower(parsed(text), source, &target);
    auto const match = reassembly(map).find("w");
    std::string list;
    if (match)
        for (reassembled::cell const& cell : match->cells)
            list += (list.empty() ? "" : " ") + cell.output->key + to_string(cell.region);
    return list;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_tensor_is_cut_where_its_pieces_end) {
    BOOST_TEST(cells_of("w -> a, slice=\"[0:1, :]\"\nw -> b, slice=\"[1:4, :]\"",
                        catalog({tensor("a", {1, 4}), tensor("b", {3, 4})})) ==
               "a[0:1, 0:4] b[1:4, 0:4]");
}

BOOST_AUTO_TEST_CASE(a_cut_goes_through_the_whole_tensor) {
    BOOST_TEST(cells_of("w -> a, slice=\"[0:1, :]\"\nw -> b, slice=\"[1:4, 0:3]\"\n"
                        "w -> c, slice=\"[1:4, 3:4]\"",
                        catalog({tensor("a", {1, 4}), tensor("b", {3, 3}), tensor("c", {3, 1})})) ==
               "a[0:1, 0:3] a[0:1, 3:4] b[1:4, 0:3] c[1:4, 3:4]");
}

BOOST_AUTO_TEST_CASE(pieces_that_add_nothing_are_left_out) {
    BOOST_TEST(cells_of("w -> a\nw -> b, slice=\"[1:4, :]\"",
                        catalog({tensor("a", {4, 4}), tensor("b", {3, 4})})) == "a[0:4, 0:4]");
}

BOOST_AUTO_TEST_CASE(what_is_lost_or_rounded_cannot_be_put_together) {
    catalog const rounded({tensor("a", {2, 4}, data_type::bf16), tensor("b", {2, 4})});
    BOOST_TEST(
        cells_of("w -> a, slice=\"[0:2, :]\", dtype=\"bfloat16\"\nw -> b, slice=\"[2:4, :]\"",
                 rounded) == "");
    BOOST_TEST(cells_of("w -> b, slice=\"[2:4, :]\"", catalog({tensor("b", {2, 4})})) == "");
    BOOST_TEST(cells_of("z -> b", catalog({tensor("b", {4, 4})})) == "");
}

BOOST_AUTO_TEST_SUITE_END()
