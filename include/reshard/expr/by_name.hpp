// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_BY_NAME_HPP
#define RESHARD_EXPR_BY_NAME_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/key_index.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/compact_layout.hpp>

#include <string>

/// \file
/// The default program: every target tensor is the source tensor of the same name.

namespace reshard::detail {

/// `wanted by rank 2`, for the first rank that has a shard of the tensor.
RESHARD_DECL std::string wanted_by_rank(tensor_shards const& shards);

/// The mapping in which every key that the ranks of `target` hold is the source tensor of that
/// name.
///
/// \tparam Layout `layout` or `compact_layout`
/// \throws error with errc::unknown_key when `source` does not have a key, naming a rank that wants
///         it
template <class Layout>
mapping by_name(catalog const& source, Layout const& target) {
    for (auto const& tensor : target.tensors)
        if (!source.find(tensor.key))
            fail(errc::unknown_key, "'" + tensor.key + "' is " +
                                        wanted_by_rank(held_in(target, tensor).shards) +
                                        ", but the source does not have it" +
                                        did_you_mean_key(tensor.key, source, &catalog_entry::key));
    catalog const wanted = catalog_of(target);
    return identity_mapping(source, &wanted);
}

} // namespace reshard::detail

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/expr/impl/by_name.ipp>
#endif

#endif
