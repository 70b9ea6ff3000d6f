// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_IMPL_OPTIMIZER_STATE_IPP
#define RESHARD_MODEL_IMPL_OPTIMIZER_STATE_IPP

#include <reshard/model/optimizer_state.hpp>

#include <cstddef>
#include <utility>

namespace reshard::model {

RESHARD_DECL std::vector<state_kind> paddle_states() {
    return {{.suffix = ".w_0", .is_master = true},
            {.suffix = ".moment1_0"},
            {.suffix = ".moment2_0"},
            {.suffix = ".beta1_pow_acc_0", .scalar_shape = index_vector{1}},
            {.suffix = ".beta2_pow_acc_0", .scalar_shape = index_vector{1}}};
}

RESHARD_DECL std::vector<state_kind> megatron_states() {
    return {{.prefix = "optimizer.state.fp32_param.", .is_master = true},
            {.prefix = "optimizer.state.exp_avg."},
            {.prefix = "optimizer.state.exp_avg_sq."}};
}

RESHARD_DECL std::vector<state_kind> torch_states() {
    return {{.prefix = "state.", .suffix = ".exp_avg"},
            {.prefix = "state.", .suffix = ".exp_avg_sq"},
            {.prefix = "state.", .suffix = ".step", .scalar_shape = index_vector{}}};
}

} // namespace reshard::model

namespace reshard::detail {

/// Where a number lies that belongs to a tensor: on the stages, experts and owners that have some
/// of it.
///
/// Axes that cut the tensor, tensor-parallel ones in whatever way, replicate.
inline distribution scalar_of(distribution const& how, index_vector const& shape,
                              std::string_view key) {
    std::vector<placement> placements = how.placements();
    for (std::size_t i = 0; i < placements.size(); ++i) {
        std::string_view const name = how.ranks().all_axes[i].name();
        if (placements[i].cuts() || name == "tp" || name == "etp")
            placements[i] = replicate{};
    }
    return {how.ranks(), std::move(placements), shape, key};
}

/// A scalar that belongs to a tensor: one part, and its copies on other stages.
inline tensor_sharding scalar_of(tensor_sharding const& tensor, std::string key,
                                 index_vector const& shape) {
    tensor_sharding scalar{std::move(key), data_type::f32, shape, {}};
    for (sharding_part const& segment : tensor.parts) {
        sharding_part made{index_vector::filled(shape.size(), 0),
                           scalar_of(segment.how, shape, scalar.key), std::nullopt,
                           !scalar.parts.empty()};
        if (scalar.parts.empty() || scalar.parts.back().how != made.how)
            scalar.parts.push_back(std::move(made));
    }
    return scalar;
}

} // namespace reshard::detail

namespace reshard::model {

RESHARD_DECL std::vector<tensor_sharding> states_of(tensor_sharding const& parameter,
                                                    std::vector<state_kind> const& kinds) {
    std::vector<tensor_sharding> states;
    for (state_kind const& kind : kinds) {
        if (!is_kept_for(kind, parameter.dtype))
            continue;
        std::string key = key_of(kind, parameter.key);
        tensor_sharding state =
            kind.scalar_shape ? detail::scalar_of(parameter, key, *kind.scalar_shape) : parameter;
        state.key = std::move(key);
        state.dtype = kind.dtype;
        states.push_back(std::move(state));
    }
    return states;
}

RESHARD_DECL std::vector<tensor_sharding> states_of(std::vector<tensor_sharding> const& parameters,
                                                    std::vector<state_kind> const& kinds) {
    std::vector<tensor_sharding> states;
    for (tensor_sharding const& parameter : parameters)
        for (tensor_sharding& state : states_of(parameter, kinds))
            states.push_back(std::move(state));
    return states;
}

} // namespace reshard::model

#endif
