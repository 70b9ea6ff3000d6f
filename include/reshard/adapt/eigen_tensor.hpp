// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ADAPT_EIGEN_TENSOR_HPP
#define RESHARD_ADAPT_EIGEN_TENSOR_HPP

#include <reshard/core/index_vector.hpp>
#include <reshard/tensor/traits.hpp>

#include <unsupported/Eigen/CXX11/Tensor>

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

/// \file
/// Tensors of Eigen's unsupported Tensor module, and maps of them, in both storage orders.

namespace reshard {

namespace detail {

template <class T>
constexpr bool is_eigen_tensor = false;
template <class Element, int N, int Options, class Index>
constexpr bool is_eigen_tensor<Eigen::Tensor<Element, N, Options, Index>> = true;
template <class Element, class Shape, int Options, class Index>
constexpr bool is_eigen_tensor<Eigen::TensorFixedSize<Element, Shape, Options, Index>> = true;

template <class T>
constexpr bool is_eigen_tensor_map = false;
template <class Plain, int Options, template <class> class Pointer>
constexpr bool is_eigen_tensor_map<Eigen::TensorMap<Plain, Options, Pointer>> = true;

/// A tensor, or a map of a tensor. An expression such as a slice has no memory.
template <class T>
concept eigen_tensor = is_eigen_tensor<T> || is_eigen_tensor_map<T>;

} // namespace detail

/// Elements are contiguous: in Eigen's default order, along the first axis.
template <detail::eigen_tensor T>
struct tensor_traits<T> {
    using element_type = std::remove_pointer_t<decltype(std::declval<T&>().data())>;
    static constexpr bool is_borrowed = detail::is_eigen_tensor_map<T>;

    static index_vector shape(T const& t) {
        index_vector result;
        for (int axis = 0; axis < T::NumDimensions; ++axis)
            result.push_back(static_cast<index_t>(extent(t, axis)));
        return result;
    }
    static index_vector strides(T const& t) {
        index_vector extents = shape(t);
        if constexpr (static_cast<int>(T::Layout) == static_cast<int>(Eigen::RowMajor))
            return row_major_strides(extents);
        std::reverse(extents.begin(), extents.end());
        index_vector result = row_major_strides(extents);
        std::reverse(result.begin(), result.end());
        return result;
    }
    static element_type* data(T& t) { return t.data(); }
    static element_type const* data(T const& t) { return t.data(); }

private:
    static auto extent(T const& t, int axis) {
        if constexpr (is_borrowed)
            return t.dimension(axis);
        else
            return t.dimension(static_cast<std::size_t>(axis));
    }
};

} // namespace reshard

#endif
