// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_SOURCE_NAMES_IPP
#define RESHARD_AOA_IMPL_SOURCE_NAMES_IPP

#include <reshard/aoa/source_names.hpp>

#include <reshard/core/config.hpp>

#include <string>

namespace reshard::aoa::detail {

RESHARD_DECL key_id source_names::find(std::string_view key) const {
    auto const key_at = [this](key_id id) { return std::string_view(source_[id].key); };
    for (; noted_ < source_.size(); ++noted_)
        keys_.append(source_[noted_].key, noted_);
    return keys_.find(key, key_at).value_or(none);
}

RESHARD_DECL key_id source_names::find_parameter(std::string_view key) const {
    if (key_id const id = find(key); id != none)
        return id;
    for (state_suffix const& each_suffix : suffixes_)
        if (each_suffix.is_alike())
            if (key_id const id = find(std::string(key) + each_suffix.suffix); id != none)
                return id + static_cast<key_id>(source_.size());
    return none;
}

RESHARD_DECL bool source_names::is_stand_in(key_id id) const {
    return id != none && id >= source_.size();
}

RESHARD_DECL catalog_entry const& source_names::entry(key_id id) const {
    return source_[is_stand_in(id) ? id - source_.size() : id];
}

RESHARD_DECL std::string_view source_names::parameter(key_id id) const {
    std::string_view const key = entry(id).key;
    return is_stand_in(id) ? parameter_of(key, suffixes_) : key;
}

RESHARD_DECL bool source_names::is_state(std::string_view key) const {
    std::string_view const parameter = parameter_of(key, suffixes_);
    return parameter.size() < key.size() && find(parameter) != none;
}

} // namespace reshard::aoa::detail

#endif
