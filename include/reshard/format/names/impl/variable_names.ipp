// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_NAMES_IMPL_VARIABLE_NAMES_IPP
#define RESHARD_FORMAT_NAMES_IMPL_VARIABLE_NAMES_IPP

#include <reshard/format/names/variable_names.hpp>

#include <reshard/core/error.hpp>
#include <reshard/core/key_index.hpp>

#include <algorithm>
#include <utility>

namespace reshard::model {

RESHARD_DECL void define_renamed(mapping& program, vector<renamed_key> const& renamed,
                                 catalog const& stored) {
    for (renamed_key const& each : renamed) {
        catalog_entry const* const entry = stored.find(each.stored);
        if (!entry)
            fail(errc::unknown_key, "'", each.wanted, "' should be read from '", each.stored,
                 "', which the source does not have");
        program.define(each.wanted, program.source(entry->key, entry->shape, entry->dtype));
    }
}

} // namespace reshard::model

namespace reshard::detail {

inline constexpr std::string_view slice_prefix = "slice@";

/// The parameter of a key that is a master weight; empty for any other key.
inline std::optional<std::string> parameter_of_master(std::string_view key) {
    std::string name(key);
    if (take_master_segment(name))
        return name;
    for (std::string_view const ending : {"_fp32_master_0", "_fp32_master", ".w_0"})
        if (auto const remainder = without_ending(key, ending))
            return std::string(*remainder);
    return std::nullopt;
}

inline vector<std::string> other_masters(std::string_view key) {
    auto const parameter = parameter_of_master(key);
    if (!parameter)
        return {};
    std::string const segment(master_segment);
    vector<std::string> names = {*parameter + "_fp32_master_0", *parameter + "_fp32_master",
                                 *parameter + ".w_0", segment + *parameter};
    if (std::size_t const dot = parameter->find('.'); dot != std::string::npos)
        names.push_back(parameter->substr(0, dot + 1) + segment + parameter->substr(dot + 1));
    erase_if(names, [&](std::string const& name) { return name == key; });
    return names;
}

/// The key without any of these beginnings, and the key with each of them.
inline vector<std::string> with_beginnings(std::string_view key,
                                           vector<std::string_view> const& beginnings) {
    vector<std::string> names;
    for (std::string_view const beginning : beginnings) {
        names.push_back(std::string(beginning).append(key));
        if (key.starts_with(beginning))
            names.emplace_back(key.substr(beginning.size()));
    }
    return names;
}

inline vector<std::string> other_slices(std::string_view key) {
    return with_beginnings(key, {slice_prefix});
}

inline vector<std::string> other_wrappers(std::string_view key) {
    return with_beginnings(key, {"module.", "_orig_mod."});
}

inline vector<std::string> other_separators(std::string_view key) {
    vector<std::string> names;
    for (auto const& [from, to] : {std::pair{'.', '/'}, std::pair{'/', '.'}}) {
        std::string name(key);
        std::ranges::replace(name, from, to);
        if (name != key)
            names.push_back(std::move(name));
    }
    return names;
}

RESHARD_DECL std::string hint_of_names(vector<std::string> const& wanted, catalog const& stored) {
    std::string hint;
    for (model::name_table const& table : model::name_tables()) {
        auto const renamed = renamed_by(table, wanted, stored);
        if (!renamed.empty())
            hint += std::string(hint.empty() ? "" : ", ") + "'" + renamed.front().wanted +
                    "' is called '" + renamed.front().stored + "' in the name table '" +
                    std::string(table.name) + "'" + and_more_keys(renamed.size());
    }
    return hint;
}

} // namespace reshard::detail

namespace reshard::model {

RESHARD_DECL vector<name_table> const& name_tables() {
    static vector<name_table> const tables = {
        {"master-weights",
         "w.w_0, w_fp32_master_0, w_fp32_master, master_weights.w, and master_weights as the "
         "second segment",
         detail::other_masters},
        {"slices", "slice@w of ZeRO-3, and w", detail::other_slices},
        {"separators", "a/b, and a.b", detail::other_separators},
        {"wrappers", "module.w of data parallelism, _orig_mod.w of a compiled model, and w",
         detail::other_wrappers}};
    return tables;
}

RESHARD_DECL name_table const& find_name_table(std::string_view name) {
    auto const match = std::ranges::find(name_tables(), name, &name_table::name);
    if (match != name_tables().end())
        return *match;
    std::string known_names;
    for (name_table const& table : name_tables())
        known_names += (known_names.empty() ? "" : ", ") + std::string(table.name);
    fail(errc::usage, "unknown table of names '", name, "'",
         detail::did_you_mean(name, name_tables(), &name_table::name), "; choose one of ",
         known_names);
}

RESHARD_DECL vector<renamed_key>
renamed_by(name_table const& table, vector<std::string> const& wanted, catalog const& stored) {
    vector<renamed_key> renamed;
    for (std::string const& key : wanted) {
        if (stored.find(key))
            continue;
        vector<std::string> names = table.others(key);
        erase_if(names, [&](std::string const& name) { return !stored.find(name); });
        if (names.size() == 1)
            renamed.push_back({key, std::move(names.front())});
    }
    return renamed;
}

RESHARD_DECL std::function<mapping(catalog const&, catalog const*)>
program_by_names(vector<std::string> const& tables,
                 std::function<void(name_table const&, renamed_key const&)> tell) {
    vector<name_table> chosen;
    for (std::string const& name : tables)
        chosen.push_back(find_name_table(name));
    return [chosen, tell](catalog const& stored, catalog const* target) {
        mapping program;
        vector<std::string> lacking;
        for (catalog_entry const& entry : target ? *target : stored)
            if (catalog_entry const* const own = stored.find(entry.key))
                program.define(entry.key, program.source(own->key, own->shape, own->dtype));
            else
                lacking.push_back(entry.key);
        for (name_table const& table : chosen) {
            auto const renamed = renamed_by(table, lacking, stored);
            define_renamed(program, renamed, stored);
            for (renamed_key const& renamed_key : renamed) {
                erase_if(lacking,
                         [&](std::string const& key) { return key == renamed_key.wanted; });
                if (tell)
                    tell(table, renamed_key);
            }
        }
        return program;
    };
}

} // namespace reshard::model

