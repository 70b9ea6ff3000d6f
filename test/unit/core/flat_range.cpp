// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/core/flat_range.hpp>

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(flat_ranges)

BOOST_AUTO_TEST_CASE(a_range_in_the_middle_is_a_tail_whole_rows_and_a_head) {
    std::vector<box> const wanted{{{0, 2}, {1, 2}}, {{1, 0}, {2, 4}}, {{3, 0}, {1, 1}}};
    BOOST_TEST((boxes_of({2, 13}, {5, 4}) == wanted));
}

BOOST_AUTO_TEST_CASE(three_axes_make_at_most_five_boxes) {
    // 3 x 3 x 4, from (0, 1, 2) up to (2, 1, 3)
    std::vector<box> const wanted{{{0, 1, 2}, {1, 1, 2}},
                                  {{0, 2, 0}, {1, 1, 4}},
                                  {{1, 0, 0}, {1, 3, 4}},
                                  {{2, 0, 0}, {1, 1, 4}},
                                  {{2, 1, 0}, {1, 1, 3}}};
    BOOST_TEST((boxes_of({6, 31}, {3, 3, 4}) == wanted));
}

BOOST_AUTO_TEST_CASE(whole_boxes_and_scalars_are_one_box_and_nothing_is_none) {
    BOOST_TEST((boxes_of({0, 20}, {5, 4}) == std::vector<box>{whole({5, 4})}));
    BOOST_TEST((boxes_of({0, 1}, {}) == std::vector<box>{box{}}));
    BOOST_TEST(boxes_of({7, 7}, {5, 4}).empty());
    BOOST_TEST(boxes_of({0, 0}, {5, 0}).empty());
}

BOOST_AUTO_TEST_CASE(every_range_of_small_boxes_is_tiled_exactly) {
    for (index_vector const& shape : {index_vector{12}, index_vector{4, 3}, index_vector{2, 3, 4},
                                      index_vector{2, 1, 3, 2}, index_vector{1, 5, 1}}) {
        index_t const count = element_count(shape);
        for (index_t begin = 0; begin <= count; ++begin)
            for (index_t end = begin; end <= count; ++end) {
                auto const boxes = boxes_of({begin, end}, shape);
                BOOST_TEST_REQUIRE(boxes.size() <= 2 * shape.size() - 1);
                std::vector<int> visited(static_cast<std::size_t>(count));
                for (index_t i = 0; i < count; ++i)
                    for (box const& region : boxes)
                        if (contains(region, {unravel_index(i, shape),
                                              index_vector::filled(shape.size(), 1)}))
                            ++visited[static_cast<std::size_t>(i)];
                for (index_t i = 0; i < count; ++i)
                    BOOST_TEST_REQUIRE(visited[static_cast<std::size_t>(i)] ==
                                       (begin <= i && i < end));
                if (begin < end)
                    BOOST_TEST_REQUIRE((flat_range_of(boxes, shape) == flat_range{begin, end}));
            }
    }
}

BOOST_AUTO_TEST_CASE(only_contiguous_boxes_are_ranges) {
    BOOST_TEST((flat_range_of(box{{1, 0}, {2, 4}}, {5, 4}) == flat_range{4, 12}));
    BOOST_TEST((flat_range_of(box{{1, 1}, {1, 2}}, {5, 4}) == flat_range{5, 7}));
    BOOST_TEST(!flat_range_of(box{{0, 0}, {2, 3}}, {5, 4}).has_value());
    BOOST_TEST((flat_range_of(box{{2, 1}, {0, 2}}, {5, 4}) == flat_range{0, 0}));
    std::vector<box> const with_a_gap{{{0, 0}, {1, 4}}, {{2, 0}, {1, 4}}};
    BOOST_TEST(!flat_range_of(with_a_gap, {5, 4}).has_value());
    BOOST_TEST(!flat_range_of(std::vector<box>{}, {5, 4}).has_value());
}

BOOST_AUTO_TEST_CASE(ranges_that_leave_the_box_are_refused_with_the_numbers) {
    auto const names_the_numbers = [](error const& problem) {
        std::string const text = problem.what();
        return problem.code() == errc::shape_mismatch && text.find("4:21") != std::string::npos &&
               text.find("[5, 4]") != std::string::npos && text.find("20") != std::string::npos;
    };
    BOOST_CHECK_EXCEPTION(boxes_of({4, 21}, {5, 4}), error, names_the_numbers);
    BOOST_CHECK_THROW(boxes_of({-1, 2}, {5, 4}), error);
    BOOST_CHECK_THROW(boxes_of({3, 2}, {5, 4}), error);
    BOOST_TEST(to_string(flat_range{4, 10}) == "4:10");
    BOOST_TEST((flat_range{4, 10}.size() == 6));
}

BOOST_AUTO_TEST_SUITE_END()
