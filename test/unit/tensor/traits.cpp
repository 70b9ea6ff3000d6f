// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/tensor/traits.hpp>

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace reshard;
using namespace reshard::detail;

namespace mine {

/// A row of a framework whose element type is known at run time only.
struct blob {
    std::vector<unsigned char> bytes;
    data_type dtype = data_type::f16;
};

struct handle_on_device {
    float* data = nullptr;
};

struct without_strides {};
struct of_colours {};
struct colour {};
struct copies_its_data {};

} // namespace mine

namespace reshard {

template <>
struct tensor_traits<mine::blob> {
    using element_type = unsigned char;
    static index_vector shape(mine::blob const& t) {
        return {static_cast<index_t>(t.bytes.size()) * 8 / bits(t.dtype)};
    }
    static index_vector strides(mine::blob const&) { return {1}; }
    static unsigned char* data(mine::blob& t) { return t.bytes.data(); }
    static unsigned char const* data(mine::blob const& t) { return t.bytes.data(); }
    static data_type dtype(mine::blob const& t) { return t.dtype; }
};

template <>
struct tensor_traits<mine::handle_on_device> {
    using element_type = float;
    static constexpr bool is_borrowed = true;
    static index_vector shape(mine::handle_on_device const&) { return {2}; }
    static index_vector strides(mine::handle_on_device const&) { return {1}; }
    static float* data(mine::handle_on_device& t) { return t.data; }
    static float const* data(mine::handle_on_device const& t) { return t.data; }
    static memory_space memory(mine::handle_on_device const&) { return memory_space::device; }
};

template <>
struct tensor_traits<mine::without_strides> {
    using element_type = float;
    static index_vector shape(mine::without_strides const&) { return {}; }
    static float* data(mine::without_strides&) { return nullptr; }
    static float const* data(mine::without_strides const&) { return nullptr; }
};

template <>
struct tensor_traits<mine::of_colours> {
    using element_type = mine::colour;
    static index_vector shape(mine::of_colours const&) { return {}; }
    static index_vector strides(mine::of_colours const&) { return {}; }
    static mine::colour* data(mine::of_colours&) { return nullptr; }
    static mine::colour const* data(mine::of_colours const&) { return nullptr; }
};

template <>
struct tensor_traits<mine::copies_its_data> {
    using element_type = float;
    static index_vector shape(mine::copies_its_data const&) { return {}; }
    static index_vector strides(mine::copies_its_data const&) { return {}; }
    static std::vector<float> data(mine::copies_its_data const&) { return {}; }
};

} // namespace reshard

BOOST_AUTO_TEST_SUITE(tensor_traits_)

BOOST_AUTO_TEST_CASE(a_complete_specialisation_makes_a_tensor) {
    BOOST_TEST(tensor<mine::blob>);
    BOOST_TEST(tensor<mine::handle_on_device>);
}

BOOST_AUTO_TEST_CASE(half_a_specialisation_makes_none) {
    BOOST_TEST(!tensor<mine::without_strides>);
    BOOST_TEST(!tensor<mine::copies_its_data>);
    BOOST_TEST(!tensor<int>);
    BOOST_TEST(!tensor<float*>);
}

BOOST_AUTO_TEST_CASE(elements_need_a_data_type) { BOOST_TEST(!tensor<mine::of_colours>); }

BOOST_AUTO_TEST_CASE(the_data_type_may_be_known_at_run_time_only) {
    BOOST_TEST((dtype_of(mine::blob{}) == data_type::f16));
    BOOST_TEST((dtype_of(mine::blob{{}, data_type::f8_e5m2}) == data_type::f8_e5m2));
    BOOST_TEST((dtype_of(mine::handle_on_device{}) == data_type::f32));
}

BOOST_AUTO_TEST_CASE(memory_is_the_hosts_unless_it_says_otherwise) {
    BOOST_TEST((memory_of(mine::blob{}) == memory_space::host));
    BOOST_TEST((memory_of(mine::handle_on_device{}) == memory_space::device));
}

BOOST_AUTO_TEST_CASE(a_tensor_owns_its_elements_unless_it_says_otherwise) {
    BOOST_TEST(!borrowed_tensor<mine::blob>);
    BOOST_TEST(borrowed_tensor<mine::handle_on_device>);
}

BOOST_AUTO_TEST_SUITE_END()
