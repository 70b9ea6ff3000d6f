// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#include <reshard/adapt/pybind11.hpp>

#include "support/says.hpp"

#include <reshard/core/index_vector.hpp>
#include <reshard/layout/equal_shares.hpp>
#include <reshard/tensor/state_dict.hpp>
#include <reshard/testing/check_adapter.hpp>

#include <pybind11/embed.h>
#include <pybind11/eval.h>

#include <optional>
#include <string>
#include <vector>

using namespace reshard;
using namespace reshard::detail;
using reshard::test::says;
namespace py = pybind11;

namespace {

/// One interpreter for all cases.
struct interpreter {
    py::scoped_interpreter running;
};

bool has_numpy() {
    try {
        py::module_::import("numpy");
        return true;
    } catch (py::error_already_set const&) {
        return false;
    }
}

struct numpy_fixture {
    numpy_fixture() {
        if (!has_numpy())
            BOOST_TEST_MESSAGE("skipped: Python has no NumPy");
    }
    bool const exists = has_numpy();
};

py::tuple python_index(index_vector const& index) {
    py::tuple result(index.size());
    for (std::size_t axis = 0; axis < index.size(); ++axis)
        result[axis] = index[axis];
    return result;
}

py::array evaluated(std::string const& expression) {
    return py::eval(expression, py::dict(py::arg("np") = py::module_::import("numpy")));
}

template <class Array>
testing::adapter_case<Array> arrays() {
    return {.make =
                [](index_vector const& shape, data_type dtype) {
                    auto const zeros = py::module_::import("numpy").attr("zeros");
                    return zeros(python_index(shape), std::string(name(dtype))).cast<Array>();
                },
            .write = [](Array& t, index_vector const& i,
                        int number) { t.attr("__setitem__")(python_index(i), number); },
            .read =
                [](Array const& t, index_vector const& i) {
                    return py::int_(t.attr("__getitem__")(python_index(i)).attr("real"))
                        .template cast<int>();
                }};
}

/// The contents of a module for Python: the second half of the columns of a matrix.
py::array_t<float> right_half(py::array const& matrix) {
    py::array_t<float> right(std::vector<py::ssize_t>{matrix.shape(0), matrix.shape(1) / 2});
    const_state_dict have;
    state_dict want;
    have.add(replicated("w", data_type::f32, {matrix.shape(0), matrix.shape(1)}), matrix);
    want.add(equal_shares("w", data_type::f32, {right.shape(0), right.shape(1)}, {{1, 1, 2}}),
             right);
    redistribute(solo{}, have, want);
    return right;
}

shard_descriptor whole_of(data_type dtype, index_vector const& shape) {
    return replicated("w", dtype, shape);
}

void check_refused(py::array const& array, std::string const& sentence) {
    const_state_dict have;
    have.add(whole_of(data_type::f32, {2}), array);
    BOOST_CHECK_EXCEPTION(have.check(), error, says(errc::unsupported, sentence));
}

} // namespace

BOOST_TEST_GLOBAL_FIXTURE(interpreter);
BOOST_FIXTURE_TEST_SUITE(adapt_pybind11, numpy_fixture)

BOOST_AUTO_TEST_CASE(arrays_of_every_type_keep_the_laws) {
    if (!exists)
        return;
    auto options = arrays<py::array>();
    options.dtypes = {data_type::boolean, data_type::u8,  data_type::i8,  data_type::i16,
                      data_type::u16,     data_type::f16, data_type::i32, data_type::u32,
                      data_type::f32,     data_type::c64, data_type::f64, data_type::i64,
                      data_type::u64,     data_type::c128};
    options.ndims = {0, 1, 2, 3, 8};
    testing::check_adapter(options);
    testing::check_adapter(arrays<py::array_t<float>>());
    BOOST_TEST(true);
}

