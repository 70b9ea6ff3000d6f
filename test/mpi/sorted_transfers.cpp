// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/mpi/node_reach.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

namespace {

using numbers = std::vector<std::uint32_t>;

/// One element each: from 1 to itself, from 0 to 1, from 1 to 2, zeros for 1, from 1 to 0, from 1 to 2.
plan six_transfers() {
    plan all;
    all.source_dtypes = {data_type::f32};
    all.target_dtypes = {data_type::f32};
    all.pattern_of = {0};
    all.chains = {{}};
    all.patterns.emplace_back(1);
    all.patterns[0].push_back({permutation::identity(1), {0}, {0}, {1}});
    for (auto const& [source, target] : std::vector<std::pair<holder_t, holder_t>>{
             {1, 1}, {0, 1}, {1, 2}, {no_holder, 1}, {1, 0}, {1, 2}})
        all.transfers.push_back({source, target, source == no_holder ? zero_source : 0, 0});
    return all;
}

} // namespace

BOOST_AUTO_TEST_SUITE(mpi_sorted_transfers)

BOOST_AUTO_TEST_CASE(each_transfer_is_with_its_peer_in_order) {
    auto const sorted = detail::sort_by_peer(six_transfers(), 1, 4);
    BOOST_TEST((sorted.local == numbers{0, 3}));
    BOOST_TEST((sorted.from == std::vector<numbers>{{1}, {}, {}, {}}));
    BOOST_TEST((sorted.to == std::vector<numbers>{{4}, {}, {2, 5}, {}}));
}

BOOST_AUTO_TEST_CASE(the_nearest_peer_comes_first) {
    plan const all = six_transfers();
    auto const sorted = detail::sort_by_peer(all, 1, 4);
    auto const lanes = detail::rotated_lanes(all, sorted.to, {1, 1});
    BOOST_TEST(lanes.size() == 2u);
    BOOST_TEST(lanes[0].peer == 2);
    BOOST_TEST(lanes[1].peer == 0);
    BOOST_TEST(detail::rotated_lanes(all, sorted.to, {1, -1})[0].peer == 0);
}

BOOST_AUTO_TEST_CASE(bytes_and_messages_are_counted) {
    plan const all = six_transfers();
    BOOST_TEST(
        (detail::cost_of(all, detail::sort_by_peer(all, 1, 4)) == process_cost{4, 12, 8, 1, 2}));
}

BOOST_AUTO_TEST_SUITE_END()
