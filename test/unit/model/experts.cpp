// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/model/parallelism.hpp>

#include "support/says.hpp"

#include <set>

using namespace reshard;
using namespace reshard::model;

BOOST_AUTO_TEST_SUITE(model_experts)

BOOST_AUTO_TEST_CASE(local_numbers_become_numbers_of_the_model) {
    // 128 experts on 4 ranks: 0 to 31 on each are 0 to 31, 32 to 63, ...
    expert_numbers const numbers(128, 4);
    BOOST_TEST(numbers.local_count() == 32);
    BOOST_TEST(numbers.global(0, 31) == 31);
    BOOST_TEST(numbers.global(3, 5) == 101);
    BOOST_TEST(numbers.rank_of(64) == 2);
    BOOST_TEST(numbers.local(64) == 0);
}

BOOST_AUTO_TEST_CASE(no_two_experts_share_a_number) {
    expert_numbers const numbers(12, 3);
    std::set<index_t> visited;
    for (index_t rank = 0; rank < 3; ++rank)
        for (index_t local = 0; local < 4; ++local) {
            index_t const expert = numbers.global(rank, local);
            BOOST_TEST(numbers.rank_of(expert) == rank);
            BOOST_TEST(numbers.local(expert) == local);
            visited.insert(expert);
        }
    BOOST_TEST(visited.size() == 12);
    BOOST_TEST(*visited.rbegin() == 11);
}

BOOST_AUTO_TEST_CASE(experts_that_are_not_there_are_refused) {
    using test::says;
    BOOST_CHECK_EXCEPTION(
        expert_numbers(10, 4), error,
        says(errc::bad_layout, "10 experts cannot be shared equally by ep=4 ranks"));
    BOOST_CHECK_EXCEPTION(
        expert_numbers(10, 0), error,
        says(errc::bad_layout, "10 experts cannot be shared equally by ep=0 ranks"));
    expert_numbers const numbers(12, 3);
    BOOST_CHECK_EXCEPTION(
        numbers.rank_of(12), error,
        says(errc::bad_layout, "there is no expert 12 among 12; numbering starts at 0"));
    BOOST_CHECK_EXCEPTION(
        numbers.global(0, 4), error,
        says(errc::bad_layout, "there is no local expert 4 among 4; numbering starts at 0"));
    BOOST_CHECK_EXCEPTION(
        numbers.global(-1, 0), error,
        says(errc::bad_layout,
             "there is no expert-parallel rank -1 among 3; numbering starts at 0"));
}

BOOST_AUTO_TEST_CASE(some_layers_have_no_experts) {
    expert_layers const deepseek{3, 1};
    BOOST_TEST(!deepseek.contains(2));
    BOOST_TEST(deepseek.contains(3));
    BOOST_TEST(deepseek.contains(61));
    expert_layers const every_other{1, 2};
    BOOST_TEST(!every_other.contains(0));
    BOOST_TEST(every_other.contains(1));
    BOOST_TEST(!every_other.contains(2));
    BOOST_TEST(every_other.contains(3));
}

BOOST_AUTO_TEST_SUITE_END()
