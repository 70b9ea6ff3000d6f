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
/// The tensors of a model and of its parts; tied weights: one tensor with several keys.

namespace reshard::model {

/// A part of a model, such as a layer: its tensors, named within the part, and the parts inside it.
struct model_part {
    std::string name = {}; ///< within the enclosing part; if empty, keys do not contain it
    vector<parallel_tensor> tensors = {};
    vector<model_part> parts = {};
};

/// The tensors of a part and of all parts inside it, in order. A tensor's key is `prefix`, then the
/// name of each enclosing part with a dot after it, then the tensor's name.
///
/// \throws     error with errc::bad_layout if two tensors get the same key, with
///             errc::limit_exceeded if parts are nested more than 64 levels deep
/// \par Source `sharded_state_dict(prefix)` of PaddlePaddle's layers, which recurses. There, a
///             layer that overrides it may forget its children; here, a part is a value without
///             functions to override
RESHARD_DECL vector<parallel_tensor> tensors_of(model_part const& model_part,
                                                std::string const& prefix = {});

/// Another key of a tensor: `lm_head.weight` for `model.embed_tokens.weight`.
struct tied_key {
    std::string key;
    std::string alias;

    bool operator==(tied_key const&) const = default;
};

/// All of `tensors` and, for each alias, a tensor with the layout of the alias's key.
///
/// Make optimizer state from the tensors without aliases, so that it is kept once, under the first
/// key.
///
/// \throws error with errc::unknown_key if no tensor has the key of an alias, with errc::bad_layout
///         if an alias is already the key of a tensor
RESHARD_DECL vector<tensor_sharding> with_aliases(vector<tensor_sharding> tensors,
                                                  vector<tied_key> const& ties);

/// Defines each alias as the same target tensor as its key, and relates the two. So `convert`
/// writes the tensor once if the file format has aliases.
///
/// \throws error with errc::unknown_key for an alias of a key that the program does not define
RESHARD_DECL void tie(mapping& program, vector<tied_key> const& ties);

} // namespace reshard::model

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/model/impl/tied_weights.ipp>
#endif

#endif
