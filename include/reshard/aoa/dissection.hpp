// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_DISSECTION_HPP
#define RESHARD_AOA_DISSECTION_HPP

#include <reshard/aoa/ast.hpp>
#include <reshard/core/data_type.hpp>

#include <vector>

/// \file
/// One statement taken apart: what each of its attributes does to shapes and data types.

namespace reshard::aoa::detail {

/// What is known of a value without a look at its elements.
struct tensor_facts {
    index_vector shape;
    data_type dtype{};
    data_type held{}; ///< a data type that holds every element: what has been widened is not more

    bool operator==(tensor_facts const&) const = default;
};

/// What one attribute does to one tensor.
struct attribute_step {
    attribute const* what;
    tensor_facts before;
    tensor_facts after;
};

/// A statement as its steps: those of each operand, the concat or split, those of each part.
struct dissection {
    std::vector<std::vector<attribute_step>> operands; ///< of each tensor on the left
    std::vector<std::vector<attribute_step>> results;  ///< of each on the right, behind the axis
    attribute const* axis = nullptr;                   ///< of a concat or a split
    std::vector<tensor_facts> joined;                  ///< what goes into it
    std::vector<tensor_facts> made;                    ///< the tensors on the right
    std::vector<attribute const*> declared; ///< `scales` and `blocks`, which do nothing here
};

} // namespace reshard::aoa::detail

#endif
