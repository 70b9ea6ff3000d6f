// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_NAMES_MASTER_WEIGHTS_HPP
#define RESHARD_FORMAT_NAMES_MASTER_WEIGHTS_HPP

#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/format/names/variable_names.hpp>
#include <reshard/layout/catalog.hpp>

#include <vector>

/// \file
/// Weights and master weights of a Unified Checkpoint that has only one of the two.

namespace reshard::model {

/// The permitted substitutes for a tensor that a checkpoint does not have.
struct master_rule {
    bool weights_of_masters = false; ///< for a weight, its master weight
    bool masters_of_weights = false; ///< for a master weight, its weight
};

/// Defines the wanted keys that a rule lets be made of others, each as a cast to its data type.
///
/// A weight is made of its master weight also if it is stored only as that, in its data type.
///
/// \return the list of substitutes, in the order of the keys: to be reported, never used silently
/// \par Source `skip_save_model_weight` and `master_weight_compatible` of PaddleNLP
RESHARD_DECL std::vector<renamed_key> define_masters(mapping& program, catalog const& wanted,
                                                     catalog const& stored, master_rule rule);

} // namespace reshard::model

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/names/impl/master_weights.ipp>
#endif

#endif
