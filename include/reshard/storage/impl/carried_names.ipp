// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_CARRIED_NAMES_IPP
#define RESHARD_STORAGE_IMPL_CARRIED_NAMES_IPP

#include <reshard/aoa/source_names.hpp>
#include <reshard/core/error.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/storage/impl/carried_keys.ipp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace reshard::detail {

/// For each source tensor, the outputs that contain its elements, in the order of these elements.
/// Among several copies, only the first counts.
class renamed_tensors {
public:
    explicit renamed_tensors(mapping const& program) : program_(program) {
        for (key_id id = 0; id < program.sources().size(); ++id)
            ids_.emplace(program.sources().key(id), id);
        for (mapping_output const& output : program.outputs())
            for (std::size_t i = 0; i < output.value.pieces.size(); ++i)
                if (output.value.pieces.source(i) != zero_source)
                    parts_[output.value.pieces.source(i)].insert(
                        {place_of(output.value.pieces[i]), output.key});
    }

    bool has(std::string_view key) const { return ids_.contains(key); }

    vector<std::string> outputs_of(std::string_view key) const {
        vector<std::string> keys;
        auto const id = ids_.find(key);
        auto const match = id == ids_.end() ? parts_.end() : parts_.find(id->second);
        if (match == parts_.end())
            return keys;
        place const* last = nullptr;
        for (auto const& [where, output] : match->second) {
            bool const is_copy = last && *last == where;
            if (!is_copy && std::ranges::find(keys, output) == keys.end())
                keys.push_back(output);
            last = &where;
        }
        return keys;
    }

    catalog sources() const {
        vector<catalog_entry> entries;
        for (mapping_source const source : program_.sources())
            entries.push_back({std::string(source.key), source.dtype, source.shape,
                               index_vector::filled(source.shape.size(), 1)});
        return catalog(std::move(entries));
    }

    bool makes(std::string const& key) const { return program_.find(key) != nullptr; }

    /// The shape of an output, if it differs from the shape of its source.
    std::optional<index_vector> new_shape(std::string_view source, std::string const& key) const {
        index_vector const shape = program_.find(key)->value.shape;
        bool const is_same = program_.sources()[ids_.find(source)->second].shape == shape;
        return is_same ? std::nullopt : std::optional(shape);
    }

private:
    /// The offset and shape of a box in a source.
    using place = std::pair<vector<index_t>, vector<index_t>>;

    static place place_of(piece const& piece) {
        box const from = piece.source_box();
        return {{from.offset.begin(), from.offset.end()}, {from.shape.begin(), from.shape.end()}};
    }

    mapping const& program_;
    std::map<std::string_view, key_id> ids_;
    std::map<key_id, std::set<std::pair<place, std::string>>> parts_;
};

/// Renames the parameters in carried values, as the program renames their tensors.
class carried_names {
public:
    using key_set = std::set<std::string, std::less<>>;

    /// \param left_out the tensors of the source that the user did not select
    explicit carried_names(mapping const& program, key_set left_out = {})
        : tensors_(program),
          left_out_(std::move(left_out)),
          states_(aoa::detail::with_conventions({}, tensors_.sources(), nullptr)) {
        catalog const sources = tensors_.sources();
        for (catalog_entry const& entry : sources)
            for (std::size_t const size : aoa::detail::container_sizes(entry.key))
                parameters_.insert(entry.key.substr(size));
    }

    /// Renames parameters in lists, and in the keys of values that belong to a parameter.
    ///
    /// \throws error with errc::unsupported if a new parameter is made of several parameters with
    ///         different groups or values
    vector<saved_object> rename(vector<saved_object> objects) {
        for (saved_object const& object : objects)
            if (auto const key = key_of(object); key && key->parameter.empty())
                if (auto texts = texts_in(object))
                    lists_.emplace(object.key, std::move(*texts));
        for (saved_object const& object : objects)
            note_names(object);
        vector<saved_object> renamed;
        for (saved_object& object : objects)
            add_renamed(renamed, std::move(object));
        return renamed;
    }

private:
    std::optional<parameter_key> key_of(saved_object const& object) const {
        if (object.is_common)
            return std::nullopt;
        if (auto const key = read_group_key(object.key))
            return key;
        if (auto const key = read_module_key(object.key))
            return key;
        for (aoa::detail::state_reading const& reading :
             aoa::detail::optimizer_readings(object.key))
            if (!reading.is_joined && parameters_.contains(reading.parameter))
                return parameter_key{reading.prefix, {}, reading.parameter, reading.suffix};
        return std::nullopt;
    }

