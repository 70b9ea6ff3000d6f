// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TENSOR_IMPL_TENSOR_FACTORY_IPP
#define RESHARD_TENSOR_IMPL_TENSOR_FACTORY_IPP

#include <reshard/tensor/tensor_factory.hpp>

namespace reshard {

RESHARD_DECL detail::built_shards build(deferred_tensor const& deferred) {
    if (!deferred.factory.build)
        fail(errc::usage, "'", deferred.key, "': a tensor of shape ", deferred.tensor.shape,
             " has a factory without a build function");
    return deferred.factory.build(deferred.key, deferred.tensor);
}

namespace detail {

RESHARD_DECL void merge(deferred_tensor const& deferred, built_shards const& loaded) {
    if (deferred.factory.merge)
        deferred.factory.merge(loaded, deferred.tensor);
}

} // namespace detail

} // namespace reshard

#endif
