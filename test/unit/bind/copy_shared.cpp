// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/overlap.hpp>

#include "support/layouts.hpp"
#include "support/says.hpp"

#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::part;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(local_copy_shared)

namespace {

template <class Shard>
Shard shard_in(shard_descriptor const& shard, std::vector<float>& elements) {
    index_vector const shape = local_shape(shard);
    return {shard, tensor_view{elements.data(), data_type::f32, shape, row_major_strides(shape)}};
}

/// Copies from `source`, of these elements, into a target of `size` times -1, which is returned.
std::vector<float> copied_into(shard_descriptor const& target, std::size_t size,
                               shard_descriptor const& source, std::vector<float> elements,
                               index_t expected_count) {
    std::vector<float> result(size, -1);
    BOOST_TEST(copy_shared(shard_in<const_local_shard>(source, elements),
                           shard_in<local_shard>(target, result)) == expected_count);
    return result;
}

} // namespace

BOOST_AUTO_TEST_CASE(what_both_boxes_have_is_copied) {
    // Of a 3 x 4 matrix of its numbers: rows 0-1 into columns 2-3 of rows 1-2.
    auto const result =
        copied_into(part("w", {3, 4}, {{1, 2}, {2, 2}}), 4, part("w", {3, 4}, {{0, 0}, {2, 4}}),
                    {0, 1, 2, 3, 4, 5, 6, 7}, 2);
    BOOST_TEST(result == (std::vector<float>{6, 7, -1, -1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(flat_shards_are_counted_in_their_regions) {
    // Elements 2 to 9 of the matrix into a flat range of its columns 1-3: 2 3 | 5 6 7 | 9.
    auto const result = copied_into(part("v", {3, 4}, {{0, 1}, {3, 3}}, flat_range{0, 8}), 8,
                                    part("w", {3, 4}, {{0, 0}, {3, 4}}, flat_range{2, 10}),
                                    {2, 3, 4, 5, 6, 7, 8, 9}, 6);
    BOOST_TEST(result == (std::vector<float>{-1, 2, 3, 5, 6, 7, 9, -1}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(shards_that_share_nothing_copy_nothing) {
    auto const result =
        copied_into(part("w", {4}, {{2}, {2}}), 2, part("w", {4}, {{0}, {2}}), {0, 1}, 0);
    BOOST_TEST(result == (std::vector<float>{-1, -1}), boost::test_tools::per_element());
    BOOST_TEST(
        copied_into(part("w", {4}, {{4}, {0}}), 0, part("w", {4}, {{0}, {2}}), {0, 1}, 0).empty());
}

BOOST_AUTO_TEST_CASE(a_scalar_is_copied) {
    BOOST_TEST(copied_into(part("s", {}, {}), 1, part("s", {}, {}), {7}, 1) ==
                   std::vector<float>{7},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(shards_of_different_tensors_are_refused) {
    std::vector<float> four(4), others(4);
    auto const target = shard_in<local_shard>(part("v", {4}, {{0}, {4}}), four);
    BOOST_CHECK_EXCEPTION(
        copy_shared(shard_in<const_local_shard>(part("w", {8}, {{0}, {4}}), others), target), error,
        says(errc::shape_mismatch, "'w' has the shape [8], but 'v' has [4]"));
    auto integers = part("w", {4}, {{0}, {4}});
    integers.dtype = data_type::i32;
    const_local_shard const source{integers, {others.data(), data_type::i32, {4}, {1}}};
    BOOST_CHECK_EXCEPTION(copy_shared(source, target), error,
                          says(errc::dtype_mismatch, "'w' is int32, but 'v' is float32"));
    BOOST_CHECK_EXCEPTION(
        copy_shared(shard_in<const_local_shard>(part("w", {4}, {{0}, {4}}), four), target), error,
        says(errc::memory_overlap,
             "'w' [0:4] and 'v' [0:4] share memory; give the target separate memory"));
}

BOOST_AUTO_TEST_SUITE_END()
