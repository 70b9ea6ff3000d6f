// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include "picture/heat_map.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>

using namespace reshard;

BOOST_AUTO_TEST_SUITE(draw_heat_map_)

namespace {

std::size_t occurrences(std::string_view text, std::string_view noun) {
    std::size_t count = 0;
    for (std::size_t at = text.find(noun); at != text.npos; at = text.find(noun, at + 1))
        ++count;
    return count;
}

} // namespace

BOOST_AUTO_TEST_CASE(few_ranks_have_a_bin_each) {
    heat_bins bins(2, 3);
    bins.add({0, 1, 10, 4});
    bins.add({0, 1, 2, 1});
    bins.add({1, 2, 7, 1});
    bins.add({1, 1, 1000, 1}); // stays
    BOOST_TEST(bins.width() == 1u);
    BOOST_TEST(bins.rows() == 2u);
    BOOST_TEST(bins.columns() == 3u);
    BOOST_TEST(bins.bytes(0, 1) == 42);
    BOOST_TEST(bins.bytes(1, 2) == 7);
    BOOST_TEST(bins.bytes(1, 1) == 0);
    BOOST_TEST(bins.kept(1, 1) == 1000);
    BOOST_TEST(bins.kept(0, 1) == 0);
    BOOST_TEST(bins.most_bytes() == 42);
}

BOOST_AUTO_TEST_CASE(many_ranks_share_bins) {
    // 10,000 in 64 bins: 157 each, so 64 of them; 100 targets in one.
    heat_bins bins(10'000, 100);
    BOOST_TEST(bins.width() == 157u);
    BOOST_TEST(bins.rows() == 64u);
    BOOST_TEST(bins.columns() == 1u);
    bins.add({156, 99, 1, 1});
    bins.add({157, 99, 2, 1});
    bins.add({9'999, 0, 3, 1});
    BOOST_TEST(bins.bytes(0, 0) == 1);
    BOOST_TEST(bins.bytes(1, 0) == 2);
    BOOST_TEST(bins.bytes(63, 0) == 3);
}

BOOST_AUTO_TEST_CASE(bins_that_cannot_be_counted_are_refused) {
    heat_bins bins(2, 2);
    bins.add({0, 1, index_t{1} << 62, 1});
    BOOST_CHECK_THROW(bins.add({0, 1, index_t{1} << 62, 1}), error);
}

BOOST_AUTO_TEST_CASE(a_map_has_cells_axes_units_and_a_legend) {
    heat_bins bins(2, 3);
    bins.add({0, 1, 5'000, 1});
    bins.add({1, 2, 2'500, 1});
    std::string const map = draw_heat_map(bins, {});
    BOOST_TEST(occurrences(map, "<rect") == 6u + 6u); // cells, legend
    BOOST_TEST(occurrences(map, "<title>") == 2u);
    BOOST_TEST(occurrences(map, "<title>rank 0 to rank 1: 5 kB</title>") == 1u);
    BOOST_TEST(occurrences(map, "fill=\"#08306b\"") == 2u); // the most, and its legend
    BOOST_TEST(occurrences(map, "fill=\"#6786ad\"") == 1u); // half of it
    BOOST_TEST(occurrences(map, "fill=\"#f2f2f2\"") == 4u + 1u);
    for (char const* const words : {">ranks that receive<", ">ranks that send<", ">bytes sent<",
                                    ">0 B<", ">1 kB<", ">2 kB<", ">3 kB<", ">4 kB<", ">5 kB<"})
        BOOST_TEST(occurrences(map, words) == 1u, words);
}

BOOST_AUTO_TEST_CASE(a_map_of_bins_says_so) {
    heat_bins bins(130, 130); // 44 bins of 3; the last one has a rank
    bins.add({129, 3, 8, 1});
    std::string const map = draw_heat_map(bins, {});
    BOOST_TEST(occurrences(map, "ranks that receive, in bins of 3") == 1u);
    BOOST_TEST(occurrences(map, "<title>rank 129 to ranks 3 to 5: 8 B</title>") == 1u);
    BOOST_TEST(occurrences(map, "bytes sent by 3 ranks to 3") == 1u);
}

BOOST_AUTO_TEST_CASE(a_map_of_nothing_is_grey_and_says_so) {
    std::string const map = draw_heat_map(heat_bins(1, 1), {});
    BOOST_TEST(occurrences(map, "fill=\"#f2f2f2\"") == 1u + 1u);
    BOOST_TEST(occurrences(map, ">nothing is sent<") == 1u);
    BOOST_TEST(occurrences(map, "stays on its rank") == 0u);
}

BOOST_AUTO_TEST_CASE(what_stays_has_a_colour_of_its_own) {
    heat_bins bins(2, 2);
    bins.add({0, 0, 5'000, 2});
    std::string const map = draw_heat_map(bins, {});
    BOOST_TEST(occurrences(map, "<title>rank 0: 10 kB stay there</title>") == 1u);
    BOOST_TEST(occurrences(map, "fill=\"#ecd9a6\"") == 1u + 1u); // the cell, and its legend
    BOOST_TEST(occurrences(map, ">stays on its rank<") == 1u);
    BOOST_TEST(occurrences(map, ">nothing is sent: all bytes stay<") == 1u);
    bins.add({0, 1, 1, 1});
    BOOST_TEST(occurrences(draw_heat_map(bins, {}), "nothing is sent") == 0u);
}

BOOST_AUTO_TEST_CASE(a_bin_may_send_and_keep) {
    heat_bins bins(130, 130); // bins of 3
    bins.add({0, 0, 4, 1});
    bins.add({0, 1, 8, 1});
    BOOST_TEST(occurrences(draw_heat_map(bins, {}), "<title>ranks 0 to 2 to ranks 0 to 2: 8 B; "
                                                    "ranks 0 to 2: 4 B stay there</title>") == 1u);
}

BOOST_AUTO_TEST_CASE(few_bytes_have_few_shades) {
    heat_bins bins(1, 2);
    bins.add({0, 1, 2, 1}); // 0, 0, 0, 1, 1 and 2 fifths
    std::string const map = draw_heat_map(bins, {});
    for (char const* const words : {">0 B<", ">1 B<", ">2 B<"})
        BOOST_TEST(occurrences(map, words) == 1u, words);
}

BOOST_AUTO_TEST_SUITE_END()
