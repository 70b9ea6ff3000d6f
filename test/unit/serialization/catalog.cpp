// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/catalog.hpp>

#include "support/archives.hpp"

using namespace reshard;
using namespace reshard::detail;
using namespace reshard::test;

BOOST_AUTO_TEST_SUITE(serialization_catalog)

namespace {

catalog some() {
    return catalog({{"w", data_type::f16, {40, 50}, {4, 1}},
                    {"b", data_type::f6_e2m3, {0, 7}, {1, 7}, 2},
                    {"s", data_type::i64, {}, {}}});
}

} // namespace

BOOST_AUTO_TEST_CASE(catalogs_come_back_as_they_were) {
    BOOST_TEST(comes_back(some()));
    BOOST_TEST(comes_back(catalog()));
    BOOST_TEST((from_bytes<catalog>(to_bytes(some())).find("w")->parts == index_vector{4, 1}));
}

BOOST_AUTO_TEST_CASE(archives_that_are_cut_off_are_refused) {
    BOOST_TEST(cut_archives_that_pass(some()) == 0);
}

BOOST_AUTO_TEST_CASE(damaged_archives_are_refused_or_read_as_another_catalog) {
    BOOST_TEST(damaged_archives_that_pass(some()) > 0);
}

BOOST_AUTO_TEST_CASE(parts_that_are_not_those_of_the_axes_are_refused) {
    catalog const few({{"w", data_type::f16, {40, 50}, {4}}});
    BOOST_TEST(said([&] { from_bytes<catalog>(to_bytes(few)); }) ==
               "corrupt_file: the archive of a catalog contradicts itself: it has the parts [4] of "
               "'w', shape [40, 50]");
    catalog const none({{"w", data_type::f16, {40, 50}, {4, 0}}});
    BOOST_TEST(said([&] { from_bytes<catalog>(to_bytes(none)); }) ==
               "corrupt_file: the archive of a catalog contradicts itself: it has the parts [4, 0] "
               "of 'w', shape [40, 50]");
    catalog const uneven({{"w", data_type::f16, {40}, {4}, 2}});
    BOOST_TEST(said([&] { from_bytes<catalog>(to_bytes(uneven)); }) ==
               "corrupt_file: the archive of a catalog contradicts itself: it has the parts [4] of "
               "'w', shape [40]");
}

BOOST_AUTO_TEST_CASE(shapes_that_no_tensor_has_are_refused) {
    catalog const negative({{"w", data_type::f16, {-1}, {1}}});
    BOOST_TEST(said([&] { from_bytes<catalog>(to_bytes(negative)); }) ==
               "corrupt_file: the archive of a catalog contradicts itself: 'w': axis 0: a shard of "
               "-1 elements at offset 0 exceeds the global extent -1");
    index_t const large = index_t{1} << 32;
    catalog const beyond({{"w", data_type::f16, {large, large}, {1, 1}}});
    BOOST_TEST(said([&] { from_bytes<catalog>(to_bytes(beyond)); }) ==
               "corrupt_file: the archive of a catalog contradicts itself: 'w': a tensor of shape "
               "[4294967296, 4294967296] with 16 bits per element (float16) has more than "
               "9223372036854775807 bits; its shape must be smaller");
}

BOOST_AUTO_TEST_SUITE_END()
