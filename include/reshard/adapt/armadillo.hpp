// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_ADAPT_ARMADILLO_HPP
#define RESHARD_ADAPT_ARMADILLO_HPP

#include <reshard/tensor/traits.hpp>

#include <armadillo>

#include <concepts>

/// \file
/// Armadillo's matrices, vectors, cubes and their parts as tensors.

namespace reshard {

namespace detail {

/// A matrix or a vector. Its size may be fixed.
template <class T>
concept arma_matrix = std::derived_from<T, arma::Mat<typename T::elem_type>>;
/// A part of a matrix, such as `m.rows(1, 2)` or `m.col(3)`.
template <class T>
concept arma_part = std::derived_from<T, arma::subview<typename T::elem_type>>;

/// Converts a value for rows and a value for columns to values for the tensor's axes. A vector has
/// one axis.
template <class T>
index_vector arma_axes(arma::uword rows, arma::uword columns) {
    auto const of_rows = static_cast<index_t>(rows), of_columns = static_cast<index_t>(columns);
    if constexpr (T::is_col)
        return {of_rows};
    else if constexpr (T::is_row)
        return {of_columns};
    else
        return {of_rows, of_columns};
}

} // namespace detail

/// A matrix has contiguous columns. `Col` and `Row` have one axis.
template <detail::arma_matrix T>
struct tensor_traits<T> {
    using element_type = typename T::elem_type;

    static index_vector shape(T const& t) { return detail::arma_axes<T>(t.n_rows, t.n_cols); }
    static index_vector strides(T const& t) { return detail::arma_axes<T>(1, t.n_rows); }
    static element_type* data(T& t) { return t.memptr(); }
    static element_type const* data(T const& t) { return t.memptr(); }
};

/// A part of a matrix is a view: it does not own its elements.
template <detail::arma_part T>
struct tensor_traits<T> {
    using element_type = typename T::elem_type;
    static constexpr bool is_borrowed = true;

    static index_vector shape(T const& t) { return detail::arma_axes<T>(t.n_rows, t.n_cols); }
    static index_vector strides(T const& t) { return detail::arma_axes<T>(1, t.m.n_rows); }
    static element_type* data(T& t) { return t.n_elem == 0 ? nullptr : t.colptr(0); }
    static element_type const* data(T const& t) { return t.n_elem == 0 ? nullptr : t.colptr(0); }
};

/// A cube has rows, columns and slices; its columns are contiguous.
template <class Element>
struct tensor_traits<arma::Cube<Element>> {
    using element_type = Element;
    using cube = arma::Cube<Element>;

    static index_vector shape(cube const& t) {
        return {static_cast<index_t>(t.n_rows), static_cast<index_t>(t.n_cols),
                static_cast<index_t>(t.n_slices)};
    }
    static index_vector strides(cube const& t) {
        auto const rows = static_cast<index_t>(t.n_rows);
        return {1, rows, rows * static_cast<index_t>(t.n_cols)};
    }
    static Element* data(cube& t) { return t.memptr(); }
    static Element const* data(cube const& t) { return t.memptr(); }
};

/// A part of a cube is a view: it does not own its elements.
template <class Element>
struct tensor_traits<arma::subview_cube<Element>> {
    using element_type = Element;
    using part = arma::subview_cube<Element>;
    static constexpr bool is_borrowed = true;

    static index_vector shape(part const& t) {
        return {static_cast<index_t>(t.n_rows), static_cast<index_t>(t.n_cols),
                static_cast<index_t>(t.n_slices)};
    }
    static index_vector strides(part const& t) {
        return tensor_traits<arma::Cube<Element>>::strides(t.m);
    }
    static Element* data(part& t) { return t.n_elem == 0 ? nullptr : t.slice_colptr(0, 0); }
    static Element const* data(part const& t) {
        return t.n_elem == 0 ? nullptr : t.slice_colptr(0, 0);
    }
};

} // namespace reshard

#endif
