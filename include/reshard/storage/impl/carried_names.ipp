// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_STORAGE_IMPL_CARRIED_NAMES_IPP
#define RESHARD_STORAGE_IMPL_CARRIED_NAMES_IPP

#include <reshard/aoa/source_names.hpp>
#include <reshard/core/error.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/format/checkpoint_metadata.hpp>
#include <reshard/format/pickle/pickle_writer.hpp>
#include <reshard/format/torch/torch_archive.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reshard::detail {

/// What tensors of a source become in a program: the outputs that have some of their elements, in
/// the order of these elements. Of copies, the first counts.
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

    std::vector<std::string> outputs_of(std::string_view key) const {
        std::vector<std::string> keys;
        auto const id = ids_.find(key);
        auto const found = id == ids_.end() ? parts_.end() : parts_.find(id->second);
        if (found == parts_.end())
            return keys;
        place const* last = nullptr;
        for (auto const& [where, output] : found->second) {
            bool const is_copy = last && *last == where;
            if (!is_copy && std::ranges::find(keys, output) == keys.end())
                keys.push_back(output);
            last = &where;
        }
        return keys;
    }

    catalog sources() const {
        std::vector<catalog_entry> entries;
        for (mapping_source const one : program_.sources())
            entries.push_back({std::string(one.key), one.dtype, one.shape,
                               index_vector::filled(one.shape.size(), 1)});
        return catalog(std::move(entries));
    }

    bool makes(std::string const& key) const { return program_.find(key) != nullptr; }

private:
    /// Where elements begin in their source, and how many there are along each axis.
    using place = std::pair<std::vector<index_t>, std::vector<index_t>>;

    static place place_of(piece const& one) {
        box const from = one.source_box();
        return {{from.offset.begin(), from.offset.end()}, {from.shape.begin(), from.shape.end()}};
    }

    mapping const& program_;
    std::map<std::string_view, key_id> ids_;
    std::map<key_id, std::set<std::pair<place, std::string>>> parts_;
};

/// A value that lists the parameters of an optimizer, or belongs to one of them:
/// `optim.param_groups.0.params`, `optim.param_groups.P.lr` and `optim.state.P.step`.
struct parameter_key {
    std::string_view owner;     ///< `optim.`, or `optim.state.`
    std::string_view group;     ///< `param_groups.`, empty for a state
    std::string_view parameter; ///< empty for a list
    std::string_view ending;    ///< `.lr`, or `.step`
};

inline std::optional<parameter_key> read_group_key(std::string_view key) {
    constexpr std::string_view word = "param_groups.";
    std::size_t const place = key.find(word);
    std::size_t const last = key.rfind('.');
    if (place == key.npos || (place > 0 && key[place - 1] != '.') || last < place + word.size())
        return std::nullopt;
    std::string_view const inside = key.substr(place + word.size(), last - place - word.size());
    bool const is_number = inside.find_first_not_of("0123456789") == inside.npos;
    if (is_number && key.substr(last) != ".params" && key.substr(last) != ".param_names")
        return std::nullopt;
    return parameter_key{key.substr(0, place), word, is_number ? std::string_view() : inside,
                         key.substr(last)};
}

/// The texts of a value that is a list of texts; nothing of any other.
inline std::optional<std::vector<std::string>> texts_in(saved_object const& object) {
    archive_file const bytes(object.archive, object.key);
    torch_archive const archive(bytes, object.key, {0, object.archive.size()});
    pickle const& values = archive.values();
    pickle_value const root = values.root();
    if (root.what != pickle_value::kind::list && root.what != pickle_value::kind::tuple)
        return std::nullopt;
    std::vector<std::string> texts;
    for (pickle_value const one : values.elements(root, object.key)) {
        if (one.what != pickle_value::kind::text)
            return std::nullopt;
        texts.emplace_back(values.text(one, object.key));
    }
    return texts;
}

inline std::string archive_of(std::vector<std::string> const& texts) {
    pickle_writer out;
    out.empty_list();
    out.begin();
    for (std::string const& one : texts)
        out.text(one);
    out.append_all();
    return torch_file_of(out.take());
}

/// Names of parameters in the values that a conversion carries, as the program renames them.
class carried_names {
public:
    explicit carried_names(mapping const& program)
        : tensors_(program),
          states_(aoa::detail::with_conventions({}, tensors_.sources(), nullptr)) {
        catalog const sources = tensors_.sources();
        for (catalog_entry const& entry : sources)
            for (std::size_t const size : aoa::detail::container_sizes(entry.key))
                parameters_.insert(entry.key.substr(size));
    }