    void note_names(saved_object const& object) {
        auto const key = key_of(object);
        if (!key)
            return;
        std::set<std::string>& names = names_[std::string(key->owner)];
        if (!key->parameter.empty())
            names.emplace(key->parameter);
        else if (auto const list = lists_.find(object.key); list != lists_.end())
            names.insert(list->second.begin(), list->second.end());
    }

    void add_renamed(vector<saved_object>& objects, saved_object object) {
        auto const key = key_of(object);
        std::string const owner(key ? key->owner : std::string_view());
        if (auto const list = lists_.find(object.key); key && list != lists_.end()) {
            auto const texts = renamed_list(*key, object.key, list->second);
            if (texts != list->second)
                object.archive = archive_of(texts);
        } else if (key && !key->parameter.empty()) {
            return add_parameter(objects, object, *key);
        }
        objects.push_back(std::move(object));
    }

    /// Adds a parameter's value under the parameter's new names.
    void add_parameter(vector<saved_object>& objects, saved_object const& object,
                       parameter_key const& key) {
        std::string const owner(key.owner), name(key.parameter);
        std::string const from = container_of(owner) + name;
        auto const names = renamed(owner, name);
        auto const outputs = tensors_.outputs_of(from);
        auto const others = renamed_value(object, key, names.size());
        for (std::size_t i = 0; i < names.size(); ++i) {
            saved_object copy = object;
            copy.key = words(owner, key.group, names[i], key.ending);
            if (others && others->empty())
                return; // the program removes the named parameter
            if (others)
                copy.archive = archive_of_text((*others)[i]);
            else if (key.group.find(shapes_word) != key.group.npos && i < outputs.size())
                if (auto const shape = tensors_.new_shape(from, outputs[i]))
                    copy.archive = archive_of_shape(*shape);
            add_once(objects, std::move(copy), object.key);
        }
    }

    /// The new names of the parameter that a value of `shared_params` names; std::nullopt for other
    /// values.
    std::optional<vector<std::string>> renamed_value(saved_object const& object,
                                                     parameter_key const& key, std::size_t count) {
        auto const texts = key.group == shared_word ? texts_in(object) : std::nullopt;
        if (!texts || texts->size() != 1)
            return std::nullopt;
        auto names = renamed(std::string(key.owner), texts->front());
        if (!names.empty() && count > 0 && names.size() != count)
            fail(errc::unsupported, "'", object.key, "' is an alias of '", texts->front(),
                 "', but the program makes ", counted(count, "tensor"), " from the alias and ",
                 names.size(), " from '", texts->front(),
                 "'; omit values that are not tensors (--no-objects)");
        return names;
    }

    /// Adds a value of a new parameter. If the new parameter is made of several parameters, their
    /// values must be equal.
    void add_once(vector<saved_object>& objects, saved_object added, std::string const& from) {
        auto const [match, is_new] = said_.try_emplace(added.key, from, added.archive);
        if (!is_new && match->second.second != added.archive)
            fail(errc::unsupported, "'", match->second.first, "' and '", from,
                 "' differ, but the program merges their parameters into one, which can have only "
                 "one value; omit values that are not tensors (--no-objects)");
        if (is_new)
            objects.push_back(std::move(added));
    }

    vector<std::string> renamed_list(parameter_key const& group, std::string const& key,
                                     vector<std::string> const& names) {
        std::string const owner(group.owner);
        vector<std::string> all;
        for (std::string const& name : names)
            for (std::string& result : renamed(owner, name)) {
                auto const [match, is_new] =
                    groups_.try_emplace(words(owner, group.ending, ".", result), key);
                if (match->second != key)
                    fail(errc::unsupported, "'", result, "' is made from parameters of '",
                         match->second, "' and of '", key,
                         "', but a parameter can be in only one group of an optimizer; omit values "
                         "that are not tensors (--no-objects)");
                if (is_new)
                    all.push_back(std::move(result));
            }
        return all;
    }

