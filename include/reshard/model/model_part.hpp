// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_MODEL_PART_HPP
#define RESHARD_MODEL_MODEL_PART_HPP

#include <reshard/core/config.hpp>
#include <reshard/model/parallel_tensor.hpp>

#include <string>
#include <vector>

/// \file
/// Nested layers: each lists its tensors, prefixed with the names of those around it.

namespace reshard::model {

/// A part of a model: its tensors, by their names in it, and the parts that are in it.
struct model_part {
    std::string name = {}; ///< in the part around it; one without a name changes no key
    std::vector<parallel_tensor> tensors = {};
    std::vector<model_part> parts = {};
};

/// The tensors of a part and of all parts within, in order: the names of the parts stand before
/// theirs, with dots between, and `prefix` before all.
///
/// \throws     error with errc::bad_layout where two get one key, with errc::limit_exceeded for
///             more than 64 parts in one another
/// \par Source `sharded_state_dict(prefix)` of PaddlePaddle's layers, which recurses; there a layer
///             that overrides it may forget its children, here a part is a value and has nothing to
///             override
RESHARD_DECL std::vector<parallel_tensor> tensors_of(model_part const& whole,
                                                     std::string const& prefix = {});

} // namespace reshard::model

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/model/impl/model_part.ipp>
#endif

#endif
