// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_BY_NAME_IPP
#define RESHARD_EXPR_IMPL_BY_NAME_IPP

#include <reshard/expr/by_name.hpp>

#include <reshard/core/key_index.hpp>

namespace reshard::detail {

RESHARD_DECL std::string wanted_by_rank(tensor_shards const& shards) {
    return shards.size() == 0 ? std::string("wanted")
                              : "wanted by rank " + std::to_string(shards.holder(0));
}

RESHARD_DECL mapping by_name(catalog const& source, layout const& target) {
    for (tensor_layout const& tensor : target.tensors)
        if (!source.find(tensor.key))
            fail(errc::unknown_key, "'" + tensor.key + "' is " +
                                        wanted_by_rank(target.shards_of(tensor)) +
                                        ", but the source does not have it" +
                                        did_you_mean_key(tensor.key, source, &catalog_entry::key));
    catalog const wanted = catalog_of(target);
    return identity_mapping(source, &wanted);
}

} // namespace reshard::detail

#endif
