// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_NAMES_MASTER_WEIGHTS_HPP
#define RESHARD_FORMAT_NAMES_MASTER_WEIGHTS_HPP

#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/catalog.hpp>

#include <string>
#include <vector>

/// \file
/// Weights and master weights of a Unified Checkpoint that has only one of the two.

namespace reshard::model {

/// What may stand in for a tensor that a checkpoint does not have.
struct master_rule {
    bool weights_of_masters = false; ///< for a weight, its master weight
    bool masters_of_weights = false; ///< for a master weight, its weight
};

/// A key that is wanted, and the stored tensor that it is to be a cast of.
struct cast_key {
    std::string wanted;
    std::string stored;
    data_type dtype{}; ///< the wanted one

    bool operator==(cast_key const&) const = default;
};

/// The wanted keys that a rule lets be made of others, in their order: to be reported, never taken
/// in silence.
///
/// A weight is made of its master weight also where it is stored as that, in its data type.
///
/// \par Source `skip_save_model_weight` and `master_weight_compatible` of PaddleNLP
RESHARD_DECL std::vector<cast_key> casts_of_masters(catalog const& wanted, catalog const& stored,
                                                    master_rule rule);

/// Defines each of these keys as a cast.
///
/// \throws error with errc::unknown_key for a stored name that the catalog does not have
RESHARD_DECL void define_casts(mapping& program, std::vector<cast_key> const& casts,
                               catalog const& stored);

} // namespace reshard::model

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/format/names/impl/master_weights.ipp>
#endif

#endif
