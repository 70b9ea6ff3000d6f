// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_CHECK_REVERSED_IPP
#define RESHARD_AOA_IMPL_CHECK_REVERSED_IPP

#include <reshard/aoa/check_reversed.hpp>

#include <utility>

namespace reshard::aoa::detail {

RESHARD_DECL catalog outputs_of(mapping const& map) {
    std::vector<catalog_entry> entries;
    entries.reserve(map.outputs().size());
    for (mapping_output const& one : map.outputs())
        entries.push_back(
            {one.key, one.value.dtype, one.value.shape, index_vector::filled(one.value.ndim(), 1)});
    return catalog(std::move(entries));
}

RESHARD_DECL void add_errors(reversal& result, std::vector<finding> findings) {
    for (finding& one : findings) {
        if (one.level != reshard::detail::severity::error)
            continue;
        result.first_error = errc::not_invertible;
        one.code = reshard::name(errc::not_invertible);
        one.message = "the other way round, " + one.message;
        result.findings.push_back(std::move(one));
    }
}

} // namespace reshard::aoa::detail

#endif
