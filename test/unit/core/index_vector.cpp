// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/index_vector.hpp>

#include <boost/test/unit_test.hpp>

#include <limits>
#include <numeric>
#include <span>
#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(index_vectors)

namespace {

auto has_code(errc code) {
    return [code](error const& problem) { return problem.code() == code; };
}

} // namespace

BOOST_AUTO_TEST_CASE(numbers_are_kept_in_order) {
    index_vector numbers{4, 5};
    numbers.push_back(6);
    BOOST_TEST(numbers.size() == 3u);
    BOOST_TEST(numbers[0] == 4);
    BOOST_TEST(numbers[2] == 6);
    numbers[1] = -7;
    BOOST_TEST((numbers == index_vector{4, -7, 6}));
    std::vector<int> const others{4, -7, 6};
    BOOST_TEST((numbers == index_vector(others.begin(), others.end())));
    BOOST_TEST(index_vector().empty());
    BOOST_TEST((index_vector::filled(3, 9) == index_vector{9, 9, 9}));
    BOOST_TEST((index_vector::filled(0, 9) == index_vector()));
}

BOOST_AUTO_TEST_CASE(vectors_of_different_length_differ) {
    BOOST_TEST((index_vector{0} != index_vector()));
    BOOST_TEST((index_vector{1, 2} != index_vector{1, 2, 0}));
    BOOST_TEST((index_vector{1, 2} != index_vector{2, 1}));
}

BOOST_AUTO_TEST_CASE(eight_axes_are_the_most) {
    index_vector numbers{1, 2, 3, 4, 5, 6, 7, 8};
    BOOST_TEST(numbers.size() == max_ndim);
    BOOST_CHECK_EXCEPTION(numbers.push_back(9), error, has_code(errc::limit_exceeded));
    BOOST_TEST(numbers.size() == max_ndim);
    BOOST_CHECK_EXCEPTION((index_vector{1, 2, 3, 4, 5, 6, 7, 8, 9}), error,
                          has_code(errc::limit_exceeded));
}

BOOST_AUTO_TEST_CASE(a_vector_is_a_range_of_its_numbers) {
    index_vector const numbers{3, 1};
    std::span<index_t const> const view = numbers;
    BOOST_TEST(view.size() == 2u);
    BOOST_TEST(view[1] == 1);
    BOOST_TEST(std::accumulate(numbers.begin(), numbers.end(), index_t{0}) == 4);
}

BOOST_AUTO_TEST_CASE(a_scalar_has_one_element_and_a_zero_extent_none) {
    BOOST_TEST(element_count(index_vector{}) == 1);
    BOOST_TEST(element_count(index_vector{2, 3, 4}) == 24);
    BOOST_TEST(element_count(index_vector{2, 0, 4}) == 0);
}

BOOST_AUTO_TEST_CASE(products_beyond_64_bits_are_refused_with_both_numbers) {
    index_t const large = index_t{1} << 32;
    BOOST_TEST(checked_multiply(large, large / 4) == index_t{1} << 62);
    BOOST_TEST(checked_multiply(0, large) == 0);
    BOOST_TEST(checked_multiply(std::numeric_limits<index_t>::max(), 1) ==
               std::numeric_limits<index_t>::max());
    BOOST_CHECK_EXCEPTION(checked_multiply(large, large), error, [](error const& problem) {
        return problem.code() == errc::overflow &&
               std::string(problem.what()).find("4294967296") != std::string::npos;
    });
    BOOST_CHECK_EXCEPTION(element_count(index_vector{large, large, 2}), error,
                          has_code(errc::overflow));
    BOOST_TEST(element_count(index_vector{large, large, 0}) == 0);
}

BOOST_AUTO_TEST_CASE(sums_beyond_64_bits_are_refused_with_both_numbers) {
    index_t const most = std::numeric_limits<index_t>::max();
    BOOST_TEST(checked_add(2, 3) == 5);
    BOOST_TEST(checked_add(most - 1, 1) == most);
    BOOST_CHECK_EXCEPTION(checked_add(1, most, "the bytes"), error, [](error const& problem) {
        return problem.code() == errc::overflow &&
               std::string(problem.what()) ==
                   "the sum of the bytes 1 and 9223372036854775807 does not fit in 64 bits";
    });
}

BOOST_AUTO_TEST_CASE(shapes_are_printed_as_lists) {
    BOOST_TEST(to_string(index_vector{2, 3}) == "[2, 3]");
    BOOST_TEST(to_string(index_vector{}) == "[]");
    BOOST_TEST(to_string(index_vector{-1}) == "[-1]");
}

BOOST_AUTO_TEST_SUITE_END()
