// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_RESHAPE_TEXT_IPP
#define RESHARD_AOA_IMPL_RESHAPE_TEXT_IPP

#include <reshard/aoa/reshape_text.hpp>

#include <reshard/aoa/finding.hpp>
#include <reshard/aoa/list_text.hpp>

#include <cstddef>
#include <string>

namespace reshard::aoa::detail {

/// `[a * b, c * ...]`: the first two axes as one, and all others as one.
///
/// \pre the shape has three axes or more
/// \throws error with errc::overflow where a product does not fit 64 bits
inline index_vector grouped_shape(index_vector const& shape) {
    return {reshard::detail::checked_multiply(shape[0], shape[1]),
            element_count(index_vector(shape.begin() + 2, shape.end()))};
}

RESHARD_DECL index_vector filled_in(std::vector<std::optional<index_t>> const& extents,
                                    index_t count, attribute const& one) {
    index_vector shape, said;
    for (std::optional<index_t> const extent : extents) {
        if (extent && *extent < 0)
            throw statement_error{errc::shape_mismatch,
                                  "the extent " + std::to_string(*extent) +
                                      " is negative; write '*' for the remaining extent",
                                  one.where};
        if (extent)
            said.push_back(*extent);
    }
    if (extents.size() > said.size() + 1)
        throw statement_error{errc::syntax,
                              "a reshape leaves one extent open at most, here '*' "
                              "stands " +
                                  std::to_string(extents.size() - said.size()) + " times",
                              one.where};
    index_t const product = element_count(said);
    if (extents.size() > said.size() && (product == 0 || count % product != 0))
        throw statement_error{errc::shape_mismatch,
                              std::to_string(count) + " elements do not divide by the " +
                                  std::to_string(product) + " of the extents " + to_string(said) +
                                  ", so '*' has no value",
                              one.where};
    for (std::optional<index_t> const extent : extents)
        shape.push_back(extent ? *extent : count / product);
    return shape;
}

RESHARD_DECL index_vector reshaped_shape(index_vector const& shape, attribute const& one,
                                         index_vector const* wanted) {
    index_vector const list = filled_in(parse_extents(one), element_count(shape), one);
    if (!wanted || list.size() < 3)
        return list;
    index_vector const grouped = grouped_shape(list);
    auto const is_either = [&](index_vector const& one_shape) {
        return one_shape == list || one_shape == grouped;
    };
    return is_either(shape) && is_either(*wanted) ? *wanted : list;
}

RESHARD_DECL index_vector resized_shape(index_vector const& shape, attribute const& one) {
    index_vector extents;
    for (std::optional<index_t> const written : parse_extents(one)) {
        std::size_t const axis = extents.size();
        extents.push_back(written.value_or(axis < shape.size() ? shape[axis] : 0));
    }
    return extents;
}

} // namespace reshard::aoa::detail

#endif