    /// The prefix of the model that contains an optimizer's parameters; std::nullopt if the source
    /// has none of the parameters.
    std::optional<std::string> const& found_container(std::string const& owner) {
        auto const [match, is_new] = containers_.try_emplace(owner);
        if (!is_new)
            return match->second;
        std::map<std::string_view, std::size_t> votes;
        std::set<std::string> const& names = names_[owner];
        catalog const sources = tensors_.sources();
        for (catalog_entry const& entry : sources)
            for (std::size_t const size : aoa::detail::container_sizes(entry.key))
                if (names.contains(entry.key.substr(size)))
                    ++votes[std::string_view(entry.key).substr(0, size)];
        if (auto const most = aoa::detail::most_voted(votes))
            match->second = *most;
        return match->second;
    }

    std::string container_of(std::string const& owner) {
        return found_container(owner).value_or(std::string());
    }

    /// The new names of a parameter: none if the program removes it, several if the program splits
    /// it.
    vector<std::string> renamed(std::string const& owner, std::string const& name) {
        std::string const container = container_of(owner);
        if (!tensors_.has(container + name))
            return renamed_by_states(owner, name);
        vector<std::string> names;
        for (std::string const& key : tensors_.outputs_of(container + name))
            names.push_back(new_name(owner, name, key));
        return names;
    }

    /// The new names of a parameter that is not in the source, from the keys of its states. Empty
    /// if the user omitted the parameter and its states.
    vector<std::string> renamed_by_states(std::string const& owner, std::string const& name) {
        auto const& container = found_container(owner);
        bool is_left_out = container && left_out_.contains(*container + name), has_state = false;
        for (aoa::state_suffix const& state : states_of(owner)) {
            std::string const key = aoa::detail::key_of_state(name, state);
            is_left_out = is_left_out || left_out_.contains(key);
            has_state = has_state || tensors_.has(key);
            if (!state.is_identical() || !tensors_.has(key))
                continue;
            vector<std::string> names;
            for (std::string const& output : tensors_.outputs_of(key))
                aoa::detail::any_parameter(output, {state},
                                           [&](std::string_view text, auto const&) {
                                               names.emplace_back(text);
                                               return true;
                                           });
            return names;
        }
        return is_left_out && !has_state ? vector<std::string>() : vector{name};
    }

    /// The optimizer's new name of a parameter that becomes the tensor `key`. The new keys of its
    /// state decide. Without a state, the name is the key without the prefix of the model.
    std::string new_name(std::string const& owner, std::string const& name,
                         std::string const& key) {
        std::string const container = container_of(owner);
        vector<std::string> likely;
        bool const is_same = key.ends_with(name);
        if (is_same && !container.empty() &&
            !key.substr(0, key.size() - name.size()).starts_with(container))
            likely.push_back(name);
        if (key.starts_with(container))
            likely.push_back(key.substr(container.size()));
        likely.push_back(key);
        for (std::string const& element : likely)
            for (aoa::state_suffix const& state : states_of(owner))
                if (tensors_.makes(state.prefix + element + state.suffix))
                    return element;
        return likely.front();
    }

    vector<aoa::state_suffix> const& states_of(std::string const& owner) {
        auto const [match, is_new] = states_of_.try_emplace(owner);
        for (aoa::state_suffix const& state : states_)
            if (is_new && state.prefix.starts_with(owner))
                match->second.push_back(state);
        return match->second;
    }

    renamed_tensors tensors_;
    key_set left_out_;
    vector<aoa::state_suffix> states_;
    std::set<std::string, std::less<>> parameters_; ///< the keys without prefixes of models
    std::map<std::string, vector<aoa::state_suffix>> states_of_;   ///< by optimizer
    std::map<std::string, vector<std::string>> lists_;             ///< parameter lists, by key
    std::map<std::string, std::set<std::string>> names_;           ///< by optimizer
    std::map<std::string, std::optional<std::string>> containers_; ///< by optimizer
    std::map<std::string, std::string> groups_; ///< the list of each new parameter, by its key
    /// The old key and the bytes of each new value, by its new key.
    std::map<std::string, std::pair<std::string, std::string>> said_;
};

} // namespace reshard::detail

#endif
