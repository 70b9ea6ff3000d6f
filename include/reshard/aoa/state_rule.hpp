// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_STATE_RULE_HPP
#define RESHARD_AOA_STATE_RULE_HPP

#include <reshard/aoa/scope.hpp>
#include <reshard/expr/mapping.hpp>

#include <cstddef>
#include <optional>
#include <string>

/// \file
/// Optimizer state follows its parameter.

namespace reshard::aoa {

namespace detail {

/// The state of the parameter that a piece comes from, in the place of the parameter.
///
/// \throws error with errc::unknown_key when the source lacks it, errc::shape_mismatch when it has
///         another shape than the parameter
inline piece state_piece(source_names const& source, piece part, state_suffix const& state,
                         std::string const& key) {
    std::string const wanted(std::string(source.parameter(part.source)) + state.suffix);
    key_id const id = source.find(wanted);
    if (id == source_names::none)
        fail(errc::unknown_key,
             "'" + key + "' is made of '" + wanted + "', which the source does not have");
    catalog_entry const& parameter = source.entry(part.source);
    catalog_entry const& found = source.entry(id);
    if (!state.scalar && found.shape != parameter.shape)
        fail(errc::shape_mismatch, "'" + wanted + "' has the shape " + to_string(found.shape) +
                                       ", and its parameter has " + to_string(parameter.shape));
    part.source = id;
    part.stored = found.dtype;
    part.casts = {};
    return part;
}

} // namespace detail

/// The state `key` of a parameter that is `parameter`: the same boxes of the states of its sources,
/// in their own data type. A scalar state is that of the first source.
///
/// \throws     error with errc::unknown_key when a source has no such state, errc::shape_mismatch
///             when it has another shape than its parameter, or errc::dtype_mismatch when the
///             states of the sources differ in type
/// \pre        no piece of `parameter` is zeros
/// \par Source 4.8 of the description of AOA; there a parameter's cast is applied to its state too
inline expression state_of(source_names const& source, expression const& parameter,
                           state_suffix const& state, std::string const& key) {
    expression result{parameter.shape, parameter.dtype, piece_list(parameter.ndim())};
    std::optional<data_type> dtype;
    for (std::size_t i = 0; i < parameter.pieces.size(); ++i) {
        piece const part = detail::state_piece(source, parameter.pieces[i], state, key);
        catalog_entry const& entry = source.entry(part.source);
        if (state.scalar)
            return source_tensor(part.source, entry.shape, entry.dtype);
        if (dtype && *dtype != entry.dtype)
            fail(errc::dtype_mismatch, "'" + entry.key + "' is " +
                                           std::string(reshard::name(entry.dtype)) +
                                           ", and another state that makes up '" + key + "' is " +
                                           std::string(reshard::name(*dtype)));
        dtype = entry.dtype;
        result.pieces.push_back(part);
    }
    result.dtype = dtype.value_or(parameter.dtype);
    return result;
}

/// Whether each tensor that an expression is made of has that state; nothing where only some have
/// it.
inline std::optional<bool> has_state(source_names const& source, expression const& parameter,
                                     state_suffix const& state) {
    std::size_t with = 0;
    for (std::size_t i = 0; i < parameter.pieces.size(); ++i)
        with += source.find(std::string(source.parameter(parameter.pieces.source(i))) +
                            state.suffix) != source_names::none;
    if (with != 0 && with != parameter.pieces.size())
        return std::nullopt;
    return with != 0;
}

} // namespace reshard::aoa

#endif
