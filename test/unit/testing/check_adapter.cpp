// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/testing/check_adapter.hpp>

#include "support/says.hpp"

#include <reshard/adapt/span.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace reshard;
using reshard::test::says;

namespace {

/// A matrix whose adapter gives the chosen answers, right or wrong.
struct matrix {
    index_vector shape;
    data_type dtype = data_type::f32;
    std::vector<float> elements = std::vector<float>(6);

    float& at(index_vector const& index) {
        return elements[static_cast<std::size_t>(index[0] * 3 + index[1])];
    }
};

/// The answers of the adapter of `matrix`.
struct answers {
    index_vector shape{2, 3}, strides{3, 1};
    data_type dtype = data_type::f32;
    memory_space memory = memory_space::host;
    std::function<float*(matrix&)> data = [](matrix& t) { return t.elements.data(); };
    std::function<float const*(matrix const&)> const_data = [](matrix const& t) {
        return t.elements.data();
    };
};

answers said;

/// The same elements, and another claim about who owns them.
struct owned_handle {
    std::vector<float> elements = std::vector<float>(2);
};
struct owned_view {
    std::vector<float> elements = std::vector<float>(2);
};
struct silent_handle {
    std::shared_ptr<std::vector<float>> elements = std::make_shared<std::vector<float>>(2);
};
/// Half of an element.
struct of_halves {
    std::vector<float> elements = std::vector<float>(2);
};

} // namespace

template <>
struct reshard::tensor_traits<matrix> {
    using element_type = float;
    static index_vector shape(matrix const&) { return said.shape; }
    static index_vector strides(matrix const&) { return said.strides; }
    static data_type dtype(matrix const&) { return said.dtype; }
    static memory_space memory(matrix const&) { return said.memory; }
    static float* data(matrix& t) { return said.data(t); }
    static float const* data(matrix const& t) { return said.const_data(t); }
};

template <class T>
    requires std::same_as<T, owned_handle> || std::same_as<T, owned_view>
struct reshard::tensor_traits<T> {
    using element_type = float;
    static constexpr bool is_handle = std::same_as<T, owned_handle>;
    static constexpr bool is_borrowed = std::same_as<T, owned_view>;
    static index_vector shape(T const&) { return {2}; }
    static index_vector strides(T const&) { return {1}; }
    static float* data(T& t) { return t.elements.data(); }
    static float const* data(T const& t) { return t.elements.data(); }
};

template <>
struct reshard::tensor_traits<silent_handle> {
    using element_type = float;
    static index_vector shape(silent_handle const&) { return {2}; }
    static index_vector strides(silent_handle const&) { return {1}; }
    static float* data(silent_handle& t) { return t.elements->data(); }
    static float const* data(silent_handle const& t) { return t.elements->data(); }
};

template <>
struct reshard::tensor_traits<of_halves> {
    using element_type = std::uint16_t;
    static index_vector shape(of_halves const&) { return {2}; }
    static index_vector strides(of_halves const&) { return {1}; }
    static data_type dtype(of_halves const&) { return data_type::f32; }
    static element_type* data(of_halves&) { return nullptr; }
    static element_type const* data(of_halves const&) { return nullptr; }
};

namespace {

testing::adapter_case<matrix> matrices() {
    return {.make =
                [](index_vector const& shape, data_type dtype) {
                    return matrix{shape, dtype};
                },
            .write = [](matrix& t, index_vector const& index,
                        int number) { t.at(index) = static_cast<float>(number); },
            .read = [](matrix const& t,
                       index_vector const& index) { return static_cast<int>(matrix(t).at(index)); },
            .shapes = {{2, 3}},
            .dtypes = {data_type::f32}};
}

/// The result of the check for matrices whose adapter gives these answers.
void check_says(answers const& wrong, std::string const& sentence) {
    said = wrong;
    BOOST_CHECK_EXCEPTION(testing::check_adapter(matrices()), error,
                          says(errc::usage, "check_adapter: " + sentence));
    said = {};
}

/// A case that makes rows of two elements, and looks at none.
template <class T>
testing::adapter_case<T> rows() {
    return {.make = [](index_vector const&, data_type) { return T{}; },
            .write = {},
            .read = {},
            .shapes = {{2}},
            .dtypes = {data_type::f32}};
}

std::vector<float> elsewhere(6);

} // namespace

