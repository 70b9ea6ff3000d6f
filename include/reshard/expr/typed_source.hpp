// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_TYPED_SOURCE_HPP
#define RESHARD_EXPR_TYPED_SOURCE_HPP

#include <reshard/expr/expression.hpp>
#include <reshard/layout/typed.hpp>
#include <reshard/layout/typed_keys.hpp>

#include <boost/mp11/list.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>

/// \file
/// Source tensors as types, the inputs of the typed algebra, and the checks of expressions.

namespace reshard::typed {

/// An expression whose shape and data type are known to the compiler: a type of
/// `typed_expression.hpp`.
///
/// `value(source)` returns the expression; `source(key)` gives it a source tensor, in the order of
/// the list `sources`. `keyless` is the same expression for source tensors without keys.
template <class T>
concept expression = requires {
    typename T::keyless;
    typename T::sources;
    { T::shape } -> std::convertible_to<index_vector>;
    { T::dtype } -> std::convertible_to<data_type>;
};

} // namespace reshard::typed

namespace reshard::detail {

/// Whether shapes have the same number of axes, and the same extents except along `axis`.
constexpr bool join_along(index_vector const& a, index_vector const& b, std::size_t axis) {
    if (a.size() != b.size())
        return false;
    for (std::size_t other = 0; other < a.size(); ++other)
        if (other != axis && a[other] != b[other])
            return false;
    return true;
}

/// Whether a permutation names each of `ndim` axes once.
constexpr bool is_order(index_vector const& axes, std::size_t ndim) {
    index_vector values = index_vector::filled(ndim, 0);
    for (index_t const axis : axes)
        if (axis >= 0 && axis < static_cast<index_t>(ndim))
            ++values[static_cast<std::size_t>(axis)];
    return axes.size() == ndim && values == index_vector::filled(ndim, 1);
}

/// A source tensor without its key: equal expressions of different tensors share a `keyless` type.
template <class T, index_vector Shape>
struct typed_operand {
    using keyless = typed_operand;
    using sources = boost::mp11::mp_list<>;

    static constexpr index_vector shape = Shape;
    static constexpr data_type dtype = named_data_type<T>();

    static constexpr expression value(auto&& source) { return source(std::string_view()); }
};

} // namespace reshard::detail

namespace reshard::typed {

/// A tensor of the source.
template <detail::fixed_string Key, class T, index_vector Shape>
struct source {
    static_assert(detail::has_data_type<T>, "the element type of a typed::source has no data type");
    static_assert(detail::is_shape(Shape),
                  "the shape of a typed::source has a negative extent or too many elements");

    using keyless = detail::typed_operand<T, Shape>;
    using sources = boost::mp11::mp_list<source>;

    static constexpr detail::hashed_key hashed = detail::hashed_key(Key.view());
    static constexpr index_vector shape = Shape;
    static constexpr data_type dtype = detail::named_data_type<T>();

    static constexpr reshard::expression value(auto&& source) {
        return source(std::string_view(Key));
    }
};

} // namespace reshard::typed

#endif
