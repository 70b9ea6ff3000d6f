// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_NUMPY_NPY_PLAN_HPP
#define RESHARD_FORMAT_NUMPY_NPY_PLAN_HPP

#include <reshard/core/config.hpp>
#include <reshard/format/checkpoint_plan.hpp>
#include <reshard/layout/layout.hpp>

/// \file
/// Arrays of NumPy that are to be written.

namespace reshard::detail {

/// A `.npy` file of one tensor.
///
/// \pre    the layout has whole tensors on one rank, here and below
/// \throws error with errc::unsupported for another number of tensors, and for data types that
///         NumPy does not have, naming the key
RESHARD_DECL checkpoint_plan plan_npy(layout const& target, file_choices const& choices);

/// A `.npz` file of all tensors, not compressed.
RESHARD_DECL checkpoint_plan plan_npz(layout const& target, file_choices const& choices);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/numpy/impl/npy_plan.ipp>
#endif

#endif
