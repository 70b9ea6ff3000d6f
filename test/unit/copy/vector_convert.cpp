// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/kernel_convert.hpp>

#include "vector_support.hpp"

using namespace reshard;
using namespace reshard::test;

BOOST_AUTO_TEST_SUITE(vector_conversions)

BOOST_AUTO_TEST_CASE(the_largest_registers_are_chosen_and_those_asked_for_are_taken) {
    using detail::vector_set;
    auto const rows = [](auto... set) {
        return detail::vector_conversion_of(data_type::f32, data_type::bf16, set...);
    };
    vector_set const largest = detail::widest_vectors();
    BOOST_TEST((rows() == rows(largest)));
    BOOST_TEST(!rows(vector_set::none));
    BOOST_TEST(detail::has(largest));
    for (vector_set const set : all_vectors) {
        BOOST_TEST(static_cast<bool>(rows(set)) == detail::has(set));
        BOOST_TEST((detail::has(set) && set > largest) == false);
    }
    if (can_test(vector_set::avx2) && can_test(vector_set::avx512))
        BOOST_TEST((rows(vector_set::avx2) != rows(vector_set::avx512)));
}

BOOST_AUTO_TEST_CASE(each_cast_of_the_table_is_in_all_registers) {
    for (detail::vector_set const set : all_vectors)
        if (can_test(set))
            for (pair_of_types const& cast : casts()) {
                detail::vector_conversion const found = cast.vectors(set);
                BOOST_TEST((found && found.block()), cast.text() << " with " << text(set));
            }
}

BOOST_AUTO_TEST_CASE(what_would_round_twice_has_no_vectors) {
    BOOST_TEST(!detail::vector_conversion_of(data_type::f64, data_type::bf16));
    BOOST_TEST(!detail::vector_conversion_of(data_type::f64, data_type::f16));
    BOOST_TEST(!detail::vector_conversion_of(data_type::i32, data_type::f32));
    BOOST_TEST(!detail::vector_conversion_of(data_type::f32, data_type::f8_e4m3));
}

BOOST_AUTO_TEST_SUITE_END()
