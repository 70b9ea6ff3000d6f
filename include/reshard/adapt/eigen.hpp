// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ADAPT_EIGEN_HPP
#define RESHARD_ADAPT_EIGEN_HPP

#include <reshard/tensor/traits.hpp>

#include <Eigen/Core>

#include <concepts>
#include <type_traits>
#include <utility>

/// \file
/// Eigen's dense matrices, arrays, maps, references and blocks as tensors, in both storage orders.

namespace reshard {

namespace detail {

/// The type of a dense object. Deduction finds the base class, and instantiates nothing for types
/// outside Eigen.
template <class Derived>
Derived dense_of(Eigen::DenseBase<Derived> const&);

/// True for a matrix or an array; false for a view of the coefficients of another object.
template <class Derived>
constexpr bool owns_coefficients(Eigen::PlainObjectBase<Derived> const*) {
    return true;
}
constexpr bool owns_coefficients(void const*) { return false; }

/// A dense object with its coefficients in memory; an expression such as `a + b` does not match.
template <class T>
concept eigen_dense = requires(T const& t) {
    { dense_of(t) } -> std::same_as<T>;
    t.data();
    t.innerStride();
    t.outerStride();
} && (T::Flags & Eigen::DirectAccessBit) != 0;

} // namespace detail

/// A matrix has two axes, rows first. A vector type has one axis.
template <detail::eigen_dense T>
struct tensor_traits<T> {
    using element_type = std::remove_pointer_t<decltype(std::declval<T&>().data())>;
    static constexpr bool is_borrowed = !detail::owns_coefficients(static_cast<T const*>(nullptr));

    static index_vector shape(T const& t) {
        if constexpr (T::IsVectorAtCompileTime)
            return {t.size()};
        else
            return {t.rows(), t.cols()};
    }
    static index_vector strides(T const& t) {
        if constexpr (T::IsVectorAtCompileTime)
            return {t.innerStride()};
        else if constexpr (T::IsRowMajor)
            return {t.outerStride(), t.innerStride()};
        else
            return {t.innerStride(), t.outerStride()};
    }
    static element_type* data(T& t) { return t.data(); }
    static element_type const* data(T const& t) { return t.data(); }
};

} // namespace reshard

#endif