BOOST_AUTO_TEST_CASE(views_keep_the_laws) {
    if (!exists)
        return;
    auto options = arrays<py::array>();
    options.make = [](index_vector const& shape,
                      data_type) { // turned, and every other row backwards
        auto const text = "np.zeros((" + std::to_string(shape[1]) + ", " +
                          std::to_string(2 * shape[0]) + "), np.int16).T[::-2]";
        return evaluated(text);
    };
    options.ndims = {2};
    options.dtypes = {data_type::i16};
    testing::check_adapter(options);
    BOOST_TEST(true);
}

BOOST_AUTO_TEST_CASE(the_state_dict_keeps_a_temporary_array) {
    if (!exists)
        return;
    state_dict want;
    want.add(whole_of(data_type::f32, {3, 2}),
             evaluated("np.arange(12, dtype=np.float32).reshape(3, 4)[:, 1:3]"));
    want.check();
    BOOST_TEST((want[0].tensor.strides == index_vector{4, 1}));
    BOOST_TEST(static_cast<float*>(want[0].tensor.data)[5] == 6);
}

BOOST_AUTO_TEST_CASE(a_function_of_a_module_takes_and_gives_arrays) {
    if (!exists)
        return;
    auto const right = right_half(evaluated("np.arange(8, dtype=np.float32).reshape(2, 4)"));
    BOOST_TEST(right.at(0, 0) == 2);
    BOOST_TEST(right.at(1, 1) == 7);
    BOOST_CHECK_EXCEPTION(
        right_half(evaluated("np.zeros((2, 4))")), error,
        says(errc::dtype_mismatch, "'w': a shard of float32 does not fit a tensor of float64"));
}

BOOST_AUTO_TEST_CASE(a_read_only_array_is_a_source_and_no_target) {
    if (!exists)
        return;
    py::array const array = evaluated("np.broadcast_to(np.float32(1), (2,))");
    const_state_dict have;
    have.add(whole_of(data_type::f32, {2}), array);
    have.check();
    state_dict want;
    want.add(whole_of(data_type::f32, {2}), py::array(array));
    BOOST_CHECK_EXCEPTION(want.check(), error,
                          says(errc::usage, "'w': an array of shape [2] is read-only; add it to a "
                                            "const_state_dict"));
}

BOOST_AUTO_TEST_CASE(other_types_orders_and_strides_are_refused_with_the_key) {
    if (!exists)
        return;
    check_refused(evaluated("np.zeros(2, '>f4')"),
                  "'w': a NumPy array of '>float32' matches no data type of this library; convert "
                  "it with astype");
    check_refused(evaluated("np.zeros(2, np.longdouble)"),
                  "'w': a NumPy array of 'float128' matches no data type of this library; convert "
                  "it with astype");
    check_refused(evaluated("np.zeros(2, [('a', np.float32), ('b', np.int16)])['a']"),
                  "'w': axis 0 of an array has a stride of 6 bytes, not a multiple of its element "
                  "size of 4; copy it");
}

BOOST_AUTO_TEST_CASE(a_buffer_is_held_as_long_as_it_is_seen) {
    if (!exists)
        return;
    auto const scope = py::dict();
    py::exec("b = bytearray(b'abcd')", scope);
    auto const can_grow = [&] {
        py::exec("try:\n  b.append(1); grew = True\nexcept BufferError: grew = False", scope);
        return scope["grew"].cast<bool>();
    };
    {
        state_dict want;
        want.add(whole_of(data_type::u8, {4}), adapt::python_buffer(scope["b"]));
        want.check();
        BOOST_TEST(static_cast<char*>(want[0].tensor.data)[2] == 'c');
        BOOST_TEST(!can_grow());
    }
    BOOST_TEST(can_grow());
    state_dict want;
    want.add(whole_of(data_type::u8, {2}), adapt::python_buffer(py::bytes("ab")));
    BOOST_CHECK_EXCEPTION(want.check(), error,
                          says(errc::usage, "'w': an array of shape [2] is read-only; add it to a "
                                            "const_state_dict"));
}

BOOST_AUTO_TEST_SUITE_END()
