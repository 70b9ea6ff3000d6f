// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_STATE_SUFFIX_IPP
#define RESHARD_AOA_IMPL_STATE_SUFFIX_IPP

#include <reshard/aoa/state_suffix.hpp>

namespace reshard::aoa {

RESHARD_DECL vector<state_suffix> default_state_suffixes() {
    return {{".w_0", false},
            {".moment1_0", false},
            {".moment2_0", false},
            {".beta1_pow_acc_0", true},
            {".beta2_pow_acc_0", true}};
}

namespace detail {

RESHARD_DECL state_suffix const* state_suffix_of(std::string_view key,
                                                 vector<state_suffix> const& suffixes) {
    for (state_suffix const& each : suffixes)
        if (each.prefix.empty() && key.size() > each.suffix.size() && key.ends_with(each.suffix))
            return &each;
    return nullptr;
}

RESHARD_DECL std::string_view parameter_of(std::string_view key,
                                           vector<state_suffix> const& suffixes) {
    state_suffix const* const state = state_suffix_of(key, suffixes);
    return state ? key.substr(0, key.size() - state->suffix.size()) : key;
}

RESHARD_DECL std::string key_of_state(std::string_view parameter, state_suffix const& state) {
    if (!parameter.starts_with(state.container) || parameter.size() == state.container.size())
        return {};
    parameter.remove_prefix(state.container.size());
    return state.prefix + std::string(parameter) + state.suffix;
}

} // namespace detail

} // namespace reshard::aoa

#endif
