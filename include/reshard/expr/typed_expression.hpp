// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_TYPED_EXPRESSION_HPP
#define RESHARD_EXPR_TYPED_EXPRESSION_HPP

#include <reshard/core/vector.hpp>
#include <reshard/expr/algebra.hpp>
#include <reshard/expr/typed_source.hpp>

#include <boost/mp11/list.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

/// \file
/// The algebra as types: operands that do not fit are compile errors that say why.

namespace reshard::detail {

/// The shape with another extent along an axis; unchanged if it has no such axis.
constexpr index_vector with_extent(index_vector shape, std::size_t axis, index_t extent) {
    if (axis < shape.size())
        shape[axis] = extent;
    return shape;
}

constexpr index_t extent_of(index_vector const& shape, std::size_t axis) {
    return axis < shape.size() ? shape[axis] : 0;
}

/// Whether each range lies within the extent of its axis.
constexpr bool are_ranges(index_vector const& shape, index_vector const& first,
                          index_vector const& last) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
        if (extent_of(first, axis) < 0 || extent_of(first, axis) > extent_of(last, axis) ||
            extent_of(last, axis) > shape[axis])
            return false;
    return true;
}

constexpr index_t sum_of(index_vector const& sizes) {
    index_t sum = 0;
    for (index_t const size : sizes)
        sum = size < 0 ? -1 : sum < 0 ? sum : sum + size;
    return sum;
}

} // namespace reshard::detail

namespace reshard::typed {

/// Joins tensors along an axis: `concat`.
template <std::size_t Axis, expression First, expression... Others>
struct concat {
    static_assert(Axis < First::shape.size(), "a concat must join along an axis of its tensors");
    static_assert((detail::join_along(First::shape, Others::shape, Axis) && ...),
                  "the tensors of a concat must have equal extents along all other axes");
    static_assert(((First::dtype == Others::dtype) && ...),
                  "the tensors of a concat must have one data type; cast the others with "
                  "typed::cast");

    using keyless = concat<Axis, typename First::keyless, typename Others::keyless...>;
    using sources = boost::mp11::mp_append<typename First::sources, typename Others::sources...>;

    static constexpr index_vector shape = detail::with_extent(
        First::shape, Axis,
        (detail::extent_of(First::shape, Axis) + ... + detail::extent_of(Others::shape, Axis)));
    static constexpr data_type dtype = First::dtype;

    static constexpr reshard::expression value(auto&& source) {
        return reshard::concat({First::value(source), Others::value(source)...}, Axis);
    }
};

/// Part number `Part` of a tensor that is split along an axis into parts of `Sizes`: `split`.
template <expression Of, std::size_t Axis, index_vector Sizes, std::size_t Part>
struct split {
    static_assert(Axis < Of::shape.size(), "a split must cut an axis of its tensor");
    static_assert(detail::sum_of(Sizes) == detail::extent_of(Of::shape, Axis),
                  "the sizes of a split must sum to the extent of its axis");
    static_assert(Part < Sizes.size(), "the part of a split must be the index of one of its sizes");

    using keyless = split<typename Of::keyless, Axis, Sizes, Part>;
    using sources = typename Of::sources;

    static constexpr index_vector shape =
        detail::with_extent(Of::shape, Axis, detail::extent_of(Sizes, Part));
    static constexpr data_type dtype = Of::dtype;

    static constexpr reshard::expression value(auto&& source) {
        return std::move(
            reshard::split(Of::value(source), Axis, {Sizes.begin(), Sizes.size()})[Part]);
    }
};

/// Permutes the axes of a tensor: `permute`.
template <expression Of, index_vector Order>
struct permute {
    static_assert(detail::is_order(Order, Of::shape.size()),
                  "a permutation must name each axis of its tensor once");

    using keyless = permute<typename Of::keyless, Order>;
    using sources = typename Of::sources;

    static constexpr index_vector shape = [] {
        index_vector permuted = Of::shape;
        for (std::size_t axis = 0;
             detail::is_order(Order, permuted.size()) && axis < permuted.size(); ++axis)
            permuted[axis] = Of::shape[static_cast<std::size_t>(Order[axis])];
        return permuted;
    }();
    static constexpr data_type dtype = Of::dtype;

    static constexpr reshard::expression value(auto&& source) {
        return reshard::permute(Of::value(source), Order);
    }
};

/// The same elements in another shape: `reshape`.
template <expression Of, index_vector Shape>
struct reshape {
    static_assert(detail::is_shape(Shape) && element_count(Shape) == element_count(Of::shape),
                  "a reshape must keep the number of elements");

    using keyless = reshape<typename Of::keyless, Shape>;
    using sources = typename Of::sources;

    static constexpr index_vector shape = Shape;
    static constexpr data_type dtype = Of::dtype;

