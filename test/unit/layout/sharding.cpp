// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/sharding.hpp>

#include "support/says.hpp"

#include <string>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(shard_sharding)

namespace {

distribution over(mesh const& ranks, std::vector<placement> const& placements,
                  index_vector const& shape) {
    return distribution(ranks, placements, shape, "w");
}

void refused_sharding(tensor_sharding const& tensor, std::string const& text) {
    BOOST_CHECK_EXCEPTION(check(tensor), error, test::says(errc::bad_layout, text));
}

mesh const dp_tp{{"dp", 2}, {"tp", 2}};

} // namespace

BOOST_AUTO_TEST_CASE(a_tensor_of_one_part_begins_at_zero) {
    auto const options = over(dp_tp, {replicate{}, shard{0}}, {4, 6});
    tensor_sharding const tensor = sharding_of("w", data_type::f32, options);
    BOOST_TEST((tensor.shape == index_vector{4, 6}));
    BOOST_TEST(tensor.parts.size() == 1);
    BOOST_TEST((tensor.parts[0].offset == index_vector{0, 0}));
    check(tensor);
}

BOOST_AUTO_TEST_CASE(an_axis_that_cuts_cannot_share) {
    auto const options = over(dp_tp, {shard{0}, shard{1}}, {4, 6});
    refused_sharding(sharding_of("w", data_type::f32, options, flat_sharing{1, {}}),
                     "'w': mesh axis 'dp' shares flat slices, so it must replicate, not shard 0");
    refused_sharding(sharding_of("w", data_type::f32, options, flat_sharing{4, {}}),
                     "'w': mesh axis 2 shares flat slices, but the mesh has 2 axes (dp=2 tp=2)");
}

BOOST_AUTO_TEST_CASE(slices_must_hold_the_elements) {
    auto const options = over(dp_tp, {replicate{}, shard{0}}, {3, 6}); // 12 and 6 elements
    check(sharding_of("w", data_type::f32, options, flat_sharing{1, flat_slices{4, 8}}));
    refused_sharding(sharding_of("w", data_type::f32, options, flat_sharing{1, flat_slices{5, 8}}),
                     "'w': 12 elements at offset 5 of a buffer exceed its 2 slices of 8 elements");
    auto const sizes = over(dp_tp, {replicate{}, placement(0, {1, 3})}, {4, 6});
    refused_sharding(sharding_of("w", data_type::f32, sizes, flat_sharing{1, flat_slices{0, 8}}),
                     "'w': 18 elements at offset 0 of a buffer exceed its 2 slices of 8 elements");
}

BOOST_AUTO_TEST_CASE(parts_lie_in_the_tensor_and_have_the_same_ranks) {
    auto const options = over(dp_tp, {replicate{}, shard{0}}, {4, 6});
    refused_sharding(
        {"w", data_type::f32, {7, 6}, {{{0, 0}, options, {}}, {{4, 0}, options, {}}}},
        "'w': a part of shape [4, 6] at offset [4, 0] exceeds the tensor of shape [7, 6]");
    auto const alone = over({{"tp", 2}}, {shard{0}}, {4, 6});
    refused_sharding({"w", data_type::f32, {8, 6}, {{{0, 0}, options, {}}, {{4, 0}, alone, {}}}},
                     "'w': its parts are on meshes of 4 and 2 ranks");
}

BOOST_AUTO_TEST_SUITE_END()
