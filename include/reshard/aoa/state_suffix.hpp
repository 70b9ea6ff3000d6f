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
/// Which keys are optimizer state or scales, by the ends of the key, or by the text around the
/// parameter's.

namespace reshard::aoa {

/// The rule by which a key is the state, or the scales, of the parameter whose key it contains: the
/// ending and, for some conventions, a beginning.
struct state_suffix {
    std::string suffix;
    bool scalar = false;        ///< one number, for any shape of the parameter
    index_vector block = {};    ///< not empty: one number for each block of these extents
    std::string prefix = {};    ///< before the parameter's key, as `optim.state.`
    std::string container = {}; ///< before the parameter's key, and not repeated in the state's
    bool is_found = false;      ///< from a convention in a catalog; statements may name such state

    /// Whether the state has the shape of its parameter.
    bool is_identical() const { return !scalar && block.empty(); }

    bool operator==(state_suffix const&) const = default;
};

/// The endings of PaddlePaddle, in the order in which they are tried.
RESHARD_DECL vector<state_suffix> default_state_suffixes();

namespace detail {

/// The ending of a key that is state, or null.
RESHARD_DECL state_suffix const* state_suffix_of(std::string_view key,
                                                 vector<state_suffix> const& suffixes);

/// The key of the parameter that a key belongs to, itself or as state, by its ending alone.
RESHARD_DECL std::string_view parameter_of(std::string_view key,
                                           vector<state_suffix> const& suffixes);

/// The key of that state of a parameter; empty if the parameter's key is not in the container.
RESHARD_DECL std::string key_of_state(std::string_view parameter, state_suffix const& state);

/// Calls `visit(parameter, state)` for each way to read a key as state, until it returns true;
/// returns whether it did. The parameter's key lasts as long as the call.
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

/// The characters between the parts of a key.
inline constexpr std::string_view separators = "./";

/// A reading of an optimizer's key: the state `name` of the parameter inside it.
struct state_reading {
    std::string_view prefix;    ///< before the parameter
    std::string_view parameter; ///< without a prefix of the model's keys
    std::string_view suffix;
    std::string_view name;  ///< of the state, as `exp_avg`
    bool is_joined = false; ///< `P_exp_avg` or `exp_avg.0.P`: only if the catalog has the parameter
};

/// The readings of an optimizer's key by the known conventions: `optim.state.P.exp_avg` and
/// `optimizer/exp_avg/P`, but not `P.exp_avg`. Empty for other keys.
RESHARD_DECL vector<state_reading> optimizer_readings(std::string_view key);

/// The lengths of the beginnings of a key that may be the name of a model, `model.` or
/// `app.model.`: 0, two more, and longer beginnings that end in such a name.
RESHARD_DECL vector<std::size_t> container_sizes(std::string_view key);

/// The beginning with the most votes. If several have the same number, the likeliest name of a
/// model; std::nullopt if there is none, or if the names are equally likely.
RESHARD_DECL std::optional<std::string_view>
most_voted(std::map<std::string_view, std::size_t> const& values);

} // namespace detail

} // namespace reshard::aoa

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/state_suffix.ipp>
#endif

#endif
