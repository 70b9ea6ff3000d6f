// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_IMPL_TIED_WEIGHTS_IPP
#define RESHARD_MODEL_IMPL_TIED_WEIGHTS_IPP

#include <reshard/model/tied_weights.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

namespace reshard::detail {

/// Appends the tensors of a part: first its own tensors, then the tensors of the parts inside it.
inline void append_tensors(model::model_part const& layer, std::string const& before, int depth,
                           vector<model::parallel_tensor>& tensors) {
    constexpr int deepest = 64;
    if (depth > deepest)
        fail(errc::limit_exceeded, "parts of a model are nested more than ", deepest,
             " levels deep at '", before, layer.name, "'");
    std::string const prefix = layer.name.empty() ? before : before + layer.name + ".";
    for (model::parallel_tensor const& tensor : layer.tensors) {
        tensors.push_back(tensor);
        tensors.back().key = prefix + tensor.key;
    }
    for (model::model_part const& inner : layer.parts)
        append_tensors(inner, prefix, depth + 1, tensors);
}

/// \throws error with errc::bad_layout for a duplicate key
inline void check_keys(vector<model::parallel_tensor> const& tensors) {
    vector<std::string_view> keys;
    for (model::parallel_tensor const& tensor : tensors)
        keys.push_back(tensor.key);
    std::sort(keys.begin(), keys.end());
    auto const twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice != keys.end())
        fail(errc::bad_layout, "two parts of the model have a tensor '", *twice,
             "'; sibling parts need different names");
}

} // namespace reshard::detail

namespace reshard::model {

RESHARD_DECL vector<parallel_tensor> tensors_of(model_part const& model_part,
                                                std::string const& prefix) {
    vector<parallel_tensor> tensors;
    detail::append_tensors(model_part, prefix, 1, tensors);
    detail::check_keys(tensors);
    return tensors;
}

RESHARD_DECL vector<tensor_sharding> with_aliases(vector<tensor_sharding> tensors,
                                                  vector<tied_key> const& ties) {
    std::map<std::string, std::size_t, std::less<>> places;
    for (std::size_t i = 0; i < tensors.size(); ++i)
        places.emplace(tensors[i].key, i);
    for (tied_key const& tie : ties) {
        auto const match = places.find(tie.key);
        if (match == places.end())
            fail(errc::unknown_key, "'", tie.alias, "' is tied to '", tie.key,
                 "', but no tensor has that key");
        if (!places.emplace(tie.alias, tensors.size()).second)
            fail(errc::bad_layout, "'", tie.alias, "' is tied to '", tie.key,
                 "', but is also listed as a separate tensor");
        tensor_sharding alias = tensors[match->second];
        alias.key = tie.alias;
        tensors.push_back(std::move(alias));
    }
    return tensors;
}

RESHARD_DECL void tie(mapping& program, vector<tied_key> const& ties) {
    for (tied_key const& each : ties) {
        mapping_output const* const output = program.find(each.key);
        if (!output)
            fail(errc::unknown_key, "'", each.alias, "' is tied to '", each.key,
                 "', which the program does not define");
        program.define(each.alias, expression(output->value));
        program.relate({detail::relation::kind::tie, each.key, each.alias});
    }
}

} // namespace reshard::model

#endif
