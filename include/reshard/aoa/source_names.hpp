// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_SOURCE_NAMES_HPP
#define RESHARD_AOA_SOURCE_NAMES_HPP

#include <reshard/aoa/state_suffix.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/expr/piece.hpp>
#include <reshard/layout/catalog.hpp>

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
    key_id find(std::string_view key) const;

    /// The tensor that a statement means by a name: the key itself or, where the source has only
    /// its state, a stand-in for it.
    key_id find_parameter(std::string_view key) const;

    /// Whether a number stands for a parameter of which the source has only the state.
    bool is_stand_in(key_id id) const;

    /// The tensor of a number; of a stand-in, the state that gives it its shape.
    catalog_entry const& entry(key_id id) const;

    /// The key of the parameter that a number means.
    std::string_view parameter(key_id id) const;

    /// Whether a key is the state of a parameter that the source has as well.
    bool is_state(std::string_view key) const;

    catalog const& tensors() const { return source_; }
    std::vector<state_suffix> const& suffixes() const { return suffixes_; }

private:
    catalog const& source_;
    std::vector<state_suffix> const& suffixes_;
    mutable key_index keys_;   ///< made when the first key is looked for
    mutable key_id noted_ = 0; ///< how many keys it has
};

} // namespace reshard::aoa::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/aoa/impl/source_names.ipp>
#endif

#endif
