// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_MODEL_STATE_IPP
#define RESHARD_STORAGE_IMPL_MODEL_STATE_IPP

#include <reshard/storage/model_state.hpp>

#include <algorithm>

namespace reshard::detail {

RESHARD_DECL bool is_sharded(model_state const& state) {
    return std::all_of(state.begin(), state.end(), [](auto const& named) {
        return std::holds_alternative<local_shard>(named.second) ||
               std::holds_alternative<deferred_tensor>(named.second);
    });
}

RESHARD_DECL std::vector<common_value> common_values(model_state const& state) {
    std::vector<common_value> values;
    for (auto const& [name, entry] : state)
        if (auto const* const value = std::get_if<stored_value>(&entry))
            values.push_back({name, value->bytes});
    return values;
}

RESHARD_DECL std::vector<held_object> held_objects(model_state const& state) {
    std::vector<held_object> objects;
    for (auto const& [name, entry] : state)
        if (auto const* const object = std::get_if<stored_object>(&entry))
            objects.push_back({object->cell, object->bytes});
    return objects;
}

} // namespace reshard::detail

#endif
