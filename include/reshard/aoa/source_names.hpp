// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_SOURCE_NAMES_HPP
#define RESHARD_AOA_SOURCE_NAMES_HPP

#include <reshard/aoa/ast.hpp>
#include <reshard/aoa/state_suffix.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/expr/piece.hpp>
#include <reshard/layout/catalog.hpp>

#include <string>
#include <string_view>
#include <vector>

/// \file
/// Which tensor of a source a name means.

namespace reshard::aoa::detail {

/// The tensors of a source by name, with those that are known by their optimizer state alone.
class source_names {
public:
    source_names(catalog const& source, std::vector<state_suffix> const& suffixes)
        : source_(source), suffixes_(suffixes) {}

    static constexpr key_id none = zero_source;

    /// The number of a key, or `none`.
    key_id find(std::string_view key) const {
        auto const key_at = [this](key_id id) { return std::string_view(source_[id].key); };
        for (; noted_ < source_.size(); ++noted_)
            keys_.append(source_[noted_].key, noted_);
        return keys_.find(key, key_at).value_or(none);
    }

    /// The tensor that a statement means by a name: the key itself or, where the source has only
    /// its state, a stand-in for it.
    key_id find_parameter(std::string_view key) const {
        if (key_id const id = find(key); id != none)
            return id;
        for (state_suffix const& each_suffix : suffixes_)
            if (each_suffix.is_alike())
                if (key_id const id = find(std::string(key) + each_suffix.suffix); id != none)
                    return id + static_cast<key_id>(source_.size());
        return none;
    }

    /// Whether a number stands for a parameter of which the source has only the state.
    bool is_stand_in(key_id id) const { return id != none && id >= source_.size(); }

    /// The tensor of a number; of a stand-in, the state that gives it its shape.
    catalog_entry const& entry(key_id id) const {
        return source_[is_stand_in(id) ? id - source_.size() : id];
    }

    /// The key of the parameter that a number means.
    std::string_view parameter(key_id id) const {
        std::string_view const key = entry(id).key;
        return is_stand_in(id) ? parameter_of(key, suffixes_) : key;
    }

    /// Whether a key is the state of a parameter that the source has as well.
    bool is_state(std::string_view key) const {
        std::string_view const parameter = parameter_of(key, suffixes_);
        return parameter.size() < key.size() && find(parameter) != none;
    }

    catalog const& tensors() const { return source_; }
    std::vector<state_suffix> const& suffixes() const { return suffixes_; }

private:
    catalog const& source_;
    std::vector<state_suffix> const& suffixes_;
    mutable key_index keys_;   ///< made when the first key is looked for
    mutable key_id noted_ = 0; ///< how many keys it has
};

} // namespace reshard::aoa::detail

#endif
