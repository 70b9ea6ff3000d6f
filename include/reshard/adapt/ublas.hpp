// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ADAPT_UBLAS_HPP
#define RESHARD_ADAPT_UBLAS_HPP

#include <reshard/tensor/traits.hpp>

#include <boost/numeric/ublas/matrix.hpp>
#include <boost/numeric/ublas/matrix_proxy.hpp>
#include <boost/numeric/ublas/vector.hpp>
#include <boost/numeric/ublas/vector_proxy.hpp>

#include <concepts>
#include <type_traits>

/// \file
/// Boost.uBLAS's dense vectors and matrices, and ranges of them, as tensors.

namespace reshard {

namespace detail {

namespace ublas = boost::numeric::ublas;

/// The element type of a dense vector or matrix. Deduction finds the base class of a bounded
/// vector.
template <class Element, class Array>
Element element_of(ublas::vector<Element, Array> const&);
template <class Element, class Order, class Array>
Element element_of(ublas::matrix<Element, Order, Array> const&);

template <class T>
concept ublas_vector =
    requires(T const& t) { element_of(t); } && !requires(T const& t) { t.size1(); };
template <class T>
concept ublas_matrix = requires(T const& t) {
    element_of(t);
    t.size1();
};

/// The strides of a matrix, rows first.
template <class Matrix>
index_vector ublas_strides(Matrix const& t) {
    if constexpr (std::same_as<typename Matrix::orientation_category, ublas::row_major_tag>)
        return {static_cast<index_t>(t.size2()), 1};
    else
        return {1, static_cast<index_t>(t.size1())};
}

/// The address of the first element of a container. An empty container has an address, too.
template <class Container>
auto* ublas_elements(Container& t) {
    return t.data().begin();
}

/// The address of the first element of the container to which a range belongs.
template <class Range>
auto* elements_around(Range const& t) {
    auto container = t.data(); // a reference to the container
    return ublas_elements(container.expression());
}

/// The element type of a range of a vector or matrix `T`, which may be const.
template <class T>
using ublas_element =
    std::conditional_t<std::is_const_v<T>, typename T::value_type const, typename T::value_type>;

} // namespace detail

template <detail::ublas_vector T>
struct tensor_traits<T> {
    using element_type = typename T::value_type;

    static index_vector shape(T const& t) { return {static_cast<index_t>(t.size())}; }
    static index_vector strides(T const&) { return {1}; }
    static element_type* data(T& t) { return detail::ublas_elements(t); }
    static element_type const* data(T const& t) { return detail::ublas_elements(t); }
};

/// The type decides whether rows or columns are contiguous.
template <detail::ublas_matrix T>
struct tensor_traits<T> {
    using element_type = typename T::value_type;

    static index_vector shape(T const& t) {
        return {static_cast<index_t>(t.size1()), static_cast<index_t>(t.size2())};
    }
    static index_vector strides(T const& t) { return detail::ublas_strides(t); }
    static element_type* data(T& t) { return detail::ublas_elements(t); }
    static element_type const* data(T const& t) { return detail::ublas_elements(t); }
};

/// A range is a view of its vector.
template <class Vector>
    requires detail::ublas_vector<std::remove_const_t<Vector>>
struct tensor_traits<boost::numeric::ublas::vector_range<Vector>> {
    using range = boost::numeric::ublas::vector_range<Vector>;
    using element_type = detail::ublas_element<Vector>;
    static constexpr bool is_borrowed = true;

    static index_vector shape(range const& t) { return {static_cast<index_t>(t.size())}; }
    static index_vector strides(range const&) { return {1}; }
    static element_type* data(range& t) { return detail::elements_around(t) + t.start(); }
    static element_type const* data(range const& t) {
        return detail::elements_around(t) + t.start();
    }
};

/// A range is a view of its matrix.
template <class Matrix>
    requires detail::ublas_matrix<std::remove_const_t<Matrix>>
struct tensor_traits<boost::numeric::ublas::matrix_range<Matrix>> {
    using range = boost::numeric::ublas::matrix_range<Matrix>;
    using element_type = detail::ublas_element<Matrix>;
    static constexpr bool is_borrowed = true;

    static index_vector shape(range const& t) {
        return {static_cast<index_t>(t.size1()), static_cast<index_t>(t.size2())};
    }
    static index_vector strides(range const& t) {
        return detail::ublas_strides(t.data().expression());
    }
    static element_type* data(range& t) { return first(t); }
    static element_type const* data(range const& t) { return first(t); }

private:
    static element_type* first(range const& t) {
        index_vector const steps = strides(t);
        return detail::elements_around(t) + steps[0] * static_cast<index_t>(t.start1()) +
               steps[1] * static_cast<index_t>(t.start2());
    }
};

} // namespace reshard

#endif
