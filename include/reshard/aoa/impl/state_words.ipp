// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_AOA_IMPL_STATE_WORDS_IPP
#define RESHARD_AOA_IMPL_STATE_WORDS_IPP

#include <reshard/aoa/state_suffix.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

/// \file
/// The words that trainers use in keys for states, models and optimizers.

namespace reshard::aoa::detail {

/// The names that optimizers use for states. After `state.`, every other name is a state's, too.
///
/// \par Source torch.optim of torch 2.15, the optimizers of Megatron-Core 0.16 and DeepSpeed 0.18,
///             and optax 0.2 (`mu`, `nu`, `trace`)
inline constexpr std::string_view state_names[] = {"exp_avg",
                                                   "exp_avg_sq",
                                                   "max_exp_avg_sq",
                                                   "step",
                                                   "momentum_buffer",
                                                   "square_avg",
                                                   "grad_avg",
                                                   "acc_delta",
                                                   "exp_inf",
                                                   "sum",
                                                   "mu_product",
                                                   "prev",
                                                   "step_size",
                                                   "ax",
                                                   "eta",
                                                   "fp32_param",
                                                   "master_param",
                                                   "master_weight",
                                                   "master_weights",
                                                   "fp32",
                                                   "moment1",
                                                   "moment2",
                                                   "momentum",
                                                   "velocity",
                                                   "exp_avg_diff",
                                                   "mu",
                                                   "nu",
                                                   "trace",
                                                   "m",
                                                   "v",
                                                   "exp_avg_res",
                                                   "fp32_from_fp16_params",
                                                   "fp32_groups"};

/// Those of them that are copies of their parameters, usually in f32. The others are moments: sums
/// and means of gradients.
///
/// \par Source as above; `w` of `w_0` is PaddlePaddle's, `z` schedulefree's
inline constexpr std::string_view copy_names[] = {"fp32_param",
                                                  "master_param",
                                                  "master_weight",
                                                  "master_weights",
                                                  "fp32",
                                                  "ax",
                                                  "fp32_from_fp16_params",
                                                  "fp32_groups",
                                                  "w",
                                                  "z"};

/// The classes of optimizers that trainers use as names in keys. Sorted, in lower case.
///
/// \par Source torch.optim of torch 2.15, Composer 0.32 (`DecoupledAdamW`), bitsandbytes 0.48, Apex
inline constexpr std::string_view optimizer_classes[] = {"adadelta",
                                                         "adafactor",
                                                         "adagrad",
                                                         "adam",
                                                         "adam8bit",
                                                         "adamax",
                                                         "adamw",
                                                         "adamw8bit",
                                                         "asgd",
                                                         "cpuadam",
                                                         "decoupledadamw",
                                                         "decoupledlionw",
                                                         "decoupledsgdw",
                                                         "deepspeedcpuadam",
                                                         "fusedadam",
                                                         "fusedlamb",
                                                         "fusedsgd",
                                                         "lamb",
                                                         "lars",
                                                         "lbfgs",
                                                         "lion",
                                                         "lion8bit",
                                                         "muon",
                                                         "nadam",
                                                         "novograd",
                                                         "pagedadamw",
                                                         "prodigy",
                                                         "radam",
                                                         "rmsprop",
                                                         "rprop",
                                                         "sgd",
                                                         "shampoo",
                                                         "soap",
                                                         "sophia",
                                                         "sparseadam"};

/// The names of models in the checkpoints of trainers, the likeliest first: `model.` is preferred
/// to `ema.` if both have the same parameters.
inline constexpr std::string_view model_names[] = {"model",  "module",  "state_dict",
                                                   "params", "network", "net"};

/// A bit for each first letter of a state's name.
inline constexpr std::uint32_t first_letters = [] {
    std::uint32_t letters = 0;
    for (std::string_view const name : state_names)
        letters |= std::uint32_t{1} << (name.front() - 'a');
    return letters;
}();

inline bool is_state_name(std::string_view name) {
    bool const may_be = !name.empty() && name.front() >= 'a' && name.front() <= 'z' &&
                        (first_letters >> (name.front() - 'a') & 1) != 0; // runs for every key
    return may_be && std::ranges::find(state_names, name) != std::end(state_names);
}

/// The end of the segment at an index. A plain loop is fast enough to run for every key.
inline std::size_t next_separator(std::string_view key, std::size_t index) {
    while (index < key.size() && key[index] != '.' && key[index] != '/')
        ++index;
    return index;
}

inline std::string_view last_segment(std::string_view key) {
    std::size_t begin = key.size();
    while (begin > 0 && key[begin - 1] != '.' && key[begin - 1] != '/')
        --begin;
    return key.substr(begin);
}

/// Whether a state is a copy of its parameter, or a moment; std::nullopt if its name is unknown.
inline std::optional<bool> is_parameter_copy(state_suffix const& state) {
    std::optional<bool> result;
    for (std::string_view text : {std::string_view(state.prefix), std::string_view(state.suffix)})
        while (!text.empty() && !result) {
            std::size_t const end = std::min(text.size(), text.find_first_of(separators));
            std::string_view name = text.substr(0, end);
            text.remove_prefix(std::min(text.size(), end + 1));
            name.remove_prefix(name.starts_with('_') ? 1 : 0); // of `P_exp_avg`
            if (name.ends_with("_0"))
                name.remove_suffix(2);
            if (std::ranges::find(copy_names, name) != std::end(copy_names))
                result = true;
            else if (std::ranges::find(state_names, name) != std::end(state_names))
                result = false;
        }
    return result;
}

inline bool is_model(std::string_view segment) {
    return std::ranges::find(model_names, segment) != std::end(model_names);
}

inline bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

/// Whether a segment is a name of optimizers, such as `optim`, `optimizer` or `optimizer_0`.
///
/// \pre it is not empty
inline bool is_optimizer(std::string_view segment) {
    if (segment.front() != 'o') // a fast test: it runs for every key
        return false;
    if (std::size_t const line = segment.rfind('_');
        line != segment.npos && is_number(segment.substr(line + 1)))
        segment = segment.substr(0, line);
    for (std::string_view const entry :
         {"optim", "optimizer", "optims", "optimizers", "opt", "opt_state", "optimizer_state",
          "optimizer_states", "optim_state", "optimizer_state_dict", "optimizer_states_dict"})
        if (segment == entry)
            return true;
    return false;
}

/// Whether a segment is the class of an optimizer, such as `AdamW` or `lion`.
inline bool is_optimizer_class(std::string_view segment) {
    constexpr auto is_before = [](std::string_view a, std::string_view b) {
        return std::ranges::lexicographical_compare(a, b, {}, reshard::detail::to_lower,
                                                    reshard::detail::to_lower);
    };
    return std::ranges::binary_search(optimizer_classes, segment, is_before);
}

/// Whether all keys inside a segment are states, under any name.
inline bool holds_states(std::string_view segment) {
    return segment == "state" || segment.starts_with("opt_state") ||
           segment.starts_with("optimizer_state") || segment.starts_with("optim_state");
}

} // namespace reshard::aoa::detail

#endif
