// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_DIGEST_HPP
#define RESHARD_EXPR_DIGEST_HPP

#include <reshard/core/hasher.hpp>
#include <reshard/expr/mapping.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

/// \file
/// A number that stands for a mapping: ranks compare it before they act.

namespace reshard {

namespace detail {

/// Adds all that a piece says.
inline void add(hasher& digest, piece const& part) {
    digest.add(static_cast<std::uint64_t>(part.source));
    digest.add(static_cast<std::uint64_t>(part.stored));
    digest.add(axes_of(part.order, part.extent.size()));
    for (data_type const dtype : part.casts.steps())
        digest.add(static_cast<std::uint64_t>(dtype));
    digest.add(part.source_offset);
    digest.add(part.target_offset);
    digest.add(part.extent);
    digest.add(std::uint64_t{part.joins.source} << 8 | part.joins.target);
}

} // namespace detail

/// A digest of sources, outputs and removed keys, which are what is carried out; relations are not.
/// Equal mappings have equal digests on every machine.
inline std::uint64_t digest_of(mapping const& program) {
    hasher digest;
    for (mapping_source const& source : program.sources()) {
        digest.add(source.key);
        digest.add(static_cast<std::uint64_t>(source.dtype));
        digest.add(source.shape);
    }
    for (mapping_output const& output : program.outputs()) {
        digest.add(output.key);
        digest.add(static_cast<std::uint64_t>(output.value.dtype) * 2 + output.added);
        digest.add(output.value.shape);
        for (std::size_t i = 0; i < output.value.pieces.size(); ++i)
            detail::add(digest, output.value.pieces[i]);
    }
    for (std::string const& key : program.removed())
        digest.add(key);
    return digest.value();
}

} // namespace reshard

#endif
