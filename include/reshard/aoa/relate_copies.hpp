// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_RELATE_COPIES_HPP
#define RESHARD_AOA_RELATE_COPIES_HPP

#include <reshard/aoa/lower_context.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstdint>
#include <string>

/// \file
/// Tied weights: outputs that are one tensor under several names.

namespace reshard::aoa::detail {

/// The value that an output's name has in the end, or `binding::none` where the program does not say
/// it.
inline std::uint32_t final_value(scope const& names, std::string const& key) {
    binding const* const bound = names.find(key);
    if (!bound || bound->is_spoilt)
        return binding::none;
    return bound->value != binding::none ? bound->value : bound->source_value;
}

/// Relates each output that is another one's tensor, whole and unchanged, to the first of that
/// value: `w -> a` and `w -> b` make `b` an alias of `a`.
///
/// \par Source in the original, each copy is a tensor of its own, and so is its state
inline void relate_copies(lower_context& context) {
    boost::unordered_flat_map<std::uint32_t, mapping_output const*> first;
    for (mapping_output const& output : context.result.map.outputs()) {
        std::uint32_t const value = final_value(context.names, output.key);
        if (value == binding::none)
            continue;
        auto const [place, is_first] = first.emplace(value, &output);
        if (!is_first && place->second->value.dtype == output.value.dtype)
            context.result.map.relate({relation::kind::alias, place->second->key, output.key});
    }
}

} // namespace reshard::aoa::detail

#endif
