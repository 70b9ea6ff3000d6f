// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_LAYOUT_SHARD_RULES_HPP
#define RESHARD_LAYOUT_SHARD_RULES_HPP

#include <reshard/core/config.hpp>
#include <reshard/layout/equal_shares.hpp>
#include <reshard/layout/key_pattern.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

/// \file
/// What a layer says of its tensors: which names are cut along which axis.

namespace reshard {

namespace detail {

/// How the tensors are cut whose names match.
struct shard_rule {
    key_pattern match;
    std::optional<std::size_t> axis = {}; ///< nothing: every rank has a copy
};

/// What is done about tensors that no rule matches.
enum class unruled {
    replicate, ///< every rank has a copy of them
    refuse,    ///< they are an error
};

} // namespace detail

/// The rules of a layer, of which the first that matches counts, and where the layer stands.
struct shard_rules {
    std::string prefix; ///< put before each name: `model.layers.3.`
    std::vector<detail::shard_rule> rules;
    detail::unruled others = detail::unruled::replicate;
};

namespace detail {

/// A tensor as its rank has it.
struct named_tensor {
    std::string name; ///< within its layer
    data_type dtype{};
    index_vector shape; ///< of what is here
};

/// What rules make of a layer's tensors.
struct ruled_shards {
    std::vector<shard_descriptor> shards; ///< one for each tensor, in their order
    std::vector<bool> used;               ///< for each rule, whether a tensor took it
    std::vector<std::string> unruled;     ///< the keys that no rule matches
};

} // namespace detail

/// The descriptors of a layer's tensors: `share` of a group of equal ones, as the rules say, and
/// a copy where no rule matches.
///
/// `share.axis` does not matter. What was not matched is part of the result; `check_rules` judges
/// it.
///
/// \throws     error as `equal_shares`
/// \par Source `build_sharded_state_dict` of PaddlePaddle Flex Checkpoint, where the rules are
///             names alone, and one that matches nothing stays unnoticed
RESHARD_DECL detail::ruled_shards apply(shard_rules const& layer,
                                        std::vector<detail::named_tensor> const& tensors,
                                        detail::equal_share share);

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/layout/impl/shard_rules.ipp>
#endif

#endif