BOOST_AUTO_TEST_SUITE(testing_check_adapter)

BOOST_AUTO_TEST_CASE(a_right_adapter_passes) {
    said = {};
    testing::check_adapter(matrices());
    testing::check_adapter<std::vector<std::int16_t>>(
        {.make =
             [](index_vector const& shape, data_type) {
                 return std::vector<std::int16_t>(static_cast<std::size_t>(shape[0]));
             },
         .write = [](auto& t, index_vector const& index,
                     int number) { t[static_cast<std::size_t>(index[0])] = std::int16_t(number); },
         .read = [](auto const& t,
                    index_vector const& index) { return t[static_cast<std::size_t>(index[0])]; },
         .ndims = {1}});
    BOOST_TEST(true);
}

BOOST_AUTO_TEST_CASE(another_shape_is_found) {
    check_says({.shape = {3, 2}}, "shape: for a tensor of float32 [2, 3], shape(t) is [3, 2]");
}

BOOST_AUTO_TEST_CASE(another_number_of_strides_is_found) {
    check_says({.strides = {1}}, "strides: for a tensor of float32 [2, 3], the length of "
                                 "strides(t) is 1, but the number of axes is 2");
}

BOOST_AUTO_TEST_CASE(another_data_type_is_found) {
    check_says({.dtype = data_type::i32},
               "dtype: for a tensor of float32 [2, 3], dtype(t) is int32");
}

BOOST_AUTO_TEST_CASE(another_memory_is_found_and_no_element_on_a_device_is_touched) {
    check_says(
        {.memory = memory_space::device},
        "memory: for a tensor of float32 [2, 3], memory(t) is device:0, but host was expected");
    said = {.memory = memory_space::device};
    auto options = matrices();
    options.memory = memory_space::device;
    options.write = [](matrix&, index_vector const&, int) { BOOST_ERROR("written to a device"); };
    testing::check_adapter(options);
    said = {};
}

BOOST_AUTO_TEST_CASE(a_null_address_is_found) {
    check_says({.data = [](matrix&) -> float* { return nullptr; },
                .const_data = [](matrix const&) -> float const* { return nullptr; }},
               "data: for a tensor of float32 [2, 3], data(t) is null, but there are 6 elements");
}

BOOST_AUTO_TEST_CASE(an_address_that_differs_for_const_tensors_is_found) {
    check_says(
        {.const_data = [](matrix const& t) { return t.elements.data() + 1; }},
        "data: for a tensor of float32 [2, 3], data(t) returns another address for a const tensor");
}

BOOST_AUTO_TEST_CASE(elements_at_one_address_are_found) {
    check_says({.strides = {1, 1}},
               "strides: for a tensor of float32 [2, 3], elements share addresses: axis 0 has "
               "stride 1, but the axes within it span 3 elements");
}

BOOST_AUTO_TEST_CASE(strides_of_the_other_order_are_found) {
    check_says({.strides = {1, 2}}, "write: for a tensor of float32 [2, 3], a 1 that the tensor "
                                    "writes to element [0, 1] is seen through the view at [1, 0]");
}

BOOST_AUTO_TEST_CASE(elements_elsewhere_are_found) {
    auto const data = [](matrix const&) { return elsewhere.data(); };
    said = {.data = data, .const_data = data};
    auto options = rows<matrix>(); // copies show the same elements, too
    options.shapes = {{2, 3}};
    BOOST_CHECK_EXCEPTION(
        testing::check_adapter(options), error,
        says(errc::usage,
             "check_adapter: copies: for a tensor of float32 [2, 3], a copy shows the same "
             "elements, but tensor_traits says neither is_handle nor is_borrowed"));
    said = {};
    testing::adapter_case<std::vector<float>> deaf{
        .make = [](index_vector const&, data_type) { return std::vector<float>(2); },
        .write = [](auto&, index_vector const&, int) {},
        .read = [](auto const&, index_vector const&) { return 0; },
        .shapes = {{2}}};
    BOOST_CHECK_EXCEPTION(
        testing::check_adapter(deaf), error,
        says(errc::usage, "check_adapter: write: for a tensor of float32 [2], a 1 that the tensor "
                          "writes to element [0] is not seen through the view"));
}

