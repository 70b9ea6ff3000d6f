// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_LAYOUT_OF_HPP
#define RESHARD_LAYOUT_LAYOUT_OF_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/layout/sharding.hpp>

#include <string>

/// \file
/// The layout of tensors with known placements: computed if possible.

namespace reshard {

namespace detail {

/// The spread of a tensor: a grid or a list of grids. It is a table if parts are copies of other
/// parts, if ranks are listed, or if there are no parts.
RESHARD_DECL tensor_spread spread_of(tensor_sharding const& tensor);

} // namespace detail

/// The layout of these tensors.
///
/// \throws error with errc::bad_layout for a duplicate key, or an inconsistent sharding
RESHARD_DECL layout layout_of(vector<tensor_sharding> tensors);

/// The layout of one tensor with that global shape and one placement for each axis of the mesh.
///
/// \throws error as `distribution`
RESHARD_DECL layout layout_of(std::string key, data_type dtype, index_vector const& shape,
                              rank_mesh const& ranks, vector<placement> placements);
RESHARD_DECL layout layout_of(std::string key, data_type dtype, index_vector const& shape,
                              mesh const& ranks, vector<placement> placements);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/layout/impl/layout_of.ipp>
#endif

#endif
