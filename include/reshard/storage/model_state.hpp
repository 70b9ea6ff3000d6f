// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_MODEL_STATE_HPP
#define RESHARD_STORAGE_MODEL_STATE_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/group/check_objects.hpp>
#include <reshard/group/gather_values.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <any>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

/// \file
/// The named values of a program: tensors, objects, common values and unsaved values.

namespace reshard {

/// A tensor and two functions that build its shards only when it is saved or loaded.
struct deferred_tensor {
    /// The result of a factory: the shards of a tensor, and the memory of shards outside the
    /// tensor's memory.
    struct built {
        state_dict shards;
        std::shared_ptr<void> memory = {}; ///< null if all shards are in the tensor's memory
    };

    /// Two functions; each is the inverse of the other.
    ///
    /// `build(key, tensor)` returns the shards of the tensor in the checkpoint. A save writes their
    /// elements. A load reads into their memory, and then `merge(built, tensor)` fills the tensor
    /// from it. Shards that are views of the tensor's memory, such as the halves of a fused weight,
    /// need no `merge`.
    ///
    /// The functions depend on no name except `key`. So one factory serves a weight and its
    /// optimizer state.
    ///
    /// \pre        neither communicates; `build` returns the same descriptors in a save and in a
    ///             load
    /// \par Source `ShardedTensorFactory` of Megatron-Core
    struct functions {
        std::function<built(std::string const& key, tensor_view const& tensor)> build;
        std::function<void(built const& built, tensor_view const& tensor)> merge = {};
    };

    std::string key;
    tensor_view tensor;
    functions factory;
};

/// Calls the factory's `build` for its tensor.
///
/// \throws error with errc::usage for a factory without `build`, and as `build` throws
RESHARD_DECL deferred_tensor::built build(deferred_tensor const& deferred);

namespace detail {

/// Calls the factory's `merge`, if there is one, when the built shards are loaded.
///
/// \throws error as the factory's `merge`
RESHARD_DECL void merge(deferred_tensor const& deferred, deferred_tensor::built const& loaded);

} // namespace detail

/// The treatment of an object whose index is beyond the checkpoint's array, since more ranks load
/// than saved.
enum class object_rule : std::uint8_t {
    refuse, ///< an error on every rank
    repeat, ///< it gets the cell at its index modulo the array's extents
    keep,   ///< the object stays unchanged
};

/// The bytes of an object, and its cell in an array of objects.
///
/// A load fills the object from the cell with its index, even if the saved array has other extents.
struct stored_object {
    detail::object_cell cell;
    std::string bytes;
    object_rule beyond = object_rule::refuse; ///< for loads

    bool operator==(stored_object const&) const = default;
};

/// A value that is the same on every rank. Its name is its key.
struct stored_value {
    std::string bytes;

    bool operator==(stored_value const&) const = default;
};

/// A value that is not saved. A load does not change it.
struct unsaved_value {
    std::any value;
};

namespace detail {

/// An entry of a state.
using state_entry =
    std::variant<local_shard, deferred_tensor, stored_object, stored_value, unsaved_value>;

} // namespace detail

/// The values that a rank saves and loads, under the names of its program.
///
/// In a checkpoint a tensor or an object has the key of its entry, not the name. So a program may
/// load a state under other names than those of the save. Only common values are found by their
/// names.
///
/// \par Source sharded state dicts of Megatron-Core
using model_state = std::map<std::string, detail::state_entry, std::less<>>;

/// An object that has a state to save, such as a model or an optimizer.
///
/// `state()` is called once before a save, and once before a load, which fills the tensors.
/// `loaded(all)` is called once when all ranks have loaded all objects, but not after a failure.
/// Neither may communicate. If one rank throws, all ranks get an exception.
///
/// \par Source `Stateful` of PyTorch's distributed checkpoints: `state_dict`, `load_state_dict`
template <class Object>
concept stateful = requires(Object& object, model_state const& state) {
    { object.state() } -> std::convertible_to<model_state>;
    object.loaded(state);
};

namespace detail {

/// Merges the states of all objects.
///
/// \throws error with errc::usage for a name that two objects use
template <stateful... Objects>
model_state state_of_all(std::tuple<Objects&...> const& objects) {
    model_state state;
    auto const add = [&](model_state more) {
        state.merge(more);
        if (!more.empty())
            fail(errc::usage, "'", more.begin()->first,
                 "' is given by two objects; give it another name in one of them");
    };
    std::apply([&](Objects&... object) { (add(object.state()), ...); }, objects);
    return state;
}

/// True if all entries are tensors or deferred tensors; also for a rank without entries. False if
/// no entry is a tensor.
///
/// \throws     error with errc::usage for a mixture, naming an entry of each kind
/// \par Source `is_sharded_state_dict` of PaddlePaddle Flex Checkpoint, which is false without
///             entries
RESHARD_DECL bool is_sharded(model_state const& state);

/// The common values of a state, in the order of names. They point into the state.
RESHARD_DECL vector<common_value> common_values(model_state const& state);

/// The objects of a state. They point into the state.
RESHARD_DECL vector<held_object> held_objects(model_state const& state);

/// The prefix of a common value's key in a checkpoint. The name follows it.
inline constexpr std::string_view common_prefix = "common/";

/// Describes bytes as a tensor with one axis, whole on every rank that has it.
RESHARD_DECL shard_descriptor bytes_tensor(std::string key, std::size_t size);

inline const_tensor_view view_of_bytes(std::string_view bytes) {
    return {bytes.data(), data_type::u8, {static_cast<index_t>(bytes.size())}, {1}};
}

inline tensor_view view_of_bytes(std::string& bytes) {
    return {bytes.data(), data_type::u8, {static_cast<index_t>(bytes.size())}, {1}};
}

/// The results of `build` for the deferred tensors of a state, in their order.
using built_state = vector<std::pair<deferred_tensor const*, deferred_tensor::built>>;

RESHARD_DECL built_state build_all(model_state const& state);

/// Adds the tensors of a state, and the shards of its built tensors.
template <class View>
void add_tensors(basic_state_dict<View>& tensors, model_state const& state,
                 built_state const& built) {
    for (auto const& [name, entry] : state)
        if (auto const* const shard = std::get_if<local_shard>(&entry))
            tensors.add(shard->descriptor, View(shard->tensor));
    for (auto const& [deferred, shards] : built)
        for (auto const& [descriptor, tensor] : shards.shards)
            tensors.add(descriptor, View(tensor));
}

/// Bytes to read from a checkpoint for an entry of a state.
struct bytes_to_load {
    std::string name;
    std::string key; ///< in the checkpoint
    std::string bytes;
};

/// The cell of an object that a checkpoint stores under `key`, if it does; the inverse of
/// `tensor_key`.
RESHARD_DECL std::optional<object_cell> cell_of(std::string_view key);

/// The cells that no rank takes. Arrays from which no rank takes any cell are ignored.
///
/// \param taken the keys of the cells that each rank takes
RESHARD_DECL vector<std::string> cells_left(layout const& stored,
                                            vector<vector<std::string>> const& taken);

/// Memory for the objects of a state, and for all common values of a checkpoint.
RESHARD_DECL vector<bytes_to_load> bytes_of(model_state const& state, layout const& stored);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/storage/impl/model_state.ipp>
#endif

#endif
