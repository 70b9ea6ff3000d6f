// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_SOURCE_NAMES_HPP
#define RESHARD_AOA_SOURCE_NAMES_HPP

#include <reshard/aoa/ast.hpp>
#include <reshard/aoa/state_suffix.hpp>
#include <reshard/core/config.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/expr/piece.hpp>
#include <reshard/layout/catalog.hpp>

#include <deque>
#include <string>
#include <string_view>

/// \file
/// Finds the source tensor that a name means.

namespace reshard::aoa::detail {

/// `suffixes`, and the kinds of state that the keys of the two catalogs show by convention, for
/// parameters that the catalogs have.
///
/// A tensor whose shape is not its parameter's, and that has several elements, is not counted as
/// state.
RESHARD_DECL vector<state_suffix> with_conventions(vector<state_suffix> suffixes,
                                                   catalog const& source, catalog const* target);

/// The tensors of a source by name, including parameters that are known only by their optimizer
/// state.
class source_names {
public:
    source_names(catalog const& source, vector<state_suffix> const& suffixes)
        : source_(source),
          suffixes_(suffixes),
          first_stand_in_(static_cast<key_id>(source.size())) {}

    static constexpr key_id none = zero_source;

    /// The number of a key, or `none`.
    key_id find(std::string_view key) const {
        auto const key_at = [this](key_id id) { return std::string_view(source_[id].key); };
        for (; noted_ < source_.size(); ++noted_)
            keys_.append(source_[noted_].key, noted_);
        return keys_.find(key, key_at).value_or(none);
    }

    /// The tensor for a name in a statement: the tensor with this key or, if the source has only
    /// its state, a substitute for it.
    key_id find_parameter(std::string_view key) const {
        if (key_id const id = find(key); id != none)
            return id;
        for (state_suffix const& each_suffix : suffixes_)
            if (each_suffix.is_identical() && each_suffix.container.empty())
                if (key_id const id = find(key_of_state(key, each_suffix));
                    id != none && !is_state(source_[id].key))
                    return id + first_stand_in_;
        return none;
    }

    /// The state of a kind that a parameter has, in any spelling of the state's key, or `none`.
    key_id find_state(std::string_view parameter, state_suffix const& state) const {
        for (state_suffix const& each_suffix : suffixes_)
            if (each_suffix.suffix == state.suffix && each_suffix.prefix == state.prefix)
                if (key_id const id = find(key_of_state(parameter, each_suffix)); id != none)
                    return id;
        return find(key_of_state(parameter, state));
    }

    /// The key of a state. If the state is missing, the key that it would have.
    std::string state_key(std::string_view parameter, state_suffix const& state) const {
        key_id const id = find_state(parameter, state);
        return id != none ? source_[id].key : key_of_state(parameter, state);
    }

    /// Whether a number is a substitute for a parameter of which the source has only the state.
    bool is_stand_in(key_id id) const { return id != none && id >= first_stand_in_; }

    /// The tensor with a number. For a substitute, the state that determines its shape.
    catalog_entry const& entry(key_id id) const {
        key_id const stored = is_stand_in(id) ? id - first_stand_in_ : id;
        return stored < source_.size() ? source_[stored] : computed_[stored - source_.size()];
    }

    /// Keeps the numbers after the source's for `tensors` tensors that the program quantizes.
    ///
    /// \pre no name has been searched
    void expect_computed(std::size_t tensors) { first_stand_in_ += static_cast<key_id>(tensors); }

    /// Adds a tensor that the program quantizes. It gets the next number after the source's.
    void add_computed(mapping_source const& tensor) {
        computed_.push_back({std::string(tensor.key), tensor.dtype, tensor.shape,
                             index_vector::filled(tensor.shape.size(), 1)});
    }

    /// The key of the parameter with a number.
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

    /// The parameter in the source whose state a key is, by the user's rules. No statement may name
    /// such a state. Empty for other keys.
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
    key_id first_stand_in_; ///< substitutes have the numbers of their states, counted from here
    std::deque<catalog_entry> computed_; ///< references stay valid
    mutable key_index keys_;             ///< filled by the first search
    mutable key_id noted_ = 0;           ///< number of its keys
};

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/state_conventions.ipp>
#endif

#endif
