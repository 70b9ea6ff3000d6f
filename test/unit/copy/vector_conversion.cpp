// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/vector_conversion.hpp>

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(vector_conversion_parts)

BOOST_AUTO_TEST_CASE(rows_are_cut_where_lines_of_the_cache_begin) {
    alignas(64) static unsigned char memory[256];
    auto const parts = [](index_t skew, index_t count, bool wants_lines) {
        detail::row_parts const cut =
            detail::parts_of_row(memory + skew, {4, 16}, count, wants_lines);
        return std::vector<index_t>{cut.head, cut.end, cut.has_whole_lines};
    };
    using cut = std::vector<index_t>;
    BOOST_TEST((parts(0, 40, true) == cut{0, 32, 1}));
    BOOST_TEST((parts(0, 40, false) == cut{0, 32, 0}));
    BOOST_TEST((parts(60, 40, true) == cut{1, 33, 1}));
    BOOST_TEST((parts(60, 16, true) == cut{1, 1, 1}));  // no whole line
    BOOST_TEST((parts(4, 8, true) == cut{8, 8, 1}));    // ends before the next line
    BOOST_TEST((parts(61, 40, true) == cut{0, 32, 0})); // no element begins at a line
    BOOST_TEST((parts(60, 0, true) == cut{0, 0, 1}));
}

BOOST_AUTO_TEST_CASE(values_of_bf16_and_of_8_bits_need_no_rounding_to_bf16) {
    using enum data_type;
    for (data_type const dtype : {bf16, f8_e4m3, f8_e5m2, f8_e4m3fnuz, f8_e5m2fnuz})
        BOOST_TEST(detail::fits_bf16(dtype));
    for (data_type const dtype : {f16, f32, f64})
        BOOST_TEST(!detail::fits_bf16(dtype));
}

BOOST_AUTO_TEST_SUITE_END()
