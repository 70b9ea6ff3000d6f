// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_MODEL_STATE_HPP
#define RESHARD_STORAGE_MODEL_STATE_HPP

#include <reshard/core/config.hpp>
#include <reshard/group/check_objects.hpp>
#include <reshard/group/common_values.hpp>
#include <reshard/tensor/tensor_factory.hpp>

#include <any>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

/// \file
/// All that a program has by a name: tensors, objects, values that are common, and others.

namespace reshard {

/// A cell of an array of objects, and its content.
struct stored_object {
    detail::object_cell cell;
    std::string bytes;

    bool operator==(stored_object const&) const = default;
};

/// A value that is the same on every rank; its key is its name.
struct stored_value {
    std::string bytes;

    bool operator==(stored_value const&) const = default;
};

/// A value that no checkpoint has: a load leaves it as it is.
struct unsaved_value {
    std::any value;
};

namespace detail {

/// What one name may stand for.
using state_entry =
    std::variant<local_shard, deferred_tensor, stored_object, stored_value, unsaved_value>;

} // namespace detail

/// All that a rank saves and loads, by the names that its program uses.
///
/// What a checkpoint calls a tensor or an object is the entry's own key: a state may be loaded
/// under other names than it was saved under. Only common values are called by their names.
///
/// \par Source sharded state dicts of Megatron-Core
using model_state = std::map<std::string, detail::state_entry, std::less<>>;

namespace detail {

/// True where every entry is a tensor, now or when it is built; so too where there is no entry,
/// since a rank may own nothing.
RESHARD_DECL bool is_sharded(model_state const& state);

/// The common values of a state, in the order of names. They refer to it.
RESHARD_DECL std::vector<common_value> common_values(model_state const& state);

/// The objects of a state. They refer to it.
RESHARD_DECL std::vector<held_object> held_objects(model_state const& state);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/model_state.ipp>
#endif

#endif
