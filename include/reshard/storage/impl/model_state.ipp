// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_MODEL_STATE_IPP
#define RESHARD_STORAGE_IMPL_MODEL_STATE_IPP

#include <reshard/storage/model_state.hpp>

#include <reshard/core/key_index.hpp>
#include <reshard/layout/equal_shares.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

namespace reshard {

RESHARD_DECL deferred_tensor::built build(deferred_tensor const& deferred) {
    if (!deferred.factory.build)
        fail(errc::usage, "'", deferred.key, "': a tensor of shape ", deferred.tensor.shape,
             " has a factory without a build function");
    return deferred.factory.build(deferred.key, deferred.tensor);
}

namespace detail {

RESHARD_DECL void merge(deferred_tensor const& deferred, deferred_tensor::built const& loaded) {
    if (deferred.factory.merge)
        deferred.factory.merge(loaded, deferred.tensor);
}

} // namespace detail

} // namespace reshard

namespace reshard::detail {

inline bool is_shard(state_entry const& entry) {
    return std::holds_alternative<local_shard>(entry) ||
           std::holds_alternative<deferred_tensor>(entry);
}

RESHARD_DECL bool is_sharded(model_state const& state) {
    auto const is = [](auto const& named) { return is_shard(named.second); };
    auto const shard = std::ranges::find_if(state, is);
    auto const match = std::ranges::find_if_not(state, is);
    if (shard != state.end() && match != state.end())
        fail(errc::usage, "a state of ", state.size(), " entries has ",
             counted(std::ranges::count_if(state, is), "shard"), " ('", shard->first,
             "') and other entries ('", match->first,
             "'), so it is only partly sharded; check its entries separately");
    return match == state.end();
}

RESHARD_DECL vector<common_value> common_values(model_state const& state) {
    vector<common_value> values;
    for (auto const& [name, entry] : state)
        if (auto const* const value = std::get_if<stored_value>(&entry))
            values.push_back({name, value->bytes});
    return values;
}

RESHARD_DECL vector<held_object> held_objects(model_state const& state) {
    vector<held_object> objects;
    for (auto const& [name, entry] : state)
        if (auto const* const object = std::get_if<stored_object>(&entry))
            objects.push_back({object->cell, object->bytes});
    return objects;
}

RESHARD_DECL shard_descriptor bytes_tensor(std::string key, std::size_t size) {
    return replicated(std::move(key), data_type::u8, {static_cast<index_t>(size)});
}

RESHARD_DECL built_state build_all(model_state const& state) {
    built_state full_state;
    for (auto const& [name, entry] : state)
        if (auto const* const deferred = std::get_if<deferred_tensor>(&entry))
            full_state.emplace_back(deferred, build(*deferred));
    return full_state;
}

/// The number of bytes of a value in a checkpoint.
///
/// \throws error with errc::unknown_key if the checkpoint lacks the key, errc::dtype_mismatch if
///         the value does not consist of bytes; `noun` names the value
inline std::size_t stored_bytes(layout const& stored, std::string const& key,
                                std::string const& noun) {
    tensor_layout const* const tensor = stored.find(key);
    if (!tensor)
        fail(errc::unknown_key, "has no ", noun, " (key '", key, "')",
             did_you_mean_key(key, stored.tensors, &tensor_layout::key));
    index_vector const& shape = stored.shape_of(*tensor);
    if (tensor->dtype != data_type::u8 || shape.size() != 1)
        fail(errc::dtype_mismatch, "'", key, "' should hold ", noun, ", but is ",
             code(tensor->dtype), " ", shape, ", not a row of bytes");
    return static_cast<std::size_t>(shape[0]);
}

inline constexpr std::string_view cell_sign = "/shard_";

/// The numbers in a text such as `1.0`; std::nullopt for other texts.
inline std::optional<index_vector> numbers_of(std::string_view text) {
    index_vector numbers;
    while (!text.empty() && numbers.size() < max_ndim) {
        index_t number = 0;
        auto const read = std::from_chars(text.data(), text.data() + text.size(), number);
        if (read.ec != std::errc{})
            return std::nullopt;
        numbers.push_back(number);
        text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
        if (text.empty())
            return numbers;
        if (text.front() != '.')
            return std::nullopt;
        text.remove_prefix(1);
    }
    return text.empty() ? std::optional(numbers) : std::nullopt;
}

RESHARD_DECL std::optional<object_cell> cell_of(std::string_view key) {
    std::size_t const sign = key.rfind(cell_sign);
    if (sign == key.npos)
        return std::nullopt;
    std::string_view const numbers = key.substr(sign + cell_sign.size());
    std::size_t const middle = std::min(numbers.find('_'), numbers.size());
    auto const index = numbers_of(numbers.substr(0, middle));
    auto const array = numbers_of(numbers.substr(std::min(middle + 1, numbers.size())));
    if (!index || !array || index->size() != array->size())
        return std::nullopt;
    for (std::size_t axis = 0; axis < array->size(); ++axis)
        if ((*index)[axis] < 0 || (*index)[axis] >= (*array)[axis])
            return std::nullopt;
    return object_cell{std::string(key.substr(0, sign)), *array, *index};
}

/// The shape of an array of objects in a checkpoint, by its key.
inline std::optional<index_vector> stored_array(layout const& stored, std::string const& key) {
    for (tensor_layout const& tensor : stored.tensors)
        if (tensor.key.starts_with(key))
            if (auto const cell = cell_of(tensor.key); cell && cell->key == key)
                return cell->array;
    return std::nullopt;
}

/// \throws error with errc::unknown_key unless the object's rule accepts an index beyond the array
inline void check_beyond(stored_object const& object, index_vector const& array) {
    if (object.beyond == object_rule::refuse)
        fail(errc::unknown_key, "object ", to_string(object.cell),
             ": the checkpoint's array has the shape ", array,
             ", so the object is outside it; set stored_object::beyond to repeat (the object gets "
             "another object's cell) or to keep (it stays as it is)");
}

/// The cell that a load takes for an object; std::nullopt: the object stays unchanged.
///
/// \throws error as `check_beyond`; errc::shape_mismatch if the array has another number of axes
inline std::optional<object_cell> cell_to_load(stored_object const& object, layout const& stored) {
    object_cell cell = object.cell;
    if (stored.find(tensor_key(cell)))
        return cell;
    auto const array = stored_array(stored, cell.key);
    if (!array)
        return cell; // the error then has the object's key
    if (array->size() != cell.array.size())
        fail(errc::shape_mismatch, "object ", to_string(cell),
             ": the checkpoint's array has another number of axes: its shape is ", *array);
    cell.array = *array;
    for (std::size_t axis = 0; axis < array->size(); ++axis) {
        if (cell.index[axis] < (*array)[axis])
            continue;
        check_beyond(object, *array);
        if (object.beyond == object_rule::keep)
            return std::nullopt;
        cell.index[axis] %= (*array)[axis];
    }
    return cell;
}

RESHARD_DECL vector<std::string> cells_left(layout const& stored,
                                            vector<vector<std::string>> const& taken) {
    std::set<std::string, std::less<>> keys, arrays;
    for (auto const& of_rank : taken)
        for (std::string const& key : of_rank) {
            keys.insert(key);
            if (auto const cell = cell_of(key))
                arrays.insert(cell->key);
        }
    vector<std::string> left;
    if (arrays.empty())
        return left;
    for (tensor_layout const& tensor : stored.tensors)
        if (!keys.contains(tensor.key))
            if (auto const cell = cell_of(tensor.key); cell && arrays.contains(cell->key))
                left.push_back(tensor.key);
    return left;
}

RESHARD_DECL vector<bytes_to_load> bytes_of(model_state const& state, layout const& stored) {
    vector<bytes_to_load> loads;
    auto const add = [&](std::string const& name, std::string key, std::string const& noun) {
        std::size_t const size = stored_bytes(stored, key, noun);
        loads.push_back({name, std::move(key), std::string(size, '\0')});
    };
    for (auto const& [name, entry] : state)
        if (auto const* const object = std::get_if<stored_object>(&entry)) {
            check(object->cell);
            if (auto const cell = cell_to_load(*object, stored))
                add(name, tensor_key(*cell), "object " + to_string(*cell));
        }
    for (tensor_layout const& tensor : stored.tensors)
        if (tensor.key.starts_with(common_prefix)) {
            std::string const name = tensor.key.substr(common_prefix.size());
            add(name, tensor.key, "common value '" + name + "'");
        }
    return loads;
}

} // namespace reshard::detail

#endif
