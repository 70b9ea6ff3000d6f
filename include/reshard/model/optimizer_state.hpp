// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_OPTIMIZER_STATE_HPP
#define RESHARD_MODEL_OPTIMIZER_STATE_HPP

#include <reshard/core/config.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/sharding.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Optimizer state: moments, master weights and scalars, which lie as their parameters do.

namespace reshard::model {

/// A state that an optimizer keeps for each parameter.
struct state_kind {
    std::string prefix = {}; ///< of the key, before the parameter's
    std::string suffix = {};
    data_type dtype = data_type::f32;
    bool is_master = false;                        ///< only if the parameter has another data type
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

/// The state that an optimizer keeps for a parameter; state of its shape has the layout of
/// `parameter`, a number is on every rank that may have some of it.
///
/// For ZeRO, `parameter` is what `shard_buffers`, `shard_slices` or `shard_whole` make of it.
RESHARD_DECL std::vector<tensor_sharding> states_of(tensor_sharding const& parameter,
                                                    std::vector<state_kind> const& kinds);

/// The state of all parameters, in their order.
RESHARD_DECL std::vector<tensor_sharding> states_of(std::vector<tensor_sharding> const& parameters,
                                                    std::vector<state_kind> const& kinds);

} // namespace reshard::model

namespace reshard::detail {

/// Looks for the parameter whose elements begin at an address.
class parameter_search {
public:
    /// \pre `kind` outlives this, as do the shards that are looked at
    parameter_search(void const* address, model::state_kind const& kind)
        : address_(address), kind_(kind) {}

    RESHARD_DECL void look_at(shard_descriptor const& parameter, const_tensor_view const& elements);

    /// The state of the one that was found.
    ///
    /// \throws error with errc::unknown_key if there is none, errc::memory_overlap for several
    RESHARD_DECL shard_descriptor state() const;

private:
    std::string who() const;
    shard_descriptor const& only_one() const;

    void const* address_;
    model::state_kind const& kind_;
    std::vector<shard_descriptor const*> found_;
    std::vector<shard_descriptor const*> empty_;
    shard_descriptor const* around_ = nullptr; ///< has the address, but does not begin there
};

} // namespace reshard::detail

namespace reshard::model {

/// This rank's shard of a state, from its shard of the parameter whose elements begin at `address`:
/// the same part of a tensor of the same shape, or all of a scalar. So an optimizer that knows its
/// parameters by their memory, and not by their names, can describe its state.
///
/// A shard without elements counts only if no other begins at the address. Of a parameter of
/// several shards, each has its own address. `is_master` is not looked at.
///
/// \throws error with errc::unknown_key if no parameter begins at the address, or none may, at a
///         null one; it names the parameter that the address lies in, if there is one; with
///         errc::memory_overlap if several begin there, naming two; and the first of `parameters`
/// \par Source Megatron-Core's get_param_id_to_sharded_param_map and optim_state_to_sharding_state
template <class View>
shard_descriptor state_of(reshard::detail::basic_state_dict<View> const& parameters,
                          void const* address, state_kind const& kind) {
    parameters.check();
    reshard::detail::parameter_search search(address, kind);
    for (auto const& [parameter, elements] : parameters)
        search.look_at(parameter, elements);
    return search.state();
}

/// The program that makes an optimizer's state before its first step out of the parameters: a
/// master weight is a cast of its parameter, moments are zeros.
///
/// Scalars are only added: they keep the optimizer's initial values. With `states_of` the
/// parameters as targets, each rank makes its slices from its own parameters, and nothing moves. A
/// job that loads before it has stepped needs no more: `shards_of` says which slices it will have,
/// whether it has made them or not.
///
/// \par Source GroupShardedStage3 of PaddlePaddle, which gives its optimizer slices of `fw_storage`
///             when it steps for the first time, so that there is nothing to load into before
RESHARD_DECL mapping before_first_step(std::vector<tensor_sharding> const& parameters,
                                       std::vector<state_kind> const& kinds);

} // namespace reshard::model

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/model/impl/optimizer_state.ipp>
#endif

#endif
