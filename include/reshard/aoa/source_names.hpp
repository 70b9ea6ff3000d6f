// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_SOURCE_NAMES_HPP
#define RESHARD_AOA_SOURCE_NAMES_HPP

#include <reshard/aoa/ast.hpp>
#include <reshard/aoa/state_suffix.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/piece.hpp>
#include <reshard/layout/catalog.hpp>

#include <string>
#include <string_view>

/// \file
/// Which tensor of a source a name means.

namespace reshard::aoa::detail {

/// The kinds of state, and the kinds that keys of the two catalogs follow by a convention, for
/// parameters that the catalogs have.
///
/// State that has neither the shape of its parameter nor one element follows nothing.
RESHARD_DECL vector<state_suffix> with_conventions(vector<state_suffix> suffixes,
                                                   catalog const& source, catalog const* target);

/// The tensors of a source by name, including tensors that are known only by their optimizer state.
class source_names {
public:
    source_names(catalog const& source, vector<state_suffix> const& suffixes)
        : source_(source), suffixes_(suffixes) {}

    static constexpr key_id none = zero_source;

    /// The number of a key, or `none`.
    key_id find(std::string_view key) const {
        auto const key_at = [this](key_id id) { return std::string_view(source_[id].key); };
        for (; noted_ < source_.size(); ++noted_)
            keys_.append(source_[noted_].key, noted_);
        return keys_.find(key, key_at).value_or(none);
    }

    /// The tensor that a statement means by a name: the key itself or, if the source has only its
    /// state, a substitute for it.
    key_id find_parameter(std::string_view key) const {
        if (key_id const id = find(key); id != none)
            return id;
        for (state_suffix const& each_suffix : suffixes_)
            if (each_suffix.is_identical() && each_suffix.container.empty())
                if (key_id const id = find(key_of_state(key, each_suffix));
                    id != none && !is_state(source_[id].key))
                    return id + static_cast<key_id>(source_.size());
        return none;
    }

    /// The state of that kind that a parameter has, in any spelling of its key, or `none`.
    key_id find_state(std::string_view parameter, state_suffix const& state) const {
        for (state_suffix const& each_suffix : suffixes_)
            if (each_suffix.suffix == state.suffix && each_suffix.prefix == state.prefix)
                if (key_id const id = find(key_of_state(parameter, each_suffix)); id != none)
                    return id;
        return find(key_of_state(parameter, state));
    }

    /// The key of a state; if the state is missing, the key that it would have.
    std::string state_key(std::string_view parameter, state_suffix const& state) const {
        key_id const id = find_state(parameter, state);
        return id != none ? source_[id].key : key_of_state(parameter, state);
    }

    /// Whether a number belongs to a parameter if the source has only its state.
    bool is_stand_in(key_id id) const { return id != none && id >= source_.size(); }

    /// The tensor of a number; for a substitute, the state that gives it its shape.
    catalog_entry const& entry(key_id id) const {
        return source_[is_stand_in(id) ? id - source_.size() : id];
    }

    /// The key of the parameter that a number means.
    std::string_view parameter(key_id id) const {
        std::string_view key = entry(id).key;
        if (is_stand_in(id))
            any_parameter(key, suffixes_, [&](std::string_view inside, state_suffix const& state) {
                bool const is_meant = state.container.empty() && state.is_identical();
                if (is_meant) // a part of `key`
                    key = inside;
                return is_meant;
            });
        return key;
    }

    /// Whether a key is the state of a parameter that the source also has.
    bool is_state(std::string_view key) const {
        return any_parameter(key, suffixes_, [&](std::string_view parameter, state_suffix const&) {
            return find(parameter) != none;
        });
    }

    /// The parameter of the source whose state a key is, by rules that users gave: no statement may
    /// name such state. Empty for other keys.
    std::string stated_parameter(std::string_view key) const {
        std::string match;
        any_parameter(key, suffixes_, [&](std::string_view parameter, state_suffix const& state) {
            bool const is_stated = !state.is_found && find(parameter) != none;
            if (is_stated)
                match = parameter;
            return is_stated;
        });
        return match;
    }

    catalog const& tensors() const { return source_; }
    vector<state_suffix> const& suffixes() const { return suffixes_; }

private:
    catalog const& source_;
    vector<state_suffix> const& suffixes_;
    mutable key_index keys_;   ///< filled when the first key is looked up
    mutable key_id noted_ = 0; ///< how many keys it has
};

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/state_conventions.ipp>
#endif

#endif
