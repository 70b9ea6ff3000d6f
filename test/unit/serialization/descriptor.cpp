// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/descriptor.hpp>

#include <reshard/group/bytes.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(serialization_descriptor)

namespace {

using shards = reshard::vector<shard_descriptor>;

shards round_trip(shards const& held_shards) {
    return list_from_bytes<shard_descriptor>(list_to_bytes(held_shards));
}

} // namespace

BOOST_AUTO_TEST_CASE(a_rank_that_holds_nothing_says_so) { BOOST_TEST(round_trip({}).empty()); }

BOOST_AUTO_TEST_CASE(descriptors_come_back_as_they_were_and_in_order) {
    shards const held_shards = {{"w", data_type::bf16, {8, 6}, {{4, 0}, {4, 6}}, {}},
                                {"b", data_type::u64, {6}, {{0}, {6}}, {}}};
    shards const back = round_trip(held_shards);
    BOOST_TEST_REQUIRE(back.size() == 2u);
    BOOST_TEST((back[0] == shard_descriptor{"w", data_type::bf16, {8, 6}, {{4, 0}, {4, 6}}, {}}));
    BOOST_TEST((back[1] == shard_descriptor{"b", data_type::u64, {6}, {{0}, {6}}, {}}));
}

BOOST_AUTO_TEST_CASE(a_flat_range_comes_back_and_none_stays_none) {
    shards const back = round_trip({{"w", data_type::f32, {9}, {{0}, {9}}, flat_range{2, 7}},
                                    {"w", data_type::f32, {9}, {{0}, {9}}, flat_range{0, 0}},
                                    {"w", data_type::f32, {9}, {{0}, {9}}, {}}});
    BOOST_TEST((back[0].flat == flat_range{2, 7}));
    BOOST_TEST((back[1].flat == flat_range{0, 0}));
    BOOST_TEST(!back[2].flat);
}

BOOST_AUTO_TEST_CASE(scalars_empty_shards_and_eight_axes_come_back) {
    index_vector const eight{2, 1, 3, 1, 4, 1, 5, 9};
    shards const back = round_trip({{"s", data_type::f4, {}, {}, {}},
                                    {"e", data_type::boolean, {0, 3}, {{0, 1}, {0, 2}}, {}},
                                    {"n", data_type::c64, eight, whole(eight), {}}});
    BOOST_TEST(back[0].global_shape.empty());
    BOOST_TEST((back[1].region == box{{0, 1}, {0, 2}}));
    BOOST_TEST((back[2].region == box{{0, 0, 0, 0, 0, 0, 0, 0}, {2, 1, 3, 1, 4, 1, 5, 9}}));
    BOOST_TEST((back[2].dtype == data_type::c64));
}

BOOST_AUTO_TEST_CASE(keys_may_have_any_bytes) {
    std::string const strange("a\0\n\xff/", 5);
    BOOST_TEST(round_trip({{strange, data_type::f32, {}, {}, {}}})[0].key == strange);
}

BOOST_AUTO_TEST_CASE(bytes_of_others_are_refused) {
    std::string const bytes =
        list_to_bytes(shards{{"w", data_type::f32, {9}, {{0}, {9}}, flat_range{2, 7}}});
    for (std::size_t size = 0; size < bytes.size(); ++size)
        BOOST_CHECK_EXCEPTION(
            list_from_bytes<shard_descriptor>(bytes.substr(0, size)), error,
            [](error const& problem) { return problem.code() == errc::corrupt_file; });
}

BOOST_AUTO_TEST_CASE(large_numbers_come_back_whole) {
    index_t const large = index_t{1} << 62;
    BOOST_TEST((round_trip({{"w", data_type::u8, {large}, {{large - 3}, {3}}, {}}})[0].region ==
                box{{large - 3}, {3}}));
}

BOOST_AUTO_TEST_SUITE_END()
