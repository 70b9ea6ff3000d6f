// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/bind/typed_addresses.hpp>

#include "support/says.hpp"

#include <vector>

using namespace reshard;
using reshard::test::says;

BOOST_AUTO_TEST_SUITE(local_typed_addresses)

namespace {

struct halves
    : typed_layout<mesh{{"tp", 2}}, typed_tensor<"w", float, index_vector{4, 3}, shard{0}>> {};

float elements[64];

/// What a rank holds of `w` from that row on: two rows.
shard_descriptor rows_from(index_t row) {
    return {"w", data_type::f32, {4, 3}, {{row, 0}, {2, 3}}, {}};
}

state_dict dict_of(shard_descriptor shard, index_vector const& strides, float* first = elements) {
    state_dict held;
    index_vector const shape = local_shape(shard);
    held.add(std::move(shard), tensor_view{first, data_type::f32, shape, strides});
    return held;
}

auto addresses_of(std::vector<state_dict> const& ranks) {
    return typed_addresses<halves, std::byte>(ranks);
}

} // namespace

BOOST_AUTO_TEST_CASE(addresses_are_found_by_tensor_and_rank) {
    auto const found =
        addresses_of({dict_of(rows_from(0), {3, 1}), dict_of(rows_from(2), {3, 1}, elements + 20)});
    BOOST_TEST(static_cast<void const*>(found.of(0)[0]) == elements);
    BOOST_TEST(static_cast<void const*>(found.of(0)[1]) == elements + 20);
}

BOOST_AUTO_TEST_CASE(other_numbers_of_ranks_are_refused) {
    BOOST_CHECK_EXCEPTION(addresses_of({dict_of(rows_from(0), {3, 1})}), error,
                          says(errc::bad_layout, "state dicts of 1 ranks for a layout of 2"));
}

BOOST_AUTO_TEST_CASE(shards_of_others_are_refused) {
    BOOST_CHECK_EXCEPTION(
        addresses_of({dict_of(rows_from(2), {3, 1}), dict_of(rows_from(0), {3, 1})}), error,
        says(errc::bad_layout, "rank 0 holds " + to_string(rows_from(2)) +
                                   ", which the layout does not assign to it"));
    shard_descriptor other = rows_from(0);
    other.key = "v";
    BOOST_CHECK_EXCEPTION(addresses_of({dict_of(other, {3, 1}), {}}), error,
                          says(errc::bad_layout, "rank 0 holds " + to_string(other) +
                                                     ", which the layout does not assign to it"));
}

BOOST_AUTO_TEST_CASE(a_shard_that_stands_twice_is_refused) {
    state_dict twice = dict_of(rows_from(0), {3, 1});
    twice.add(rows_from(0), tensor_view{elements + 9, data_type::f32, {2, 3}, {3, 1}});
    BOOST_CHECK_EXCEPTION(addresses_of({twice, {}}), error,
                          says(errc::bad_layout, "rank 0 holds " + to_string(rows_from(0)) +
                                                     ", which the layout does not assign to it"));
}

BOOST_AUTO_TEST_CASE(gaps_between_elements_are_refused) {
    BOOST_CHECK_EXCEPTION(
        addresses_of({dict_of(rows_from(0), {4, 1}), {}}), error,
        says(errc::bad_layout, "rank 0 holds " + to_string(rows_from(0)) +
                                   " with the strides [4, 1]; a typed plan moves dense shards "
                                   "only"));
}

BOOST_AUTO_TEST_CASE(missing_shards_are_refused) {
    BOOST_CHECK_EXCEPTION(
        addresses_of({dict_of(rows_from(0), {3, 1}), {}}), error,
        says(errc::bad_layout,
             "rank 1 holds nothing of 'w', of which the layout assigns it a shard"));
}

BOOST_AUTO_TEST_SUITE_END()
