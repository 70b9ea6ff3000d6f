// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_FORMAT_NAMES_IMPL_MASTER_WEIGHTS_IPP
#define RESHARD_FORMAT_NAMES_IMPL_MASTER_WEIGHTS_IPP

#include <reshard/format/names/variable_names.hpp>

#include <reshard/expr/cast.hpp>
#include <reshard/format/paddle/unified.hpp>

namespace reshard::detail {

/// The master weight that is cast to a wanted weight, or null.
inline catalog_entry const* stand_in_of_weight(catalog_entry const& wanted, catalog const& stored) {
    catalog_entry const* const master =
        stored.find(key_in_part(unified_part::master_weights, wanted.key));
    catalog_entry const* const weight = stored.find(wanted.key);
    bool const is_missing =
        master && (!weight || (weight->dtype == master->dtype && weight->dtype != wanted.dtype));
    return is_missing ? master : nullptr;
}

/// The weight that is cast to a wanted master weight, or null.
inline catalog_entry const* stand_in_of_master(catalog_entry const& wanted, catalog const& stored) {
    if (stored.find(wanted.key) || !wanted.key.ends_with(master_key_suffix_of_paddle))
        return nullptr;
    return stored.find(std::string_view(wanted.key)
                           .substr(0, wanted.key.size() - master_key_suffix_of_paddle.size()));
}

} // namespace reshard::detail

namespace reshard::model {

RESHARD_DECL vector<renamed_key> define_masters(mapping& program, catalog const& wanted,
                                                catalog const& stored, master_rule rule) {
    vector<renamed_key> keys;
    for (catalog_entry const& entry : wanted) {
        catalog_entry const* of = nullptr;
        if (rule.weights_of_masters)
            of = detail::stand_in_of_weight(entry, stored);
        if (!of && rule.masters_of_weights)
            of = detail::stand_in_of_master(entry, stored);
        if (!of)
            continue;
        program.define(entry.key, cast(program.source(of->key, of->shape, of->dtype), entry.dtype));
        keys.push_back({entry.key, of->key});
    }
    return keys;
}

} // namespace reshard::model

#endif
