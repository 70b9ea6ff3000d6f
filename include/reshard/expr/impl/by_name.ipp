// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_BY_NAME_IPP
#define RESHARD_EXPR_IMPL_BY_NAME_IPP

#include <reshard/expr/by_name.hpp>

namespace reshard::detail {

RESHARD_DECL std::string wanted_by_rank(tensor_shards const& shards) {
    return shards.size() == 0 ? std::string("wanted")
                              : "wanted by rank " + std::to_string(shards.holder(0));
}

} // namespace reshard::detail

#endif
