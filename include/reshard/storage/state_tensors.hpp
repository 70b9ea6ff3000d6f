// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_STATE_TENSORS_HPP
#define RESHARD_STORAGE_STATE_TENSORS_HPP

#include <reshard/core/config.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/storage/model_state.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// \file
/// A model's state as tensors, which are all that a checkpoint has.

namespace reshard::detail {

/// What the key of a common value begins with in a checkpoint; its name follows.
inline constexpr std::string_view common_prefix = "common/";

/// Bytes as a tensor: of one axis, of unsigned bytes, whole on every rank that has it.
RESHARD_DECL shard_descriptor bytes_tensor(std::string key, std::size_t size);

inline const_tensor_view view_of_bytes(std::string_view bytes) {
    return {bytes.data(), data_type::u8, {static_cast<index_t>(bytes.size())}, {1}};
}

inline tensor_view view_of_bytes(std::string& bytes) {
    return {bytes.data(), data_type::u8, {static_cast<index_t>(bytes.size())}, {1}};
}

/// What `build` made of the deferred tensors of a state, in their order.
using built_state = std::vector<std::pair<deferred_tensor const*, built_shards>>;

RESHARD_DECL built_state build_all(model_state const& state);

/// Adds the tensors of a state, and those that were built.
template <class View>
void add_tensors(basic_state_dict<View>& all, model_state const& state, built_state const& built) {
    for (auto const& [name, entry] : state)
        if (auto const* const shard = std::get_if<local_shard>(&entry))
            all.add(shard->descriptor, View(shard->tensor));
    for (auto const& [deferred, shards] : built)
        for (auto const& [descriptor, tensor] : shards.shards)
            all.add(descriptor, View(tensor));
}

/// Bytes that are read from a checkpoint, by the names of the state.
struct bytes_to_load {
    std::string name;
    std::string key; ///< in the checkpoint
    std::string bytes;
};

/// Memory for the objects that a state wants, and for all common values that a checkpoint has.
RESHARD_DECL std::vector<bytes_to_load> bytes_of(model_state const& state, layout const& stored);

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/state_tensors.ipp>
#endif

#endif