namespace reshard::detail {

/// The part of a name before an underscore and a number at its end; std::nullopt if the name has no
/// such end.
inline std::optional<std::string_view> without_number(std::string_view name) {
    auto const last = name.find_last_not_of("0123456789");
    if (last == std::string_view::npos || last + 1 == name.size() || name[last] != '_')
        return std::nullopt;
    return name.substr(0, last);
}

RESHARD_DECL std::optional<std::string_view> without_ending(std::string_view name,
                                                            std::string_view ending) {
    if (!name.ends_with(ending))
        return std::nullopt;
    return name.substr(0, name.size() - ending.size());
}

/// The part of a suffix that is in the variable's name: `_moment1` for `.moment1_0`.
inline std::string accumulator_ending(model::state_kind const& kind) {
    std::string_view const word = std::string_view(kind.suffix).substr(1);
    return "_" + std::string(without_number(word).value_or(word));
}

/// Removes the accumulator from the end of a name, and returns the suffix of its key. The suffix is
/// empty if the name has no accumulator.
inline std::string take_accumulator(std::string_view& name,
                                    vector<model::state_kind> const& kinds) {
    auto const numberless = without_number(name);
    for (model::state_kind const& kind : kinds) {
        if (kind.is_master || kind.suffix.empty() || !numberless)
            continue;
        if (auto const remainder = without_ending(*numberless, accumulator_ending(kind))) {
            name = *remainder;
            return kind.suffix;
        }
    }
    return {};
}

RESHARD_DECL bool take_master_segment(std::string& name) {
    auto const at = name.find(master_segment);
    bool const is_segment = at == 0 || (at != std::string::npos && name[at - 1] == '.');
    if (is_segment)
        name.erase(at, master_segment.size());
    return is_segment;
}

/// Removes the marks of a master weight from a name; returns whether the name had any.
inline bool take_master(std::string& name) {
    auto const remainder = without_ending(without_number(name).value_or(name), master_suffix);
    if (remainder)
        name.resize(remainder->size());
    return take_master_segment(name) || remainder;
}

inline std::string master_key_suffix(vector<model::state_kind> const& kinds) {
    for (model::state_kind const& kind : kinds)
        if (kind.is_master)
            return kind.suffix;
    return {};
}

} // namespace reshard::detail

namespace reshard::model {

RESHARD_DECL variable_name parse_variable(std::string_view name, vector<state_kind> const& kinds) {
    std::string_view remainder = name;
    variable_name result;
    result.suffix = detail::take_accumulator(remainder, kinds);
    if (remainder.starts_with(detail::slice_prefix))
        remainder.remove_prefix(detail::slice_prefix.size());
    result.parameter = remainder;
    if (detail::take_master(result.parameter) && result.suffix.empty())
        result.suffix = detail::master_key_suffix(kinds);
    if (result.parameter.empty())
        fail(errc::unknown_key, "the variable '", name, "' names no parameter");
    return result;
}

RESHARD_DECL std::string key_of_variable(std::string_view name, variable_keys const& parameters,
                                         vector<state_kind> const& kinds) {
    variable_name const variable = parse_variable(name, kinds);
    auto const match = parameters.find(variable.parameter);
    if (match == parameters.end())
        fail(errc::unknown_key, "the variable '", name, "' belongs to '", variable.parameter,
             "', but no parameter has this name");
    return match->second + variable.suffix;
}

RESHARD_DECL vector<std::string> state_variables(std::string_view parameter, variable_form form,
                                                 vector<state_kind> const& kinds) {
    std::string base(parameter);
    vector<std::string> names;
    if (form.has_master)
        names.push_back(base += std::string(detail::master_suffix) + "_0");
    else if (form.is_slice)
        base.insert(0, detail::slice_prefix);
    for (state_kind const& kind : kinds)
        if (!kind.is_master && !kind.suffix.empty())
            names.push_back(base + detail::accumulator_ending(kind) + "_0");
    return names;
}

} // namespace reshard::model

#endif
