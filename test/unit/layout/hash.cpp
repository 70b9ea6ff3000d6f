// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/hash.hpp>

#include <boost/test/unit_test.hpp>

#include <unordered_set>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(shard_hash)

namespace {

shard_descriptor const plain{"w", data_type::f32, {4, 6}, {{0, 0}, {4, 6}}, {}};

} // namespace

BOOST_AUTO_TEST_CASE(equal_descriptors_have_equal_digests) {
    shard_descriptor const same = plain;
    BOOST_TEST(digest_of(same) == digest_of(plain));
}

BOOST_AUTO_TEST_CASE(every_member_counts) {
    std::unordered_set<shard_descriptor> all{plain};
    shard_descriptor other = plain;
    other.key = "v";
    all.insert(other);
    other = plain;
    other.dtype = data_type::bf16;
    all.insert(other);
    other = plain;
    other.global_shape = {8, 6};
    all.insert(other);
    other = plain;
    other.region.shape = {2, 6};
    all.insert(other);
    other.region.offset = {2, 0};
    all.insert(other);
    // Flat shares of one box are different shards, and so is the box itself.
    for (auto const flat : {flat_range{0, 0}, flat_range{0, 12}, flat_range{12, 24}}) {
        other = plain;
        other.flat = flat;
        all.insert(other);
    }
    BOOST_TEST(all.size() == 9u);
    std::unordered_set<std::uint64_t> digests;
    for (shard_descriptor const& one : all)
        digests.insert(digest_of(one));
    BOOST_TEST(digests.size() == 9u);
    BOOST_TEST(all.count(plain) == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
