// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/layout/typed_layout.hpp>

#include <reshard/layout/layout_of.hpp>
#include <reshard/layout/typed_facts.hpp>

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(shard_typed_layout)

using job = typed::layout<
    mesh{{"pp", 2}, {"tp", 2}}, typed::tensor<"up", float, index_vector{6, 4}, only{1}, shard{0}>,
    typed::tensor<"down", bfloat16, index_vector{4, 7}, replicate{}, shard_sizes{1, {3, 4}}>>;

BOOST_AUTO_TEST_CASE(a_typed_layout_converts_to_the_layout_of_all_ranks) {
    layout const whole_job = job();
    // Made by hand, rank by rank.
    layout const expected = layout_of({
        {{"down", data_type::bf16, {4, 7}, {{0, 0}, {4, 3}}, {}}},
        {{"down", data_type::bf16, {4, 7}, {{0, 3}, {4, 4}}, {}}},
        {{"up", data_type::f32, {6, 4}, {{0, 0}, {3, 4}}, {}},
         {"down", data_type::bf16, {4, 7}, {{0, 0}, {4, 3}}, {}}},
        {{"up", data_type::f32, {6, 4}, {{3, 0}, {3, 4}}, {}},
         {"down", data_type::bf16, {4, 7}, {{0, 3}, {4, 4}}, {}}},
    });
    BOOST_TEST((listed(whole_job) == expected));
}

BOOST_AUTO_TEST_CASE(a_rank_known_at_run_time_has_its_descriptors) {
    std::vector<shard_descriptor> const rank_1{
        {"down", data_type::bf16, {4, 7}, {{0, 3}, {4, 4}}, {}}};
    std::vector<shard_descriptor> const rank_2{
        {"up", data_type::f32, {6, 4}, {{0, 0}, {3, 4}}, {}},
        {"down", data_type::bf16, {4, 7}, {{0, 0}, {4, 3}}, {}}};
    BOOST_TEST((descriptors_of<job>(1) == rank_1));
    BOOST_TEST((descriptors_of<job>(2) == rank_2));
}

BOOST_AUTO_TEST_CASE(a_rank_known_at_compile_time_has_the_same) {
    std::vector<shard_descriptor> const rank_2 = typed::state_dict_of<job, 2>();
    BOOST_TEST((rank_2 == descriptors_of<job>(2)));
}

BOOST_AUTO_TEST_SUITE_END()
