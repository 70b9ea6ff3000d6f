// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_OWNERS_HPP
#define RESHARD_MODEL_OWNERS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>

#include <string_view>
#include <vector>

/// \file
/// Whole tensors dealt out to ranks so that each has about as much.

namespace reshard::model {

/// A tensor by name and number of elements.
struct named_size {
    std::string_view key;
    index_t elements = 0;
};

/// Gives each tensor to the rank that has the fewest elements so far; the results stand in the
/// order of `tensors`.
///
/// The largest tensors are dealt first, those of one size in the order of their keys; of ranks with
/// equally many elements the lowest takes the next. So the order of `tensors` does not matter.
///
/// \throws     error with errc::bad_layout where there is no rank
/// \par Source sharding V1 of PaddlePaddle, which takes parameters in the order in which they were
///             made
RESHARD_DECL std::vector<index_t> least_loaded_owners(std::vector<named_size> const& tensors,
                                                      index_t ranks);

} // namespace reshard::model

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/model/impl/owners.ipp>
#endif

#endif
