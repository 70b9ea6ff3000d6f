// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_NAMES_IMPL_VARIABLE_NAMES_IPP
#define RESHARD_FORMAT_NAMES_IMPL_VARIABLE_NAMES_IPP

#include <reshard/format/names/variable_names.hpp>

#include <utility>

namespace reshard::model {

RESHARD_DECL std::optional<std::string> other_master_name(std::string_view key) {
    std::string name(key);
    if (detail::take_master_segment(name))
        return name + std::string(detail::master_suffix) + "_0";
    auto const rest = detail::without_ending(key, std::string(detail::master_suffix) + "_0");
    auto const dot = rest ? rest->find('.') : std::string_view::npos;
    if (dot == std::string_view::npos)
        return std::nullopt;
    return std::string(rest->substr(0, dot + 1)) + std::string(detail::master_segment) +
           std::string(rest->substr(dot + 1));
}

RESHARD_DECL std::vector<renamed_key> renamed_masters(std::vector<std::string> const& wanted,
                                                      catalog const& stored) {
    std::vector<renamed_key> renamed;
    for (std::string const& key : wanted) {
        if (stored.find(key))
            continue;
        if (auto other = other_master_name(key); other && stored.find(*other))
            renamed.push_back({key, std::move(*other)});
    }
    return renamed;
}

RESHARD_DECL void define_renamed(mapping& program, std::vector<renamed_key> const& renamed,
                                 catalog const& stored) {
    for (renamed_key const& each : renamed) {
        catalog_entry const* const entry = stored.find(each.stored);
        if (!entry)
            fail(errc::unknown_key, "'", each.wanted, "' is to be '", each.stored,
                 "', which the source does not have");
        program.define(each.wanted, program.source(entry->key, entry->shape, entry->dtype));
    }
}

} // namespace reshard::model

namespace reshard::detail {

inline constexpr std::string_view slice_prefix = "slice@";

/// What stands before an underscore and a number at the end of a name; nothing where there are
/// none.
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

/// The variable's part of a suffix: `_moment1` of `.moment1_0`.
inline std::string accumulator_ending(model::state_kind const& kind) {
    std::string_view const word = std::string_view(kind.suffix).substr(1);
    return "_" + std::string(without_number(word).value_or(word));
}

/// Takes the accumulator off the end of a name: the suffix of its key, or nothing.
inline std::string take_accumulator(std::string_view& name,
                                    std::vector<model::state_kind> const& kinds) {
    auto const numberless = without_number(name);
    for (model::state_kind const& kind : kinds) {
        if (kind.is_master || kind.suffix.empty() || !numberless)
            continue;
        if (auto const rest = without_ending(*numberless, accumulator_ending(kind))) {
            name = *rest;
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

/// Takes what says that a variable is a master weight off a name; tells whether there was any.
inline bool take_master(std::string& name) {
    auto const rest = without_ending(without_number(name).value_or(name), master_suffix);
    if (rest)
        name.resize(rest->size());
    return take_master_segment(name) || rest;
}

inline std::string master_key_suffix(std::vector<model::state_kind> const& kinds) {
    for (model::state_kind const& kind : kinds)
        if (kind.is_master)
            return kind.suffix;
    return {};
}

} // namespace reshard::detail

namespace reshard::model {

RESHARD_DECL variable_name parse_variable(std::string_view name,
                                          std::vector<state_kind> const& kinds) {
    std::string_view rest = name;
    variable_name result;
    result.suffix = detail::take_accumulator(rest, kinds);
    if (rest.starts_with(detail::slice_prefix))
        rest.remove_prefix(detail::slice_prefix.size());
    result.parameter = rest;
    if (detail::take_master(result.parameter) && result.suffix.empty())
        result.suffix = detail::master_key_suffix(kinds);
    if (result.parameter.empty())
        fail(errc::unknown_key, "the variable '", name, "' names no parameter");
    return result;
}

RESHARD_DECL std::string key_of_variable(std::string_view name, variable_keys const& parameters,
                                         std::vector<state_kind> const& kinds) {
    variable_name const variable = parse_variable(name, kinds);
    auto const found = parameters.find(variable.parameter);
    if (found == parameters.end())
        fail(errc::unknown_key, "the variable '", name, "' belongs to '", variable.parameter,
             "', and no parameter has this name");
    return found->second + variable.suffix;
}

RESHARD_DECL std::vector<std::string> state_variables(std::string_view parameter,
                                                      variable_form form,
                                                      std::vector<state_kind> const& kinds) {
    std::string base(parameter);
    std::vector<std::string> names;
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
