// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_BY_NAME_HPP
#define RESHARD_EXPR_BY_NAME_HPP

#include <reshard/core/key_index.hpp>
#include <reshard/core/vector.hpp>
#include <reshard/expr/mapping.hpp>
#include <reshard/expr/slice.hpp>
#include <reshard/layout/key_pattern.hpp>
#include <reshard/layout/layout.hpp>
#include <reshard/layout/strictness.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// The mapping of a call: the caller's program or, by default, a mapping of each target tensor to
/// the source tensor of the same name. Options adapt either mapping to the target.

namespace reshard::detail {

/// Adapts each output whose key matches a pattern to its shape in `target`: the tail of each axis
/// is cropped, or extended with zeros.
///
/// An output does not change if no pattern matches it or its target has another number of axes.
///
/// \throws     error with errc::unknown_key for a pattern that matches no key of `target`
/// \par Source `allow_shape_mismatch` of Megatron-Core, which pads and crops vocabularies
inline mapping fit_shapes(mapping program, layout const& target,
                          vector<std::string> const& allowed) {
    vector<given_pattern> patterns(allowed.begin(), allowed.end());
    for (tensor_layout const& tensor : target.tensors) {
        if (!match_any(patterns, tensor.key))
            continue;
        index_vector const& wanted = target.shape_of(tensor);
        mapping_output const* const output = program.find(tensor.key);
        if (output && !output->added && output->value.shape != wanted &&
            output->value.ndim() == wanted.size())
            program.define(tensor.key, resize(output->value, wanted));
    }
    if (given_pattern const* const missed = first_missed(patterns))
        fail(errc::unknown_key, "options.shape_mismatch: '", missed->text(),
             "' matches none of the ", counted(target.tensors.size(), "key"), " of the target",
             did_you_mean_key(missed->text(), target.tensors, &tensor_layout::key));
    return program;
}

/// `wanted by rank 2`, for the first rank that has a shard of the tensor.
inline std::string wanted_by_rank(tensor_shards const& shards) {
    return shards.size() == 0 ? std::string("wanted")
                              : "wanted by rank " + std::to_string(shards.holder(0));
}

/// `; 2 more keys are missing: 'a' (wanted by rank 0) and 'b' (wanted by rank 1)`; a long list is
/// shortened.
inline std::string also_missing(layout const& target, vector<tensor_layout const*> const& missing) {
    constexpr std::size_t most = 16;
    if (missing.size() < 2)
        return {};
    std::string text = words("; ", missing.size() - 1,
                             missing.size() == 2 ? " more key is missing: "
                                                 : " more keys are "
                                                   "missing: ");
    std::size_t const end = std::min(missing.size(), most + 1);
    for (std::size_t i = 1; i < end; ++i)
        text +=
            words(i == 1                                  ? ""
                  : i + 1 == end && end == missing.size() ? " and "
                                                          : ", ",
                  "'", missing[i]->key, "' (", wanted_by_rank(target.shards_of(*missing[i])), ")");
    return end == missing.size() ? text : words(text, " and ", missing.size() - end, " others");
}

/// The mapping that makes each tensor of `target` from the source tensor of the same name.
///
/// \param  left_out sorted keys of tensors that the mapping does not make
/// \throws error with errc::unknown_key if `source` lacks any other key; the message names the
///         missing keys and the ranks that want them
inline mapping by_name(catalog const& source, layout const& target,
                       vector<std::string> const& left_out = {}) {
    mapping result(source);
    vector<tensor_layout const*> missing;
    for (tensor_layout const& tensor : target.tensors)
        if (std::binary_search(left_out.begin(), left_out.end(), tensor.key))
            continue;
        else if (catalog_entry const* const entry = source.find(tensor.key))
            result.define(tensor.key, result.source(static_cast<key_id>(entry - &source[0])));
        else
            missing.push_back(&tensor);
    if (!missing.empty())
        fail(errc::unknown_key, "'", missing[0]->key, "' is ",
             wanted_by_rank(target.shards_of(*missing[0])), ", but the source does not have it",
             did_you_mean_key(missing[0]->key, source, &catalog_entry::key),
             also_missing(target, missing));
    return result;
}

/// The keys of tensors, outputs or entries, in their order.
vector<std::string> keys_of(auto const& tensors) {
    vector<std::string> keys;
    for (auto const& tensor : tensors)
        keys.push_back(tensor.key);
    return keys;
}

/// Compares the wanted keys with the available keys.
///
/// \throws error with errc::unknown_key if `mode` does not accept the difference
inline strict_verdict judge_keys(strictness mode, vector<std::string> wanted,
                                 vector<std::string> available) {
    if (mode == strictness::assume_ok_unexpected)
        return {};
    strict_verdict verdict = judge(mode, compare_keys(std::move(wanted), std::move(available)));
    raise(verdict);
    return verdict;
}

/// The keys of all tensors that a program makes, even if the target does not want them.
inline vector<std::string> keys_made(mapping const& program) {
    vector<std::string> keys = keys_of(program.outputs());
    keys.insert(keys.end(), program.left_over().begin(), program.left_over().end());
    return keys;
}

/// Whether a verdict omits a key.
inline bool leaves_out(strict_verdict const& verdict, std::string_view key) {
    return std::binary_search(verdict.left_out.begin(), verdict.left_out.end(), key);
}

/// A layout without the tensors that a verdict skips.
inline layout without_left_out(layout target, strict_verdict const& verdict) {
    erase_if(target.tensors,
             [&](tensor_layout const& tensor) { return leaves_out(verdict, tensor.key); });
    return target;
}

/// Compares the keys that a target wants with the keys that a program makes or, without a program,
/// with the keys of the source.
///
/// \throws the errors of `judge_keys`
inline strict_verdict judge_target(strictness mode, std::optional<mapping> const& program,
                                   catalog const& source, layout const& target) {
    return judge_keys(mode, keys_of(target.tensors),
                      program ? keys_made(*program) : keys_of(source));
}

/// The steps of a call that judges keys or changes shapes. Other calls do not compile them.
struct fit_steps {
    decltype(&judge_target) judge;
    decltype(&fit_shapes) fit;
};

inline constexpr fit_steps all_fit_steps{judge_target, fit_shapes};

/// The options that adapt a program to its target.
struct fit_rules {
    std::optional<strictness> strict; ///< as `options::strict`
    vector<std::string> const& shape_mismatch;
    /// Refuses a program that does not suit the target; null if there is no program.
    void (*check)(mapping const& program, layout const& target) = nullptr;
    fit_steps const* steps = &all_fit_steps; ///< null if `strict` and `shape_mismatch` are unset
};

/// The mapping that fills `target`, and the verdict on the target's keys. Skipped tensors keep
/// their contents.
///
/// \param  program if empty, each tensor is matched by name
/// \throws the errors of `by_name` and `fit_shapes`; errc::unknown_key if `rules.strict` says so
inline std::pair<mapping, strict_verdict> fitted_program(std::optional<mapping> program,
                                                         catalog const& source,
                                                         layout const& target,
                                                         fit_rules const& rules) {
    strict_verdict verdict;
    if (rules.strict)
        verdict = rules.steps->judge(*rules.strict, program, source, target);
    mapping filled = program ? std::move(*program) : by_name(source, target, verdict.left_out);
    for (std::string const& key : verdict.left_out) {
        tensor_layout const& tensor = *target.find(key);
        filled.add(key, target.shape_of(tensor), tensor.dtype);
    }
    if (!rules.shape_mismatch.empty())
        filled = rules.steps->fit(std::move(filled), target, rules.shape_mismatch);
    return {std::move(filled), std::move(verdict)};
}

} // namespace reshard::detail

#endif
