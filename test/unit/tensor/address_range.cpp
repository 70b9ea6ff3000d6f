// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/tensor/view.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <limits>

using namespace reshard;
using namespace reshard::detail;

BOOST_AUTO_TEST_SUITE(tensor_address_range)

namespace {

unsigned char memory[256];

std::uintptr_t const base = reinterpret_cast<std::uintptr_t>(memory);

const_tensor_view at(std::size_t byte, data_type dtype, index_vector const& shape,
                     index_vector const& strides) {
    return {memory + byte, dtype, shape, strides};
}

void touches(const_tensor_view const& elements, std::uintptr_t first, std::uintptr_t last) {
    address_range const range = addresses(elements);
    BOOST_TEST(range.begin - base == first);
    BOOST_TEST(range.end - base == last);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_contiguous_tensor_touches_its_bytes) {
    touches(at(8, data_type::f32, {2, 3}, {3, 1}), 8, 32);
    touches(at(8, data_type::f32, {2, 3}, {1, 2}), 8, 32);
    touches(at(8, data_type::bf16, {}, {}), 8, 10);
}

BOOST_AUTO_TEST_CASE(a_strided_tensor_ends_with_its_last_element) {
    touches(at(0, data_type::f32, {2, 3}, {10, 2}), 0, 60);
}

BOOST_AUTO_TEST_CASE(negative_strides_reach_before_the_first_element) {
    touches(at(100, data_type::f32, {3}, {-1}), 92, 104);
    touches(at(100, data_type::f32, {2, 3}, {4, -2}), 84, 120);
}

BOOST_AUTO_TEST_CASE(no_element_touches_nothing) {
    touches(at(8, data_type::f32, {2, 0}, {3, 1}), 8, 8);
    BOOST_TEST(addresses(const_tensor_view{nullptr, data_type::f32, {0}, {1}}).empty());
}

BOOST_AUTO_TEST_CASE(packed_elements_touch_the_bytes_they_lie_in) {
    touches(at(4, data_type::f4, {5}, {1}), 4, 7);
    touches(at(4, data_type::f6_e2m3, {4}, {1}), 4, 7);
}

BOOST_AUTO_TEST_CASE(a_stride_of_zero_touches_one_element) {
    touches(at(8, data_type::f64, {1000}, {0}), 8, 16);
}

BOOST_AUTO_TEST_CASE(ranges_overlap_where_they_share_a_byte) {
    BOOST_TEST(overlap({10, 20}, {19, 30}));
    BOOST_TEST(overlap({19, 30}, {10, 20}));
    BOOST_TEST(overlap({10, 20}, {12, 13}));
    BOOST_TEST(!overlap({10, 20}, {20, 30}));
    BOOST_TEST(!overlap({20, 30}, {10, 20}));
    BOOST_TEST(!overlap({10, 20}, {15, 15}));
    BOOST_TEST((address_range{10, 20}.bytes() == 10));
}

BOOST_AUTO_TEST_CASE(neighbours_share_no_memory) {
    auto const first = at(0, data_type::f32, {4}, {1});
    BOOST_TEST(may_share_memory(first, first));
    BOOST_TEST(may_share_memory(first, at(15, data_type::u8, {1}, {1})));
    BOOST_TEST(!may_share_memory(first, at(16, data_type::f32, {4}, {1})));
    // Written backwards from the end.
    BOOST_TEST(may_share_memory(first, at(16, data_type::f32, {2}, {-1})));
}

BOOST_AUTO_TEST_CASE(one_address_on_two_devices_is_two_places) {
    auto const here = at(0, data_type::f32, {4}, {1});
    auto there = here;
    there.memory = memory_space::device;
    BOOST_TEST(!may_share_memory(here, there));
}

BOOST_AUTO_TEST_CASE(strides_beyond_64_bits_are_refused) {
    index_t const most = std::numeric_limits<index_t>::max();
    auto const overflows = [](error const& e) { return e.code() == errc::overflow; };
    BOOST_CHECK_EXCEPTION(addresses(at(0, data_type::f32, {3}, {most})), error, overflows);
    BOOST_CHECK_EXCEPTION(addresses(at(0, data_type::f32, {3}, {-most - 1})), error, overflows);
    BOOST_CHECK_EXCEPTION(addresses(at(0, data_type::f32, {2, 2}, {most, most})), error, overflows);
    BOOST_CHECK_EXCEPTION(addresses(at(0, data_type::f32, {2}, {most / 2})), error, overflows);
}

BOOST_AUTO_TEST_SUITE_END()
