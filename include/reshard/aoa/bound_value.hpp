// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_BOUND_VALUE_HPP
#define RESHARD_AOA_BOUND_VALUE_HPP

#include <reshard/core/config.hpp>
#include <reshard/expr/expression.hpp>

#include <cstddef>
#include <vector>

/// \file
/// What names are bound to.

namespace reshard::aoa::detail {

/// What a statement has made, or a tensor of the source.
struct bound_value {
    expression tensor;
    std::vector<reshard::detail::key_id> sources =
        {}; ///< of a tensor that has no element of the source: what it is
            ///< made of all the same, in order, each once

    /// Calls `visit` with each tensor of the source that the value is made of, in order; one of
    /// which it has several pieces comes as often.
    template <class Visit>
    void for_each_source(Visit const& visit) const {
        for (std::size_t i = 0; i < tensor.pieces.size(); ++i)
            if (tensor.pieces.source(i) != reshard::detail::zero_source)
                visit(tensor.pieces.source(i));
        for (reshard::detail::key_id const id : sources)
            visit(id);
    }

    /// The first of them.
    ///
    /// \pre the value is made of something
    reshard::detail::key_id first_source() const;
};

/// Whether a tensor has elements of the source, and not zeros alone or nothing.
RESHARD_DECL bool has_source_elements(expression const& tensor);

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/bound_value.ipp>
#endif

#endif