    static constexpr reshard::expression value(auto&& source) {
        return reshard::reshape(Of::value(source), Shape);
    }
};

/// The box of a tensor from `First` up to and without `Last`: `slice`.
template <expression Of, index_vector First, index_vector Last>
struct slice {
    static_assert(First.size() == Of::shape.size() && Last.size() == Of::shape.size(),
                  "a slice needs a range for each axis of its tensor");
    static_assert(detail::are_ranges(Of::shape, First, Last),
                  "the ranges of a slice must lie within the extents of its tensor");

    using keyless = slice<typename Of::keyless, First, Last>;
    using sources = typename Of::sources;

    static constexpr index_vector shape = [] {
        index_vector cut = Of::shape;
        for (std::size_t axis = 0; axis < cut.size(); ++axis)
            cut[axis] = detail::extent_of(Last, axis) - detail::extent_of(First, axis);
        return cut;
    }();
    static constexpr data_type dtype = Of::dtype;

    static constexpr reshard::expression value(auto&& source) {
        vector<detail::axis_range> ranges;
        for (std::size_t axis = 0; axis < shape.size(); ++axis)
            ranges.push_back({First[axis], Last[axis]});
        return reshard::slice(Of::value(source), ranges);
    }
};

/// Crops the tail of each axis, or extends it with zeros: `resize`.
template <expression Of, index_vector Shape>
struct resize {
    static_assert(detail::is_shape(Shape) && Shape.size() == Of::shape.size(),
                  "a resize needs an extent for each axis of its tensor");

    using keyless = resize<typename Of::keyless, Shape>;
    using sources = typename Of::sources;

    static constexpr index_vector shape = Shape;
    static constexpr data_type dtype = Of::dtype;

    static constexpr reshard::expression value(auto&& source) {
        return reshard::resize(Of::value(source), Shape);
    }
};

/// A tensor that has no source: `zeros`.
template <class T, index_vector Shape>
struct zeros {
    static_assert(detail::has_data_type<T>, "the element type of typed::zeros has no data type");
    static_assert(detail::is_shape(Shape),
                  "the shape of typed::zeros has a negative extent or too many elements");

    using keyless = zeros;
    using sources = boost::mp11::mp_list<>;

    static constexpr index_vector shape = Shape;
    static constexpr data_type dtype = detail::named_data_type<T>();

    static constexpr reshard::expression value(auto&&) { return reshard::zeros(Shape, dtype); }
};

/// A tensor that has no source and keeps the contents of its memory.
template <class T, index_vector Shape>
struct added : zeros<T, Shape> {
    using keyless = added;
    static constexpr bool keeps_memory = true;
};

/// The elements in another data type: `cast`.
template <expression Of, class T>
struct cast {
    static_assert(detail::has_data_type<T>, "the element type of a typed::cast has no data type");
    static_assert(detail::is_castable(Of::dtype, detail::named_data_type<T>()),
                  "a cast must be from complex numbers to complex ones, or from real to real ones");

    using keyless = cast<typename Of::keyless, T>;
    using sources = typename Of::sources;

    static constexpr index_vector shape = Of::shape;
    static constexpr data_type dtype = detail::named_data_type<T>();

    static constexpr reshard::expression value(auto&& source) {
        return reshard::cast(Of::value(source), dtype);
    }
};

/// Arithmetic with a `std::ratio`; its result is rounded to `T`, or by default to the tensor's own
/// type.
template <expression Of, class Constant, class T>
struct arithmetic {
    static constexpr index_vector shape = Of::shape;
    static constexpr data_type dtype = [] {
        if constexpr (std::is_void_v<T>)
            return Of::dtype;
        else
            return detail::named_data_type<T>();
    }();

    static_assert(detail::is_floating(Of::dtype) && detail::is_floating(dtype),
                  "arithmetic needs floating-point numbers; cast the tensor first");

    static constexpr double operand =
        static_cast<double>(Constant::num) / static_cast<double>(Constant::den);

    using sources = typename Of::sources;
};

/// Each element times `Factor`, a `std::ratio`: `scaled`.
template <expression Of, class Factor, class T = void>
struct scaled : arithmetic<Of, Factor, T> {
    using keyless = scaled<typename Of::keyless, Factor, T>;

    static constexpr reshard::expression value(auto&& source) {
        return reshard::scaled(Of::value(source), scaled::operand, scaled::dtype);
    }
};

/// Each element plus `Addend`, a `std::ratio`: `shifted`.
template <expression Of, class Addend, class T = void>
struct shifted : arithmetic<Of, Addend, T> {
    using keyless = shifted<typename Of::keyless, Addend, T>;

    static constexpr reshard::expression value(auto&& source) {
        return reshard::shifted(Of::value(source), shifted::operand, shifted::dtype);
    }
};

} // namespace reshard::typed

#endif
