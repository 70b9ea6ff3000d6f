// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_TENSOR_TENSOR_FACTORY_HPP
#define RESHARD_TENSOR_TENSOR_FACTORY_HPP

#include <reshard/core/config.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <functional>
#include <memory>
#include <string>

/// \file
/// Tensors that are converted to others when saved, and rebuilt from them when loaded.

namespace reshard {

namespace detail {

/// What a factory made of a tensor: shards, and the memory of those that are no part of it.
struct built_shards {
    state_dict shards;
    std::shared_ptr<void> memory = {}; ///< nothing where all shards lie in the tensor itself
};

/// Two functions that are inverse to one another.
///
/// `build(key, tensor)` gives what a checkpoint has of the tensor, at a save with its elements, at
/// a load as the place that they are read into; `merge(built, tensor)` then fills the tensor from
/// what was read. Shards that are views of the tensor's own memory, such as the halves of a fused
/// weight, need no `merge`.
///
/// Neither knows a name but `key`, so that one factory serves a weight and its optimizer state.
///
/// \pre        neither communicates; `build` gives the same descriptors at a save and at a load
/// \par Source `ShardedTensorFactory` of Megatron-Core
struct tensor_factory {
    std::function<built_shards(std::string const& key, tensor_view const& tensor)> build;
    std::function<void(built_shards const& built, tensor_view const& tensor)> merge = {};
};

} // namespace detail

/// A tensor and its factory: nothing is built before it is saved or loaded.
struct deferred_tensor {
    std::string key;
    tensor_view tensor;
    detail::tensor_factory factory;
};

/// What a factory makes of its tensor now.
///
/// \throws error with errc::usage for a factory without `build`, and what `build` throws
RESHARD_DECL detail::built_shards build(deferred_tensor const& deferred);

namespace detail {

/// Fills the tensor from what was built and then loaded.
///
/// \throws error what the factory's `merge` throws
RESHARD_DECL void merge(deferred_tensor const& deferred, built_shards const& loaded);

} // namespace detail

} // namespace reshard

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/tensor/impl/tensor_factory.ipp>
#endif

#endif
