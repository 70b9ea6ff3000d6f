// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_STATE_SUFFIX_HPP
#define RESHARD_AOA_STATE_SUFFIX_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/index_vector.hpp>
#include <reshard/core/vector.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// Recognises the keys of optimizer state and of scales, by their endings, or by the text around
/// the parameter's key.

namespace reshard::aoa {

/// A rule that finds the keys of states or scales, and the parameter's key inside them: by an
/// ending and, for some conventions, by a beginning.
struct state_suffix {
    std::string suffix;
    bool scalar = false;        ///< a single number, for any shape of the parameter
    index_vector block = {};    ///< not empty: one number for each block with these extents
    std::string prefix = {};    ///< before the parameter's key, for example `optim.state.`
    std::string container = {}; ///< begins the parameter's key, and is omitted in the state's key
    bool is_found = false;      ///< by convention in a catalog; statements may name such state

    /// Whether the state has the shape of its parameter.
    bool is_identical() const { return !scalar && block.empty(); }

    bool operator==(state_suffix const&) const = default;
};

/// The suffixes of PaddlePaddle, in the order in which they are tried.
RESHARD_DECL vector<state_suffix> default_state_suffixes();

namespace detail {

/// The suffix of a key that is a state's, or null.
RESHARD_DECL state_suffix const* state_suffix_of(std::string_view key,
                                                 vector<state_suffix> const& suffixes);

/// The parameter's key for the key of a parameter or state, by the ending alone.
RESHARD_DECL std::string_view parameter_of(std::string_view key,
                                           vector<state_suffix> const& suffixes);

/// The key of a state of a parameter; empty if the parameter's key is not in the container.
RESHARD_DECL std::string key_of_state(std::string_view parameter, state_suffix const& state);

/// Calls `visit(parameter, state)` for each reading of a key as a state, until `visit` returns
/// true; returns whether it did. The parameter's key is valid during the call only.
bool any_parameter(std::string_view key, vector<state_suffix> const& suffixes, auto const& visit) {
    for (state_suffix const& each : suffixes) {
        std::size_t const around = each.prefix.size() + each.suffix.size();
        if (key.size() <= around || !key.ends_with(each.suffix) || !key.starts_with(each.prefix))
            continue;
        std::string_view const inside = key.substr(each.prefix.size(), key.size() - around);
        if (each.container.empty()
                ? visit(inside, each)
                : visit(std::string_view(each.container + std::string(inside)), each))
            return true;
    }
    return false;
}

/// The separators in a key.
inline constexpr std::string_view separators = "./";

/// A reading of an optimizer's key: it is the state `name` of the parameter inside it.
struct state_reading {
    std::string_view prefix;    ///< before the parameter
    std::string_view parameter; ///< without the prefix of the model's keys
    std::string_view suffix;
    std::string_view name;  ///< name of the state, for example `exp_avg`
    bool is_joined = false; ///< `P_exp_avg` or `exp_avg.0.P`: valid if the catalog has `P`
};

/// The readings of an optimizer's key by the known conventions: `optim.state.P.exp_avg` and
/// `optimizer/exp_avg/P`, but not `P.exp_avg`. Empty for other keys.
RESHARD_DECL vector<state_reading> optimizer_readings(std::string_view key);

/// The lengths of beginnings of a key that may be the name of a model, such as `model.` or
/// `app.model.`: 0, two more, and longer beginnings that end in a model's name.
RESHARD_DECL vector<std::size_t> container_sizes(std::string_view key);

/// The name with the most votes. If several names have the same number, the likeliest name of a
/// model. std::nullopt without votes, or if the names are equally likely.
RESHARD_DECL std::optional<std::string_view>
most_voted(std::map<std::string_view, std::size_t> const& values);

} // namespace detail

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/state_suffix.ipp>
#endif

#endif
