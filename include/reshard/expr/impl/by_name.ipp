// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_EXPR_IMPL_BY_NAME_IPP
#define RESHARD_EXPR_IMPL_BY_NAME_IPP

#include <reshard/expr/by_name.hpp>

#include <reshard/core/key_index.hpp>
#include <reshard/expr/slice.hpp>
#include <reshard/layout/key_pattern.hpp>

#include <algorithm>
#include <cstddef>

namespace reshard::detail {

/// Notes which patterns match, and whether one does.
inline bool note_matches(std::vector<key_pattern> const& patterns, std::string const& key,
                         std::vector<bool>& used) {
    bool matches = false;
    for (std::size_t i = 0; i < patterns.size(); ++i)
        if (patterns[i].matches(key))
            matches = used[i] = true;
    return matches;
}

RESHARD_DECL mapping fit_shapes(mapping program, layout const& target,
                                std::vector<std::string> const& allowed) {
    if (allowed.empty())
        return program;
    std::vector<key_pattern> const patterns(allowed.begin(), allowed.end());
    std::vector<bool> used(patterns.size());
    for (tensor_layout const& tensor : target.tensors) {
        if (!note_matches(patterns, tensor.key, used))
            continue;
        index_vector const& wanted = target.shape_of(tensor);
        mapping_output const* const output = program.find(tensor.key);
        if (output && !output->added && output->value.shape != wanted &&
            output->value.ndim() == wanted.size())
            program.define(tensor.key, resize(output->value, wanted));
    }
    auto const unused = std::find(used.begin(), used.end(), false);
    if (unused != used.end()) {
        std::string const& text = allowed[static_cast<std::size_t>(unused - used.begin())];
        fail(errc::unknown_key, "options.shape_mismatch: '", text, "' matches none of the ",
             target.tensors.size(), " keys of the target",
             did_you_mean_key(text, target.tensors, &tensor_layout::key));
    }
    return program;
}

RESHARD_DECL std::string wanted_by_rank(tensor_shards const& shards) {
    return shards.size() == 0 ? std::string("wanted")
                              : "wanted by rank " + std::to_string(shards.holder(0));
}

RESHARD_DECL mapping by_name(catalog const& source, layout const& target) {
    for (tensor_layout const& tensor : target.tensors)
        if (!source.find(tensor.key))
            fail(errc::unknown_key, "'", tensor.key, "' is ",
                 wanted_by_rank(target.shards_of(tensor)), ", but the source does not have it",
                 did_you_mean_key(tensor.key, source, &catalog_entry::key));
    catalog const wanted = catalog_of(target);
    return identity_mapping(source, &wanted);
}

RESHARD_DECL strict_verdict judge_keys(strictness mode, std::vector<std::string> wanted,
                                       std::vector<std::string> available) {
    if (mode == strictness::assume_ok_unexpected)
        return {};
    strict_verdict verdict = judge(mode, compare_keys(std::move(wanted), std::move(available)));
    raise(verdict);
    return verdict;
}

/// Whether a verdict leaves a key out.
inline bool leaves_out(strict_verdict const& verdict, std::string_view key) {
    return std::ranges::binary_search(verdict.left_out, key);
}

RESHARD_DECL layout without_left_out(layout target, strict_verdict const& verdict) {
    std::erase_if(target.tensors,
                  [&](tensor_layout const& tensor) { return leaves_out(verdict, tensor.key); });
    return target;
}

RESHARD_DECL std::pair<mapping, strict_verdict> fitted_program(std::optional<mapping> program,
                                                               catalog const& source,
                                                               layout const& target,
                                                               fit_rules const& how) {
    strict_verdict verdict;
    if (how.strict)
        verdict = judge_keys(*how.strict, keys_of(target.tensors),
                             program ? keys_of(program->outputs()) : keys_of(source));
    mapping filled = program ? std::move(*program)
                     : verdict.left_out.empty()
                         ? by_name(source, target)
                         : by_name(source, without_left_out(target, verdict));
    for (std::string const& key : verdict.left_out) {
        tensor_layout const& tensor = *target.find(key);
        filled.add(key, target.shape_of(tensor), tensor.dtype);
    }
    return {fit_shapes(std::move(filled), target, how.shape_mismatch), std::move(verdict)};
}

} // namespace reshard::detail

#endif
