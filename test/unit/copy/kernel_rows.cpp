// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/copy/kernel_elements.hpp>

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace reshard;
BOOST_AUTO_TEST_SUITE(rows)

BOOST_AUTO_TEST_CASE(rows_go_where_their_strides_say) {
    std::vector<unsigned char> const source{1, 2, 3, 4, 5, 6, 7, 8, 9};
    std::vector<unsigned char> target(8, 0);
    detail::copy_rows({{2, 2}, 1, {5, 1}, 0, {4, 1}}, 1, {source.data(), target.data(), false});
    BOOST_TEST((target == std::vector<unsigned char>{2, 3, 0, 0, 7, 8, 0, 0}));
}

BOOST_AUTO_TEST_CASE(streamed_rows_arrive_too) {
    std::vector<unsigned char> source(4096);
    for (std::size_t i = 0; i < source.size(); ++i)
        source[i] = static_cast<unsigned char>(i * 7);
    std::vector<unsigned char> target(4096, 0);
    detail::copy_rows({{2, 512}, 0, {2048, 4}, 0, {2048, 4}}, 4,
                      {source.data(), target.data(), true});
    BOOST_TEST((target == source));
}

BOOST_AUTO_TEST_CASE(packed_runs_and_single_elements_keep_other_bits) {
    std::vector<unsigned char> const source{0x21, 0x43, 0x65, 0x87};
    std::vector<unsigned char> target{0xff, 0xff, 0xff, 0xff};
    detail::copy_packed({{3}, 4, {4}, 8, {4}}, 4, {source.data(), target.data(), false});
    BOOST_TEST((target == std::vector<unsigned char>{0xff, 0x32, 0xf4, 0xff}));
    detail::copy_packed({{2}, 0, {8}, 4, {12}}, 4, {source.data(), target.data(), false});
    BOOST_TEST((target == std::vector<unsigned char>{0x1f, 0x32, 0xf3, 0xff}));
}

BOOST_AUTO_TEST_SUITE_END()
