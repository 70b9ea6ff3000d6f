// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/format/safetensors.hpp>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(format_safetensors_header)

namespace {

using namespace reshard;
using namespace reshard::detail;

constexpr std::uint64_t most = ~std::uint64_t{0};

} // namespace

BOOST_AUTO_TEST_CASE(bits_are_multiplied_from_the_left) {
    BOOST_TEST((detail::bit_count({}, data_type::f32) == std::uint64_t{32}));
    BOOST_TEST((detail::bit_count({3, 5}, data_type::f6_e2m3) == std::uint64_t{90}));
    BOOST_TEST((detail::bit_count({0, most, 2}, data_type::f32) == std::uint64_t{0}));
    BOOST_TEST(!detail::bit_count({most, 2, 0}, data_type::f32).has_value());
    BOOST_TEST((detail::bit_count({most / 8}, data_type::u8) == most - 7));
    BOOST_TEST(!detail::bit_count({most / 8 + 1}, data_type::u8).has_value());
}

BOOST_AUTO_TEST_CASE(tensors_must_cover_the_data_exactly) {
    safetensors_header header{
        {{"a", data_type::u8, {3}, 0, 3}, {"b", data_type::f32, {}, 3, 7}}, {}, 100, {}};
    BOOST_CHECK_NO_THROW(check_data(header, 107, "f"));
    BOOST_CHECK_THROW(check_data(header, 106, "f"), error);
    BOOST_CHECK_THROW(check_data(header, 108, "f"), error);
    header.tensors[1].begin = 2;
    BOOST_CHECK_THROW(check_data(header, 107, "f"), error);
}

BOOST_AUTO_TEST_CASE(tensors_of_equal_data_are_sorted_by_name) {
    reshard::vector<safetensors_entry> tensors{{"c", data_type::u8, {1}, 0, 1},
                                               {"b", data_type::u8, {0}, 0, 0},
                                               {"a", data_type::u8, {0}, 0, 0},
                                               {"d", data_type::u8, {0}, 1, 1}};
    detail::sort_by_data(tensors);
    std::string names;
    for (safetensors_entry const& tensor : tensors)
        names += tensor.name;
    BOOST_TEST(names == "abcd");
}

BOOST_AUTO_TEST_SUITE_END()
