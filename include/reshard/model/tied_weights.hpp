// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_TIED_WEIGHTS_HPP
#define RESHARD_MODEL_TIED_WEIGHTS_HPP

#include <reshard/expr/mapping.hpp>
#include <reshard/layout/sharding.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Weights that are one tensor under several keys.

namespace reshard {

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
/// \throws error with errc::unknown_key for an alias of a key that no tensor has, with errc::bad_layout
///         for one that a tensor has already
inline std::vector<tensor_sharding> with_aliases(std::vector<tensor_sharding> tensors,
                                                 std::vector<tied_key> const& ties) {
    std::map<std::string, std::size_t, std::less<>> places;
    for (std::size_t i = 0; i < tensors.size(); ++i)
        places.emplace(tensors[i].key, i);
    for (tied_key const& tie : ties) {
        auto const found = places.find(tie.key);
        if (found == places.end())
            fail(errc::unknown_key,
                 "'" + tie.alias + "' is tied to '" + tie.key + "', and no tensor has this key");
        if (!places.emplace(tie.alias, tensors.size()).second)
            fail(errc::bad_layout,
                 "'" + tie.alias + "' is tied to '" + tie.key + "', but is a tensor of its own");
        tensor_sharding alias = tensors[found->second];
        alias.key = tie.alias;
        tensors.push_back(std::move(alias));
    }
    return tensors;
}

/// Says that each alias is the target tensor of its key: defined alike, and related.
///
/// \throws error with errc::unknown_key for an alias of a key that the program does not define
inline void tie(mapping& program, std::vector<tied_key> const& ties) {
    for (tied_key const& each : ties) {
        mapping_output const* const output = program.find(each.key);
        if (!output)
            fail(errc::unknown_key, "'" + each.alias + "' is tied to '" + each.key +
                                        "', which the program does not define");
        program.define(each.alias, expression(output->value));
        program.relate({relation::kind::alias, each.key, each.alias});
    }
}

} // namespace reshard

#endif
