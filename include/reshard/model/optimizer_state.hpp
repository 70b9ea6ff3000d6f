// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_MODEL_OPTIMIZER_STATE_HPP
#define RESHARD_MODEL_OPTIMIZER_STATE_HPP

#include <reshard/core/config.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/layout/sharding.hpp>
#include <reshard/tensor/state_dict.hpp>

#include <optional>
#include <string>
#include <string_view>

/// \file
/// Optimizer state: moments, master weights and scalars, laid out like their parameters.

namespace reshard::model {

/// A state that an optimizer keeps for each parameter.
struct state_kind {
    std::string prefix = {}; ///< before the parameter's key
    std::string suffix = {};
    data_type dtype = data_type::f32;
    bool is_master = false; ///< kept only if the parameter has another data type
    std::optional<index_vector> scalar_shape = {}; ///< if the state is one number: its shape
};

/// The state of Adam in PaddlePaddle: `w.w_0` (the master weight), `w.moment1_0` and others.
RESHARD_DECL vector<state_kind> paddle_states();

/// The state of Megatron-Core's distributed optimizer: `optimizer.state.exp_avg.w` and others.
RESHARD_DECL vector<state_kind> megatron_states();

/// The state of Adam in PyTorch, with flattened keys: `state.w.exp_avg` and others.
RESHARD_DECL vector<state_kind> torch_states();

/// The key of a parameter's state.
inline std::string key_of(state_kind const& kind, std::string_view parameter) {
    return kind.prefix + std::string(parameter) + kind.suffix;
}

/// True if an optimizer keeps a state for parameters of a data type.
constexpr bool is_kept_for(state_kind const& kind, data_type parameter) {
    return !kind.is_master || kind.dtype != parameter;
}

/// The states that an optimizer keeps for a parameter. A state with the parameter's shape has the
/// parameter's layout. A scalar is on every rank that may hold elements of the parameter.
///
/// For ZeRO, `parameter` is a result of `shard_buffers`, `shard_slices` or `shard_whole`.
RESHARD_DECL vector<tensor_sharding> states_of(tensor_sharding const& parameter,
                                               vector<state_kind> const& kinds);

/// The states of all parameters, in the order of `parameters`.
RESHARD_DECL vector<tensor_sharding> states_of(vector<tensor_sharding> const& parameters,
                                               vector<state_kind> const& kinds);

} // namespace reshard::model

namespace reshard::detail {

/// Looks for the parameter whose elements begin at an address.
class parameter_search {
public:
    /// \pre `kind` and the examined shards outlive this object
    parameter_search(void const* address, model::state_kind const& kind)
        : address_(address), kind_(kind) {}

    RESHARD_DECL void look_at(shard_descriptor const& parameter, const_tensor_view const& elements);

    /// The state of the parameter that was found.
    ///
    /// \throws error with errc::unknown_key if no parameter was found, errc::memory_overlap if
    ///         several were found
    RESHARD_DECL shard_descriptor state() const;

private:
    std::string who() const;
    shard_descriptor const& only_one() const;

    void const* address_;
    model::state_kind const& kind_;
    vector<shard_descriptor const*> found_;
    vector<shard_descriptor const*> empty_;
    shard_descriptor const* around_ = nullptr; ///< contains the address, but begins earlier
};

} // namespace reshard::detail

namespace reshard::model {

/// This rank's shard of a state of the parameter whose elements begin at `address`: the region of
/// the parameter's shard, or a whole scalar. So an optimizer can describe its state even if it
/// knows its parameters only by their memory, not by their names.
///
/// A shard without elements counts only if no other shard begins at the address. If a parameter has
/// several shards, each has its own address. `is_master` is ignored.
///
/// \throws error with errc::unknown_key if no parameter begins at the address, or if it is null;
///         the message names the parameter that contains the address, if any. errc::memory_overlap
///         if several parameters begin there; the message names two. Also the error of
///         adding a parameter
/// \par Source Megatron-Core's get_param_id_to_sharded_param_map and optim_state_to_sharding_state
template <class View>
shard_descriptor state_of(reshard::detail::basic_state_dict<View> const& parameters,
                          void const* address, state_kind const& kind) {
    if (parameters.first_error()) // only addresses are compared, also of memory on devices
        throw error(*parameters.first_error());
    reshard::detail::parameter_search search(address, kind);
    for (auto const& [parameter, elements] : parameters)
        search.look_at(parameter, elements);
    return search.state();
}

/// The program that makes an optimizer's state from the parameters before the first step: a master
/// weight is a cast of its parameter, moments are zeros.
///
/// The program adds scalars without a source: they keep the optimizer's initial values. If the
/// targets are `states_of` the parameters, each rank makes its slices from its own parameters, and
/// no elements move. A job that loads a checkpoint before its first step needs nothing else:
/// `shards_of` gives its slices even before the optimizer has made them.
///
/// \par Source GroupShardedStage3 of PaddlePaddle. There, the optimizer gets its slices of
///             `fw_storage` at the first step, so nothing can be loaded into them earlier
RESHARD_DECL mapping before_first_step(vector<tensor_sharding> const& parameters,
                                       vector<state_kind> const& kinds);

} // namespace reshard::model

#ifndef RESHARD_SEPARATE_COMPILATION
#include <reshard/model/impl/optimizer_state.ipp>
#endif

#endif
