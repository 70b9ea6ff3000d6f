// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ADAPT_PYBIND11_HPP
#define RESHARD_ADAPT_PYBIND11_HPP

#include <reshard/core/error.hpp>
#include <reshard/tensor/traits.hpp>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

/// \file
/// NumPy's arrays, and objects with Python's buffer protocol, as tensors in pybind11 modules.
///
/// State dicts and jobs keep references to Python objects, so a thread that holds the GIL must
/// destroy them. Compile with hidden visibility, as pybind11's CMake functions do.

namespace reshard::adapt {

/// The buffer of an object with Python's buffer protocol, such as `bytearray` and `memoryview`.
/// Copies share the buffer; while a copy exists, the object is not resized or freed.
class python_buffer {
public:
    /// \throws pybind11::error_already_set if the object has no strided buffer
    explicit python_buffer(pybind11::buffer const& object)
        : seen_(std::make_shared<pybind11::buffer_info>(object.request())) {}

    pybind11::buffer_info const& info() const { return *seen_; }

private:
    std::shared_ptr<pybind11::buffer_info> seen_;
};

} // namespace reshard::adapt

namespace reshard::detail {

/// The data type of a NumPy array. Includes the types of the package ml_dtypes.
///
/// \throws error with errc::unsupported for other types, and for elements in non-native byte order
inline data_type dtype_of_numpy(pybind11::dtype const& type) {
    auto const name = pybind11::cast<std::string>(type.attr("name"));
    auto const order = pybind11::cast<std::string>(type.attr("byteorder"));
    auto const data_type = data_type_from_name(name == "float8_e8m0fnu" ? "float8_e8m0" : name);
    if (!data_type || bits(*data_type) < 8 || order == ">")
        fail(errc::unsupported, "a NumPy array of '", order == ">" ? ">" : "", name,
             "' matches no data type of this library; convert it with astype");
    return *data_type;
}

/// Converts strides from bytes to elements.
///
/// \throws error with errc::unsupported if a stride is not a multiple of the element size, as for a
///         field of a structured array
template <class Extents>
index_vector element_strides(Extents const* first, pybind11::ssize_t ndim,
                             pybind11::ssize_t item_bytes) {
    index_vector result;
    for (pybind11::ssize_t axis = 0; axis < ndim; ++axis) {
        if (first[axis] % item_bytes != 0)
            fail(errc::unsupported, "axis ", axis, " of an array has a stride of ", first[axis],
                 " bytes, not a multiple of its element size of ", item_bytes, "; copy it");
        result.push_back(first[axis] / item_bytes);
    }
    return result;
}

[[noreturn]] inline void fail_read_only(index_vector const& shape) {
    fail(errc::usage, "an array of shape ", shape, " is read-only; add it to a const_state_dict");
}

} // namespace reshard::detail

namespace reshard {

/// An array. Its element type is known only at run time.
template <>
struct tensor_traits<pybind11::array> {
    using element_type = std::byte;
    static constexpr bool is_handle = true;

    static index_vector shape(pybind11::array const& t) {
        return index_vector(t.shape(), t.shape() + t.ndim());
    }
    static index_vector strides(pybind11::array const& t) {
        return detail::element_strides(t.strides(), t.ndim(), t.itemsize());
    }
    static data_type dtype(pybind11::array const& t) { return detail::dtype_of_numpy(t.dtype()); }
    /// \throws error with errc::usage if it is read-only
    static std::byte* data(pybind11::array& t) {
        if (!t.writeable())
            detail::fail_read_only(shape(t));
        return static_cast<std::byte*>(t.mutable_data());
    }
    static std::byte const* data(pybind11::array const& t) {
        return static_cast<std::byte const*>(t.data());
    }
};

/// An array of one type. If pybind11 has to convert an argument, the array is a copy, and data that
/// is written to it is lost. So pass targets as `pybind11::array`, or with `noconvert()`.
template <class Element, int Flags>
struct tensor_traits<pybind11::array_t<Element, Flags>> {
    using element_type = Element;
    using array = pybind11::array_t<Element, Flags>;
    using any = tensor_traits<pybind11::array>;
    static constexpr bool is_handle = true;

    static index_vector shape(array const& t) { return any::shape(t); }
    static index_vector strides(array const& t) { return any::strides(t); }
    /// \throws error with errc::usage if it is read-only
    static Element* data(array& t) {
        if (!t.writeable())
            detail::fail_read_only(shape(t));
        return t.mutable_data();
    }
    static Element const* data(array const& t) { return t.data(); }
};

/// The bytes or numbers of a buffer.
template <>
struct tensor_traits<adapt::python_buffer> {
    using element_type = std::byte;
    static constexpr bool is_handle = true;

    static index_vector shape(adapt::python_buffer const& t) {
        return index_vector(t.info().shape.begin(), t.info().shape.end());
    }
    static index_vector strides(adapt::python_buffer const& t) {
        return detail::element_strides(t.info().strides.data(), t.info().ndim, t.info().itemsize);
    }
    static data_type dtype(adapt::python_buffer const& t) {
        return detail::dtype_of_numpy(pybind11::dtype(t.info()));
    }
    /// \throws error with errc::usage if it is read-only
    static std::byte* data(adapt::python_buffer& t) {
        if (t.info().readonly)
            detail::fail_read_only(shape(t));
        return static_cast<std::byte*>(t.info().ptr);
    }
    static std::byte const* data(adapt::python_buffer const& t) {
        return static_cast<std::byte const*>(t.info().ptr);
    }
};

} // namespace reshard

#endif
