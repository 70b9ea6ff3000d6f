// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/replica.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(shard_main_copies)

namespace {

using places = std::vector<std::uint32_t>;

struct entry {
    holder_t holder;
    box region;
    std::optional<flat_range> flat = {};
};

places main_copies_of(std::vector<entry> const& entries) {
    shard_table table(entries.empty() ? 1 : entries[0].region.ndim());
    for (entry const& entry : entries)
        table.push_back(entry.holder, entry.region, entry.flat);
    return main_copies(table);
}

box const low{{0}, {4}}, high{{4}, {4}}, nothing{{8}, {0}};

} // namespace

BOOST_AUTO_TEST_CASE(different_shards_are_all_kept_in_their_order) {
    BOOST_TEST(main_copies_of({{0, high}, {1, low}}) == (places{0, 1}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(of_replicas_the_lowest_holder_has_the_main_copy) {
    BOOST_TEST(main_copies_of({{3, low}, {1, low}, {2, low}}) == (places{1}),
               boost::test_tools::per_element());
    BOOST_TEST(main_copies_of({{0, low}, {0, high}, {1, low}, {1, high}}) == (places{0, 1}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_holder_with_two_equal_shards_writes_the_first) {
    BOOST_TEST(main_copies_of({{1, low}, {1, low}}) == (places{0}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(shards_that_overlap_without_being_equal_are_both_kept) {
    BOOST_TEST(main_copies_of({{0, {{0}, {5}}}, {1, {{0}, {4}}}}) == (places{0, 1}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(flat_ranges_of_one_region_are_different_shards) {
    BOOST_TEST(main_copies_of({{0, low, flat_range{0, 2}},
                               {1, low, flat_range{2, 4}},
                               {2, low, flat_range{0, 2}},
                               {3, low}}) == (places{0, 1, 3}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_flat_range_that_is_a_box_is_a_replica_of_it) {
    box const box{{0, 0}, {4, 2}}, lower{{2, 0}, {2, 2}};
    BOOST_TEST(main_copies_of({{1, box, flat_range{0, 8}}, {0, box}}) == (places{1}),
               boost::test_tools::per_element());
    BOOST_TEST(main_copies_of({{0, box, flat_range{4, 8}},
                               {1, lower},
                               {2, lower, flat_range{0, 4}},
                               {3, box, flat_range{3, 8}}}) == (places{0, 3}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(shards_without_elements_are_left_out) {
    BOOST_TEST(main_copies_of({{0, nothing}, {1, low}, {2, high, flat_range{2, 2}}}) == (places{1}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_tensor_without_elements_is_one_shard) {
    BOOST_TEST(main_copies_of({{0, nothing}, {1, nothing}}) == (places{0}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_tensor_that_nobody_holds_has_none) {
    BOOST_TEST(main_copies_of({}).empty());
}

BOOST_AUTO_TEST_CASE(a_scalar_is_written_once) {
    BOOST_TEST(main_copies_of({{5, {}}, {4, {}}}) == (places{1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
