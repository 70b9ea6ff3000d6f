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
/// The mapping of a call: its program or, by default, the mapping in which every target tensor is
/// the source tensor of the same name. Either is fitted to the target as the options say.

namespace reshard::detail {

/// The program with outputs fitted to the shapes of `target` if a pattern matches their keys: each
/// axis is cropped, or extended with zeros, at its tail.
///
/// Outputs with another number of axes, and outputs that no pattern matches, do not change.
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

/// `; 2 more keys are missing: 'a' (wanted by rank 0) and 'b' (wanted by rank 1)`; lists only the
/// first of many keys.
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

/// The mapping in which every key that the ranks of `target` hold is the source tensor of that
/// name.
///
/// \param  left_out keys that it does not make, in order
/// \throws error with errc::unknown_key when `source` lacks other keys; it names all of them, and
///         ranks that want them
inline mapping by_name(catalog const& source, layout const& target,
                       vector<std::string> const& left_out = {}) {
    mapping result(source);
    vector<tensor_layout const*> missing;
    for (tensor_layout const& tensor : target.tensors)
        if (std::ranges::binary_search(left_out, tensor.key))
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

/// Judges the wanted keys by the available ones.
///
/// \throws error with errc::unknown_key if the mode says so
inline strict_verdict judge_keys(strictness mode, vector<std::string> wanted,
                                 vector<std::string> available) {
    if (mode == strictness::assume_ok_unexpected)
        return {};
    strict_verdict verdict = judge(mode, compare_keys(std::move(wanted), std::move(available)));
    raise(verdict);
    return verdict;
}

/// The keys of all tensors that a program makes, wanted or not.
inline vector<std::string> keys_made(mapping const& program) {
    vector<std::string> keys = keys_of(program.outputs());
    keys.insert(keys.end(), program.left_over().begin(), program.left_over().end());
    return keys;
}

/// Whether a verdict omits a key.
inline bool leaves_out(strict_verdict const& verdict, std::string_view key) {
    return std::ranges::binary_search(verdict.left_out, key);
}

/// A layout without the tensors that a verdict skips.
inline layout without_left_out(layout target, strict_verdict const& verdict) {
    erase_if(target.tensors,
             [&](tensor_layout const& tensor) { return leaves_out(verdict, tensor.key); });
    return target;
}

/// The verdict on the keys that a target wants, by the keys of a program or, without one, of the
/// source.
///
/// \throws error as `judge_keys`
inline strict_verdict judge_target(strictness mode, std::optional<mapping> const& program,
                                   catalog const& source, layout const& target) {
    return judge_keys(mode, keys_of(target.tensors),
                      program ? keys_made(*program) : keys_of(source));
}

/// The steps of a call that judges keys or changes shapes. Another one compiles none of them.
struct fit_steps {
    decltype(&judge_target) judge;
    decltype(&fit_shapes) fit;
};

inline constexpr fit_steps all_fit_steps{judge_target, fit_shapes};

/// How a program is fitted to its target.
struct fit_rules {
    std::optional<strictness> strict; ///< as `options::strict`
    vector<std::string> const& shape_mismatch;
    /// Refuses a program that does not suit the target; null if there is no program.
    void (*check)(mapping const& program, layout const& target) = nullptr;
    fit_steps const* steps = &all_fit_steps; ///< null without `strict` and `shape_mismatch`
};

/// The mapping that fills `target`, and the verdict on its keys: skipped tensors keep their
/// content.
///
/// \param  program if empty, each tensor is matched by name
/// \throws error as `by_name` and `fit_shapes`; errc::unknown_key if `rules.strict` says so
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
