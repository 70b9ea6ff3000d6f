// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_TIED_WEIGHTS_HPP
#define RESHARD_MODEL_TIED_WEIGHTS_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/sharding.hpp>
#include <reshard/model/parallel_tensor.hpp>

#include <string>

/// \file
/// Weights that are one tensor under several keys.

namespace reshard::model {

/// A part of a model: its tensors, by their names in the part, and the parts inside it.
struct model_part {
    std::string name = {}; ///< in the enclosing part; if empty, it changes no key
    vector<parallel_tensor> tensors = {};
    vector<model_part> parts = {};
};

/// The tensors of a part and of all parts inside it, in order. The names of the parts precede the
/// tensor's name, with dots between, and `prefix` precedes them all.
///
/// \throws     error with errc::bad_layout if two tensors get the same key, with
///             errc::limit_exceeded for parts nested more than 64 deep
/// \par Source `sharded_state_dict(prefix)` of PaddlePaddle's layers, which recurses; there a layer
///             that overrides it may forget its children, here a part is a value and has nothing to
///             override
RESHARD_DECL vector<parallel_tensor> tensors_of(model_part const& model_part,
                                                std::string const& prefix = {});

/// Another key of a tensor: `lm_head.weight` for `model.embed_tokens.weight`.
struct tied_key {
    std::string key;
    std::string alias;

    bool operator==(tied_key const&) const = default;
};

/// The tensors, and for each alias a tensor with the same layout.
///
/// Optimizer state is made from the tensors without aliases: it is kept once, under the first key.
///
/// \throws error with errc::unknown_key for an alias of a key that no tensor has, with
///         errc::bad_layout for an alias that is already the key of a tensor
RESHARD_DECL vector<tensor_sharding> with_aliases(vector<tensor_sharding> tensors,
                                                  vector<tied_key> const& ties);

/// Says that each alias is the target tensor of its key: defined equally, and related, so that
/// `convert` writes it once if files can have names.
///
/// \throws error with errc::unknown_key for an alias of a key that the program does not define
RESHARD_DECL void tie(mapping& program, vector<tied_key> const& ties);

} // namespace reshard::model

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/model/impl/tied_weights.ipp>
#endif

#endif
