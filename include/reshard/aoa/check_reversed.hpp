// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_CHECK_REVERSED_HPP
#define RESHARD_AOA_CHECK_REVERSED_HPP

#include <reshard/aoa/reverse_options.hpp>

#include <string>
#include <utility>
#include <vector>

/// \file
/// What is still wrong with a program that has been reversed.

namespace reshard::aoa::detail {

/// The tensors of a mapping's target, each in one part.
inline catalog outputs_of(mapping const& map) {
    std::vector<catalog_entry> entries;
    entries.reserve(map.outputs().size());
    for (mapping_output const& one : map.outputs())
        entries.push_back(
            {one.key, one.value.dtype, one.value.shape, index_vector::filled(one.value.ndim(), 1)});
    return catalog(std::move(entries));
}

/// What lowering the reversed program has found: what is still wrong with it, states above all, is
/// an error.
inline void add_errors(reversal& result, std::vector<finding> findings) {
    for (finding& one : findings) {
        if (one.level != severity::error)
            continue;
        result.first_error = errc::not_invertible;
        one.code = reshard::name(errc::not_invertible);
        one.message = "the other way round, " + one.message;
        result.findings.push_back(std::move(one));
    }
}

} // namespace reshard::aoa::detail

#endif
