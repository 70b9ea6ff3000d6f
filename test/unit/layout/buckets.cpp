// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/buckets.hpp>

#include "oracle/random.hpp"
#include "support/trials.hpp"

#include <boost/test/unit_test.hpp>

#include <limits>
#include <set>
#include <string>
#include <utility>

BOOST_AUTO_TEST_SUITE(shard_buckets)

namespace {

using namespace reshard;
using namespace reshard::detail;

constexpr index_t many = std::numeric_limits<index_t>::max(); // 62 halvings

/// `0,1 0,2`: the buckets in the order in which they are visited.
std::string buckets_of(box const& region, index_vector const& shape, bucket_level const& level) {
    std::string text;
    for_each_bucket(region, shape, level, [&](index_vector const& bucket) {
        text += text.empty() ? "" : " ";
        for (std::size_t axis = 0; axis < bucket.size(); ++axis)
            text += (axis ? "," : "") + std::to_string(bucket[axis]);
    });
    return text;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_level_has_buckets_as_large_as_the_region) {
    BOOST_TEST((level_of({{0, 0}, {16, 16}}, {16, 16}, many) == bucket_level{0, 0}));
    BOOST_TEST((level_of({{4, 0}, {4, 16}}, {16, 16}, many) == bucket_level{2, 0}));
    BOOST_TEST((level_of({{4, 0}, {5, 1}}, {16, 16}, many) == bucket_level{1, 4}));
    BOOST_TEST((level_of({{3}, {3}}, {10}, many) == bucket_level{2})); // of extents 3, 3, 3, 1
    BOOST_TEST((level_of({}, {}, many) == bucket_level{}));
}

BOOST_AUTO_TEST_CASE(a_sliver_does_not_make_more_buckets_than_allowed) {
    BOOST_TEST((level_of({{0, 0}, {1, 6}}, {50000, 12288}, 1024) == bucket_level{5, 5}));
    std::size_t visited = 0;
    for_each_bucket({{0, 0}, {50000, 12288}}, {50000, 12288},
                    level_of({{0, 0}, {1, 6}}, {50000, 12288}, 1000),
                    [&](index_vector const&) { ++visited; });
    BOOST_TEST(visited == 512u); // 2^9: 2^10 would be more than 1000
    BOOST_TEST((level_of({{3}, {1}}, {10}, 1) == bucket_level{0}));
}

BOOST_AUTO_TEST_CASE(tensors_of_2_to_the_63_elements_have_levels) {
    index_t const large = std::numeric_limits<index_t>::max();
    BOOST_TEST((level_of({{large - 1}, {1}}, {large}, many) == bucket_level{62}));
    BOOST_TEST((level_of({{0}, {large}}, {large}, many) == bucket_level{0}));
}

BOOST_AUTO_TEST_CASE(buckets_are_those_that_share_elements) {
    BOOST_TEST(buckets_of({{3, 0}, {2, 16}}, {16, 16}, {2, 0}) == "0,0 1,0");
    BOOST_TEST(buckets_of({{4, 0}, {4, 16}}, {16, 16}, {2, 1}) == "1,0 1,1");
    BOOST_TEST(buckets_of({{9}, {1}}, {10}, {2}) == "3"); // of extents 3, 3, 3, 1
}

BOOST_AUTO_TEST_CASE(regions_that_share_elements_share_a_bucket_and_are_in_few) {
    for (std::uint64_t seed = 0; seed < test::trials(2000); ++seed) {
        oracle::random_numbers random(seed);
        index_vector const shape{random.between(1, 40), random.between(1, 40)};
        auto const any_region = [&] {
            box region;
            for (index_t const extent : shape) {
                index_t const first = random.below(extent);
                region.offset.push_back(first);
                region.shape.push_back(random.between(1, extent - first));
            }
            return region;
        };
        box const filed = any_region(), asked = any_region();
        bucket_level const level = level_of(filed, shape, many);
        std::set<std::pair<index_t, index_t>> buckets;
        for_each_bucket(filed, shape, level,
                        [&](index_vector const& at) { buckets.emplace(at[0], at[1]); });
        BOOST_TEST(buckets.size() <= 4u, "seed " << seed);
        bool is_match = false;
        for_each_bucket(asked, shape, level, [&](index_vector const& at) {
            is_match = is_match || buckets.contains({at[0], at[1]});
        });
        BOOST_TEST((is_match || !intersect(filed, asked)), "seed " << seed);
    }
}

BOOST_AUTO_TEST_SUITE_END()
