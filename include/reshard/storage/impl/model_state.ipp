// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_MODEL_STATE_IPP
#define RESHARD_STORAGE_IMPL_MODEL_STATE_IPP

#include <reshard/storage/model_state.hpp>

#include <reshard/core/key_index.hpp>
#include <reshard/layout/equal_shares.hpp>

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

RESHARD_DECL shard_descriptor bytes_tensor(std::string key, std::size_t size) {
    return replicated(std::move(key), data_type::u8, {static_cast<index_t>(size)});
}

RESHARD_DECL built_state build_all(model_state const& state) {
    built_state all;
    for (auto const& [name, entry] : state)
        if (auto const* const deferred = std::get_if<deferred_tensor>(&entry))
            all.emplace_back(deferred, build(*deferred));
    return all;
}

/// How many bytes a checkpoint has under a key.
///
/// \throws error with errc::unknown_key where it has none, `what` saying what is sought;
///         errc::dtype_mismatch where they are no bytes
inline std::size_t stored_bytes(layout const& stored, std::string const& key,
                                std::string const& what) {
    tensor_layout const* const tensor = stored.find(key);
    if (!tensor)
        fail(errc::unknown_key, "there is no ", what, ", which would be '", key, "'",
             did_you_mean_key(key, stored.tensors, &tensor_layout::key));
    index_vector const& shape = stored.shape_of(*tensor);
    if (tensor->dtype != data_type::u8 || shape.size() != 1)
        fail(errc::dtype_mismatch, "'", key, "' is to be ", what, ", and is ", code(tensor->dtype),
             " ", shape, ", not a row of bytes");
    return static_cast<std::size_t>(shape[0]);
}

RESHARD_DECL std::vector<bytes_to_load> bytes_of(model_state const& state, layout const& stored) {
    std::vector<bytes_to_load> all;
    auto const add = [&](std::string const& name, std::string key, std::string const& what) {
        std::size_t const size = stored_bytes(stored, key, what);
        all.push_back({name, std::move(key), std::string(size, '\0')});
    };
    for (auto const& [name, entry] : state)
        if (auto const* const object = std::get_if<stored_object>(&entry)) {
            check(object->cell);
            add(name, tensor_key(object->cell), "object " + to_string(object->cell));
        }
    for (tensor_layout const& tensor : stored.tensors)
        if (tensor.key.starts_with(common_prefix)) {
            std::string const name = tensor.key.substr(common_prefix.size());
            add(name, tensor.key, "common value '" + name + "'");
        }
    return all;
}

} // namespace reshard::detail

#endif