    /// Renames parameters in lists of them, and in keys of values that belong to one.
    ///
    /// \throws error with errc::unsupported if a new parameter is made of parameters of several
    ///         groups, whose values differ
    std::vector<saved_object> rename(std::vector<saved_object> objects) {
        for (saved_object const& object : objects)
            if (auto const key = key_of(object); key && key->parameter.empty())
                if (auto texts = texts_in(object))
                    lists_.emplace(object.key, std::move(*texts));
        for (saved_object const& object : objects)
            note_names(object);
        std::vector<saved_object> renamed;
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
        for (aoa::detail::state_reading const& one : aoa::detail::optimizer_readings(object.key))
            if (!one.is_joined && parameters_.contains(one.parameter))
                return parameter_key{one.prefix, {}, one.parameter, one.suffix};
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

    void add_renamed(std::vector<saved_object>& all, saved_object object) {
        auto const key = key_of(object);
        std::string const owner(key ? key->owner : std::string_view());
        if (auto const list = lists_.find(object.key); key && list != lists_.end()) {
            auto const texts = renamed_list(*key, object.key, list->second);
            if (texts != list->second)
                object.archive = archive_of(texts);
        } else if (key && !key->parameter.empty()) {
            std::string const group(key->group), ending(key->ending);
            for (std::string const& name : renamed(owner, std::string(key->parameter))) {
                saved_object copy = object;
                copy.key = owner + group + name + ending;
                add_once(all, std::move(copy), object.key);
            }
            return;
        }
        all.push_back(std::move(object));
    }

    /// Adds a value of a new parameter; if several become one, their values have to be equal.
    void add_once(std::vector<saved_object>& all, saved_object added, std::string const& from) {
        auto const [known, is_new] = said_.try_emplace(added.key, from, added.archive);
        if (!is_new && known->second.second != added.archive)
            fail(errc::unsupported, "'", known->second.first, "' and '", from,
                 "' are not equal, and the program makes one parameter of both, which can have one "
                 "value only; leave out what is no tensor (--no-objects)");
        if (is_new)
            all.push_back(std::move(added));
    }

    std::vector<std::string> renamed_list(parameter_key const& group, std::string const& key,
                                          std::vector<std::string> const& names) {
        std::string const owner(group.owner);
        std::vector<std::string> all;
        for (std::string const& name : names)
            for (std::string& made : renamed(owner, name)) {
                auto const [known, is_new] =
                    groups_.try_emplace(words(owner, group.ending, ".", made), key);
                if (known->second != key)
                    fail(errc::unsupported, "'", made, "' is made of parameters of '",
                         known->second, "' and of '", key,
                         "', and an optimizer has a parameter in one group only; leave out what is "
                         "no tensor (--no-objects)");
                if (is_new)
                    all.push_back(std::move(made));
            }
        return all;
    }

    /// The prefix of an optimizer's parameters in the model.
    std::string const& container_of(std::string const& owner) {
        auto const [known, is_new] = containers_.try_emplace(owner);
        if (!is_new)
            return known->second;
        std::map<std::string_view, std::size_t> votes;
        std::set<std::string> const& names = names_[owner];
        catalog const sources = tensors_.sources();
        for (catalog_entry const& entry : sources)
            for (std::size_t const size : aoa::detail::container_sizes(entry.key))
                if (names.contains(entry.key.substr(size)))
                    ++votes[std::string_view(entry.key).substr(0, size)];
        if (auto const most = aoa::detail::most_voted(votes))
            known->second = *most;
        return known->second;
    }

    /// The names that a parameter has from now on: none of one that is removed, several of one that
    /// is split.
    std::vector<std::string> renamed(std::string const& owner, std::string const& name) {
        std::string const& container = container_of(owner);
        if (!tensors_.has(container + name))
            return renamed_by_states(owner, name);
        std::vector<std::string> names;
        for (std::string const& key : tensors_.outputs_of(container + name))
            names.push_back(new_name(owner, name, key));
        return names;
    }

    /// The same if the source has the states of a parameter, and not the parameter.
    std::vector<std::string> renamed_by_states(std::string const& owner, std::string const& name) {
        for (aoa::state_suffix const& state : states_of(owner)) {
            std::string const key = aoa::detail::key_of_state(name, state);
            if (!state.is_alike() || !tensors_.has(key))
                continue;
            std::vector<std::string> names;
            for (std::string const& made : tensors_.outputs_of(key))
                aoa::detail::any_parameter(made, {state}, [&](std::string_view one, auto const&) {
                    names.emplace_back(one);
                    return true;
                });
            return names;
        }
        return {name};
    }

    /// How an optimizer calls a tensor that a parameter has become: as the keys of its state do
    /// or, if it has none, by the rest of its key after the container.
    std::string new_name(std::string const& owner, std::string const& name,
                         std::string const& key) {
        std::string const& container = container_of(owner);
        std::vector<std::string> likely;
        bool const is_same = key.ends_with(name);
        if (is_same && !container.empty() &&
            !key.substr(0, key.size() - name.size()).starts_with(container))
            likely.push_back(name);
        if (key.starts_with(container))
            likely.push_back(key.substr(container.size()));
        likely.push_back(key);
        for (std::string const& one : likely)
            for (aoa::state_suffix const& state : states_of(owner))
                if (tensors_.makes(state.prefix + one + state.suffix))
                    return one;
        return likely.front();
    }

    std::vector<aoa::state_suffix> const& states_of(std::string const& owner) {
        auto const [known, is_new] = states_of_.try_emplace(owner);
        for (aoa::state_suffix const& state : states_)
            if (is_new && state.prefix.starts_with(owner))
                known->second.push_back(state);
        return known->second;
    }

    renamed_tensors tensors_;
    std::vector<aoa::state_suffix> states_;
    std::set<std::string, std::less<>> parameters_; ///< keys without the name of a model, too
    std::map<std::string, std::vector<aoa::state_suffix>> states_of_; ///< by optimizer
    std::map<std::string, std::vector<std::string>> lists_;           ///< of parameters, by key
    std::map<std::string, std::set<std::string>> names_;              ///< by optimizer
    std::map<std::string, std::string> containers_;                   ///< by optimizer
    std::map<std::string, std::string> groups_; ///< the lists of new parameters
    /// The value of new parameters: the key that it comes from, and its bytes.
    std::map<std::string, std::pair<std::string, std::string>> said_;
};

} // namespace reshard::detail

#endif
