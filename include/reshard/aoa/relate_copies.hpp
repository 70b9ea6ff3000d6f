// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_RELATE_COPIES_HPP
#define RESHARD_AOA_RELATE_COPIES_HPP

#include <reshard/aoa/lower_context.hpp>

#include <map>

/// \file
/// Tied weights: outputs that are one tensor under several names.

namespace reshard::aoa::detail {

/// Relates each output that is another one's tensor, whole and unchanged, to the first of that
/// value: `w -> a` and `w -> b` make `b` an alias of `a`.
///
/// \par Source in the original, each copy is a tensor of its own, and so is its state
inline void relate_copies(lower_context& context) {
    std::map<value_identity, mapping_output const*> first;
    for (mapping_output const& output : context.result.map.outputs()) {
        auto const value = context.names.identity(output.key);
        if (!value)
            continue;
        auto const [place, is_first] = first.emplace(*value, &output);
        if (!is_first && place->second->value.dtype == output.value.dtype)
            context.result.map.relate({relation::kind::alias, place->second->key, output.key});
    }
}

} // namespace reshard::aoa::detail

#endif
