// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_OPTIMIZER_STATE_HPP
#define RESHARD_MODEL_OPTIMIZER_STATE_HPP

#include <reshard/core/config.hpp>
#include <reshard/layout/sharding.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Optimizer state: moments, master weights and scalars, which lie as their parameters do.

namespace reshard::model {

/// What an optimizer keeps for each parameter.
struct state_kind {
    std::string prefix = {}; ///< of the key, before the parameter's
    std::string suffix = {};
    data_type dtype = data_type::f32;
    bool is_master = false; ///< only where the parameter has another data type
    std::optional<index_vector> scalar_shape = {}; ///< one number, in this shape
};

/// What Adam keeps in PaddlePaddle: `w.w_0`, the master weight, `w.moment1_0` and others.
RESHARD_DECL std::vector<state_kind> paddle_states();

/// What Megatron-Core's distributed optimizer keeps: `optimizer.state.exp_avg.w` and others.
RESHARD_DECL std::vector<state_kind> megatron_states();

/// What Adam keeps in PyTorch, with flattened keys: `state.w.exp_avg` and others.
RESHARD_DECL std::vector<state_kind> torch_states();

/// The key of that state of a parameter.
inline std::string key_of(state_kind const& kind, std::string_view parameter) {
    return kind.prefix + std::string(parameter) + kind.suffix;
}

/// Whether an optimizer keeps that for parameters of a data type.
constexpr bool is_kept_for(state_kind const& kind, data_type parameter) {
    return !kind.is_master || kind.dtype != parameter;
}

/// The state that an optimizer keeps for a parameter; what has its shape lies as `parameter` says,
/// what is a number on every rank that may have some of it.
///
/// For ZeRO, `parameter` is what `shard_buffers`, `shard_slices` or `shard_whole` make of it.
RESHARD_DECL std::vector<tensor_sharding> states_of(tensor_sharding const& parameter,
                                                    std::vector<state_kind> const& kinds);

/// The state of all parameters, in their order.
RESHARD_DECL std::vector<tensor_sharding> states_of(std::vector<tensor_sharding> const& parameters,
                                                    std::vector<state_kind> const& kinds);

} // namespace reshard::model

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/model/impl/optimizer_state.ipp>
#endif

#endif
