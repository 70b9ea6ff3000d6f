// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_TIED_WEIGHTS_HPP
#define RESHARD_MODEL_TIED_WEIGHTS_HPP

#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/sharding.hpp>

#include <string>
#include <vector>

/// \file
/// Weights that are one tensor under several keys.

namespace reshard::model {

/// Another key of a tensor: `lm_head.weight` of `model.embed_tokens.weight`.
struct tied_key {
    std::string key;
    std::string alias;

    bool operator==(tied_key const&) const = default;
};

/// The tensors, and each alias as a tensor that lies where its tensor does.
///
/// State is made of the tensors before this: it is kept once, under the first key.
///
/// \throws error with errc::unknown_key for an alias of a key that no tensor has, with
///         errc::bad_layout for one that a tensor has already
RESHARD_DECL std::vector<tensor_sharding> with_aliases(std::vector<tensor_sharding> tensors,
                                                       std::vector<tied_key> const& ties);

/// Says that each alias is the target tensor of its key: defined alike, and related.
///
/// \throws error with errc::unknown_key for an alias of a key that the program does not define
RESHARD_DECL void tie(mapping& program, std::vector<tied_key> const& ties);

} // namespace reshard::model

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/model/impl/tied_weights.ipp>
#endif

#endif
