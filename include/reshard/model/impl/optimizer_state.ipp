// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_IMPL_OPTIMIZER_STATE_IPP
#define RESHARD_MODEL_IMPL_OPTIMIZER_STATE_IPP

#include <reshard/model/optimizer_state.hpp>

#include <reshard/expr/cast.hpp>
#include <reshard/layout/equal_shares.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace reshard::model {

RESHARD_DECL vector<state_kind> paddle_states() {
    return {{.suffix = ".w_0", .is_master = true},
            {.suffix = ".moment1_0"},
            {.suffix = ".moment2_0"},
            {.suffix = ".beta1_pow_acc_0", .scalar_shape = index_vector{1}},
            {.suffix = ".beta2_pow_acc_0", .scalar_shape = index_vector{1}}};
}

RESHARD_DECL vector<state_kind> megatron_states() {
    return {{.prefix = "optimizer.state.fp32_param.", .is_master = true},
            {.prefix = "optimizer.state.exp_avg."},
            {.prefix = "optimizer.state.exp_avg_sq."}};
}

RESHARD_DECL vector<state_kind> torch_states() {
    return {{.prefix = "state.", .suffix = ".exp_avg"},
            {.prefix = "state.", .suffix = ".exp_avg_sq"},
            {.prefix = "state.", .suffix = ".step", .scalar_shape = index_vector{}}};
}

} // namespace reshard::model

namespace reshard::detail {

/// The distribution of a scalar that belongs to a tensor: the scalar is on the stages, experts and
/// owners that hold elements of the tensor.
///
/// Axes that cut the tensor replicate the scalar; tensor-parallel axes always do.
inline distribution scalar_of(distribution const& distribution, index_vector const& shape,
                              std::string_view key) {
    vector<placement> placements = distribution.placements();
    for (std::size_t i = 0; i < placements.size(); ++i) {
        std::string_view const name = distribution.ranks().all_axes[i].name();
        if (placements[i].cuts() || name == "tp" || name == "etp")
            placements[i] = replicate{};
    }
    return {distribution.ranks(), std::move(placements), shape, key};
}

/// A scalar that belongs to a tensor: one part, and its copies on other stages.
inline tensor_sharding scalar_of(tensor_sharding const& tensor, std::string key,
                                 index_vector const& shape) {
    tensor_sharding scalar{std::move(key), data_type::f32, shape, {}};
    for (sharding_part const& segment : tensor.parts) {
        sharding_part sharding_part{index_vector::filled(shape.size(), 0),
                                    scalar_of(segment.spread, shape, scalar.key), std::nullopt,
                                    !scalar.parts.empty()};
        if (scalar.parts.empty() || scalar.parts.back().spread != sharding_part.spread)
            scalar.parts.push_back(std::move(sharding_part));
    }
    return scalar;
}

/// The name of the requested state in a message.
RESHARD_DECL std::string parameter_search::who() const {
    return words("the state '", key_of(kind_, "*"), "'");
}

RESHARD_DECL void parameter_search::look_at(shard_descriptor const& parameter,
                                            const_tensor_view const& elements) {
    address_range const range = addresses(elements);
    auto const address = reinterpret_cast<std::uintptr_t>(address_);
    if (elements.data == address_)
        (range.empty() ? empty_ : found_).push_back(&parameter);
    else if (range.begin < address && address < range.end)
        around_ = &parameter;
}

RESHARD_DECL shard_descriptor const& parameter_search::only_one() const {
    auto const& match = found_.empty() ? empty_ : found_;
    if (address_ == nullptr)
        fail(errc::unknown_key, who(),
             " belongs to a parameter at a null address: a shard without elements has no memory; "
             "omit its state");
    if (match.empty())
        fail(errc::unknown_key, who(), ": no parameter begins at the given address",
             around_ ? words(", which is inside '", around_->key, "'") : std::string(),
             "; pass the parameter's own address, not the address of a copy or a slice");
    if (match.size() > 1)
        fail(
            errc::memory_overlap, who(), ": '", match[0]->key, "' and '", match[1]->key,
            "' both begin at the given address; pass tied parameters once, under the name to save");
    return *match[0];
}

RESHARD_DECL shard_descriptor parameter_search::state() const {
    shard_descriptor state = only_one();
    state.key = key_of(kind_, state.key);
    state.dtype = kind_.dtype;
    if (kind_.scalar_shape)
        return replicated(state.key, state.dtype, *kind_.scalar_shape);
    return state;
}

} // namespace reshard::detail

namespace reshard::model {

RESHARD_DECL vector<tensor_sharding> states_of(tensor_sharding const& parameter,
                                               vector<state_kind> const& kinds) {
    vector<tensor_sharding> states;
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

RESHARD_DECL vector<tensor_sharding> states_of(vector<tensor_sharding> const& parameters,
                                               vector<state_kind> const& kinds) {
    vector<tensor_sharding> states;
    for (tensor_sharding const& parameter : parameters)
        for (tensor_sharding& state : states_of(parameter, kinds))
            states.push_back(std::move(state));
    return states;
}

RESHARD_DECL mapping before_first_step(vector<tensor_sharding> const& parameters,
                                       vector<state_kind> const& kinds) {
    mapping program;
    for (tensor_sharding const& parameter : parameters) {
        expression const value = program.source(parameter.key, parameter.shape, parameter.dtype);
        for (state_kind const& kind : kinds) {
            if (!is_kept_for(kind, parameter.dtype))
                continue;
            std::string const key = key_of(kind, parameter.key);
            if (kind.scalar_shape)
                program.add(key, *kind.scalar_shape, kind.dtype);
            else
                program.define(key, kind.is_master ? cast(value, kind.dtype)
                                                   : zeros(parameter.shape, kind.dtype));
        }
    }
    return program;
}

} // namespace reshard::model

#endif