BOOST_AUTO_TEST_CASE(a_tensor_that_reads_something_else_is_found) {
    auto options = matrices();
    options.read = [](matrix const& t, index_vector const& index) {
        return static_cast<int>(matrix(t).at({0, index[1]}));
    };
    BOOST_CHECK_EXCEPTION(
        testing::check_adapter(options), error,
        says(errc::usage, "check_adapter: read: for a tensor of float32 [2, 3], the view writes 0 "
                          "to element [1, 0], but the tensor reads 1"));
}

BOOST_AUTO_TEST_CASE(a_handle_and_a_borrowed_tensor_share_their_elements_with_copies) {
    BOOST_CHECK_EXCEPTION(
        testing::check_adapter(rows<owned_handle>()), error,
        says(errc::usage, "check_adapter: copies: for a tensor of float32 [2], a copy has its own "
                          "elements, but tensor_traits says is_handle, so a copy must share them"));
    BOOST_CHECK_EXCEPTION(
        testing::check_adapter(rows<owned_view>()), error,
        says(errc::usage,
             "check_adapter: copies: for a tensor of float32 [2], a copy has its own elements, but "
             "tensor_traits says is_borrowed, so a copy must share them"));
    BOOST_CHECK_EXCEPTION(
        testing::check_adapter(rows<silent_handle>()), error,
        says(errc::usage,
             "check_adapter: copies: for a tensor of float32 [2], a copy shows the same elements, "
             "but tensor_traits says neither is_handle nor is_borrowed"));
}

BOOST_AUTO_TEST_CASE(an_element_type_of_another_size_is_found) {
    BOOST_CHECK_EXCEPTION(
        testing::check_adapter(rows<of_halves>()), error,
        says(errc::usage, "check_adapter: element_type: for a tensor of float32 [2], element_type "
                          "has 16 bits, but an element has 32"));
}

BOOST_AUTO_TEST_CASE(elements_that_do_not_come_back_are_found) {
    // No adapter that keeps the other laws breaks this one: the two views are of different memory.
    testing::detail::adapted t{{2}, data_type::u8, {}};
    std::vector<std::uint8_t> elements(2), other(2);
    t.writable = tensor_view{elements.data(), data_type::u8, {2}, {1}};
    t.seen = const_tensor_view{other.data(), data_type::u8, {2}, {1}};
    BOOST_CHECK_EXCEPTION(
        testing::detail::check_moves(t), error,
        says(errc::usage, "check_adapter: redistribute: for a tensor of uint8 [2], element [1] has "
                          "a different value after it was moved in and out"));
}

BOOST_AUTO_TEST_CASE(a_data_type_known_at_run_time_has_to_be_given) {
    auto options = matrices();
    options.dtypes = {};
    BOOST_CHECK_EXCEPTION(
        testing::check_adapter(options), error,
        says(errc::usage, "check_adapter: the data type is known at run time; list it in dtypes"));
}

BOOST_AUTO_TEST_CASE(shapes_have_every_number_of_axes_and_extents_of_one_and_none) {
    BOOST_TEST((testing::detail::shapes_of(0) == std::vector<index_vector>{{}}));
    BOOST_TEST((testing::detail::shapes_of(2) ==
                std::vector<index_vector>{{2, 3}, {1, 3}, {0, 3}, {2, 0}}));
    BOOST_TEST(testing::detail::shapes_of(8)[0].size() == 8u);
}

BOOST_AUTO_TEST_SUITE_END()
