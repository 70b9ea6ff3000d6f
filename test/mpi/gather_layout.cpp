// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/group/gather_layout.hpp>

#include <reshard/group/agree.hpp>
#include <reshard/mpi/mpi_group.hpp>

#include <boost/test/unit_test.hpp>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(mpi_gather_layouts)

BOOST_AUTO_TEST_CASE(texts_of_any_length_are_gathered_in_the_order_of_ranks) {
    mpi_group const ranks{boost::mpi::communicator()};
    auto const rank = static_cast<std::size_t>(ranks.rank());
    std::vector<std::string> const all = ranks.all_gather(std::string(rank * 3, '\0') + "x");
    BOOST_TEST_REQUIRE(all.size() == static_cast<std::size_t>(ranks.size()));
    for (std::size_t i = 0; i < all.size(); ++i)
        BOOST_TEST(all[i] == std::string(i * 3, '\0') + "x");
}

BOOST_AUTO_TEST_CASE(every_rank_knows_what_all_hold) {
    // Rank r holds elements 2r and 2r + 1 as a flat range of the whole, and its own scalar.
    mpi_group const ranks{boost::mpi::communicator()};
    index_t const rank = ranks.rank();
    index_vector const shape{2 * ranks.size()};
    std::vector<float> two(2);
    float index = 0;
    const_state_dict tensors;
    tensors.add({"w", data_type::f32, shape, {{0}, shape}, flat_range{2 * rank, 2 * rank + 2}},
                const_tensor_view{two.data(), data_type::f32, {2}, {1}});
    if (rank != 0)
        tensors.add({"s" + std::to_string(rank), data_type::f32, {}, {}, {}},
                    const_tensor_view{&index, data_type::f32, {}, {}});
    layout const layout = gather_layout(ranks, tensors.descriptors());
    BOOST_TEST(layout.holders == static_cast<holder_t>(ranks.size()));
    BOOST_TEST(layout.tensors.size() == static_cast<std::size_t>(ranks.size()));
    tensor_shards const shards = layout.shards_of(*layout.find("w"));
    BOOST_TEST_REQUIRE(shards.size() == static_cast<std::size_t>(ranks.size()));
    for (std::uint32_t i = 0; i < shards.size(); ++i) {
        BOOST_TEST(shards.holder(i) == i);
        BOOST_TEST((shards.flat(i) == flat_range{2 * index_t{i}, 2 * index_t{i} + 2}));
    }
}

BOOST_AUTO_TEST_CASE(the_lowest_failing_rank_speaks_for_all) {
    mpi_group const ranks{boost::mpi::communicator()};
    int const lowest = ranks.size() / 2;
    auto const is_it = [&](error const& problem) {
        return problem.code() == errc::missing_file &&
               problem.what() == "rank " + std::to_string(lowest);
    };
    auto const work = [&] {
        if (ranks.rank() >= lowest)
            fail(errc::missing_file, "rank " + std::to_string(ranks.rank()));
    };
    BOOST_CHECK_EXCEPTION(agree_on(ranks, work), error, is_it);
    agree_on(ranks, [] {});
}

BOOST_AUTO_TEST_SUITE_END()
