// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/tensor/self_overlap.hpp>

#include <boost/test/unit_test.hpp>

#include <bitset>
#include <cstddef>
#include <limits>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(tensor_self_overlap)

namespace {

bool is_apart(index_vector const& shape, index_vector const& strides) {
    return !self_overlap(shape, strides);
}

/// The oracle: every element of a tensor of three axes is put at its address.
bool all_differ(index_vector const& shape, index_vector const& strides) {
    std::bitset<128> taken; // 3 axes, 3 steps of 7 at most, either way
    for (index_t i = 0; i < shape[0]; ++i)
        for (index_t j = 0; j < shape[1]; ++j)
            for (index_t k = 0; k < shape[2]; ++k) {
                auto const address =
                    static_cast<std::size_t>(64 + i * strides[0] + j * strides[1] + k * strides[2]);
                if (taken.test(address))
                    return false;
                taken.set(address);
            }
    return true;
}

/// Calls `visit` for each of three numbers from `first` to `last`.
template <class Visit>
void for_each_three(index_t first, index_t last, Visit const& visit) {
    for (index_t a = first; a <= last; ++a)
        for (index_t b = first; b <= last; ++b)
            for (index_t c = first; c <= last; ++c)
                visit(index_vector{a, b, c});
}

} // namespace

BOOST_AUTO_TEST_CASE(dense_tensors_and_what_is_cut_from_them_have_elements_of_their_own) {
    BOOST_TEST(is_apart({}, {}));
    BOOST_TEST(is_apart({256, 256}, {256, 1}));
    BOOST_TEST(is_apart({256, 256}, {1, 256}));
    BOOST_TEST(is_apart({2, 3, 4}, {4, 8, 1})); // the first two axes exchanged
    BOOST_TEST(is_apart({5, 3}, {8, 2}));       // every second column of eight
    BOOST_TEST(is_apart({5, 3}, {-8, 2}));      // rows backwards
    BOOST_TEST(is_apart({4, 4, 4, 4, 4, 4, 4, 4}, {16384, 4096, 1024, 256, 64, 16, 4, 1}));
}

BOOST_AUTO_TEST_CASE(an_axis_of_one_element_and_a_tensor_of_none_have_any_stride) {
    BOOST_TEST(is_apart({1, 3}, {0, 1}));
    BOOST_TEST(is_apart({1, 3}, {1, 1}));
    BOOST_TEST(is_apart({0, 3}, {0, 0}));
}

BOOST_AUTO_TEST_CASE(a_stride_smaller_than_a_row_is_found_with_both_numbers) {
    BOOST_TEST((self_overlap({256, 256}, {255, 1}) == crowded_axis{0, 255, 256}));
    BOOST_TEST((self_overlap({256, 256}, {1, 255}) == crowded_axis{1, 255, 256}));
    BOOST_TEST((self_overlap({256, 256}, {-255, 1}) == crowded_axis{0, 255, 256}));
    BOOST_TEST((self_overlap({2, 2}, {1, 1}) == crowded_axis{0, 1, 2}));
    BOOST_TEST((self_overlap({2, 2, 3}, {6, 2, 1}) ==
                crowded_axis{1, 2, 3})); // the outer axis is innocent
}

BOOST_AUTO_TEST_CASE(a_stride_of_zero_is_found) {
    BOOST_TEST((self_overlap({4, 3}, {1, 0}) == crowded_axis{1, 0, 1}));
    BOOST_TEST((self_overlap({2}, {0}) == crowded_axis{0, 0, 1}));
}

// 0 2 4, 3 5 7: the second row begins within the first. A third element of a column is 6: 0 2 4 6 would meet it.
BOOST_AUTO_TEST_CASE(two_axes_may_interleave_without_sharing_an_address) {
    BOOST_TEST(is_apart({2, 3}, {3, 2}));
    BOOST_TEST((self_overlap({3, 4}, {3, 2}) == crowded_axis{0, 3, 7}));
    BOOST_TEST(is_apart({2, 3, 4}, {12, 8, 1})); // the same, in groups of four
}

BOOST_AUTO_TEST_CASE(strides_that_lead_to_the_end_of_64_bits_are_no_trouble) {
    constexpr index_t most = std::numeric_limits<index_t>::max();
    BOOST_TEST(is_apart({2, 2}, {most, 1}));
    BOOST_TEST(is_apart({2, 2}, {-most - 1, most})); // a step of one byte between them
    BOOST_TEST((self_overlap({2, 2}, {-most, most}).has_value()));
}

BOOST_AUTO_TEST_CASE(no_overlap_is_missed_and_little_else_is_refused) {
    std::size_t wrong = 0;
    std::size_t refused_for_nothing = 0;
    std::size_t compared = 0;
    for_each_three(1, 4, [&](index_vector const& shape) {
        for_each_three(-7, 7, [&](index_vector const& strides) {
            bool const apart = is_apart(shape, strides);
            bool const expected = all_differ(shape, strides);
            ++compared;
            wrong += apart && !expected;
            refused_for_nothing += !apart && expected;
            if (shape[2] == 1 && apart != expected) // two axes: exactly
                ++wrong;
        });
    });
    BOOST_TEST(wrong == 0u);
    BOOST_TEST(refused_for_nothing * 50 < compared);
    BOOST_TEST(refused_for_nothing > 0u); // as the header says
}

BOOST_AUTO_TEST_SUITE_END()
