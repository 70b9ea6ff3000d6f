// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ADAPT_RAW_TENSOR_HPP
#define RESHARD_ADAPT_RAW_TENSOR_HPP

#include <reshard/core/index_vector.hpp>
#include <reshard/tensor/traits.hpp>

#include <boost/assert.hpp>

/// \file
/// A pointer and a shape, as a tensor.

namespace reshard {

namespace adapt {

/// A view of elements that the caller owns, from `data` on.
///
/// \par Units strides in elements, of any sign
/// \pre       `shape.size() == strides.size()`
template <class T>
struct raw_tensor {
    T* data = nullptr;
    index_vector shape;
    index_vector strides;

    constexpr raw_tensor() = default;

    /// Elements in row-major order.
    ///
    /// \throws error with errc::overflow when the strides do not fit 64 bits
    constexpr raw_tensor(T* first, index_vector const& extents)
        : raw_tensor(first, extents, row_major_strides(extents)) {}

    /// Elements at the strides `steps`.
    constexpr raw_tensor(T* first, index_vector const& extents, index_vector const& steps)
        : data(first), shape(extents), strides(steps) {
        BOOST_ASSERT(shape.size() == strides.size());
    }
};

} // namespace adapt

/// The tensor does not own its elements, so a temporary is allowed.
template <class T>
struct tensor_traits<adapt::raw_tensor<T>> {
    using element_type = T;
    static constexpr bool is_borrowed = true;

    static constexpr index_vector shape(adapt::raw_tensor<T> const& t) { return t.shape; }
    static constexpr index_vector strides(adapt::raw_tensor<T> const& t) { return t.strides; }
    static constexpr T* data(adapt::raw_tensor<T>& t) { return t.data; }
    static constexpr T const* data(adapt::raw_tensor<T> const& t) { return t.data; }
};

} // namespace reshard

#endif
