// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_NAMES_FIRST_STEP_HPP
#define RESHARD_FORMAT_NAMES_FIRST_STEP_HPP

#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/model/optimizer_state.hpp>

#include <vector>

/// \file
/// The state that optimizers make at their first step, where it is wanted before.

namespace reshard::model {

/// The program that makes an optimizer's state before its first step out of the parameters: a
/// master weight is a cast of its parameter, moments are zeros.
///
/// Scalars are only added: they keep what the optimizer starts them with. With `states_of` the
/// parameters as targets, each rank's slices are made of its own parameters, and nothing moves. A
/// job that loads before it has stepped needs no more: `shards_of` says which slices it will have,
/// whether it has made them or not.
///
/// \par Source GroupShardedStage3 of PaddlePaddle, which gives its optimizer slices of `fw_storage`
///             when it steps for the first time, so that there is nothing to load into before
RESHARD_DECL mapping before_first_step(std::vector<tensor_sharding> const& parameters,
                                       std::vector<state_kind> const& kinds);

} // namespace reshard::model

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/names/impl/first_step.ipp>
#endif

#endif
