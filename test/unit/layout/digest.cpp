// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/digest.hpp>
#include <reshard/layout/descriptor.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <set>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(shard_digest)

namespace {

shard_descriptor const plain{"w", data_type::f32, {4, 6}, {{0, 0}, {4, 6}}, {}};

} // namespace

BOOST_AUTO_TEST_CASE(equal_descriptors_have_equal_digests) {
    shard_descriptor const same = plain;
    BOOST_TEST(digest_of(same) == digest_of(plain));
}

BOOST_AUTO_TEST_CASE(every_member_counts) {
    std::set<std::uint64_t> values{digest_of(plain)};
    shard_descriptor shard = plain;
    shard.key = "v";
    values.insert(digest_of(shard));
    shard = plain;
    shard.dtype = data_type::bf16;
    values.insert(digest_of(shard));
    shard = plain;
    shard.global_shape = {8, 6};
    values.insert(digest_of(shard));
    shard = plain;
    shard.region.shape = {2, 6};
    values.insert(digest_of(shard));
    shard.region.offset = {2, 0};
    values.insert(digest_of(shard));
    // Flat shares of one box are different shards, and so is the box itself.
    for (auto const flat : {flat_range{0, 0}, flat_range{0, 12}, flat_range{12, 24}}) {
        shard = plain;
        shard.flat = flat;
        values.insert(digest_of(shard));
    }
    BOOST_TEST(values.size() == 9u);
}

BOOST_AUTO_TEST_SUITE_END()
