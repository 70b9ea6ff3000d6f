// Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

#ifndef RESHARD_PLAN_PROBLEM_HPP
#define RESHARD_PLAN_PROBLEM_HPP

#include <reshard/core/nearest.hpp>
#include <reshard/expr/by_name.hpp>
#include <reshard/shard/layout.hpp>

#include <string>
#include <string_view>
#include <vector>

/// \file
/// What a plan is made from, with names turned into numbers.

namespace reshard {

/// A source tensor and who holds it. The name is for messages only.
struct source_side {
    std::string_view key;
    data_type dtype{};
    shard_table const* shards = nullptr; ///< null: nobody holds any of it
};

/// A target tensor, who wants it, and what it is made of. The name is for messages only.
struct target_side {
    std::string_view key;
    data_type dtype{};
    shard_table const* shards = nullptr;
    piece_list const* pieces = nullptr;
    bool added = false; ///< without a source: nothing is moved
};

/// Both layouts and the mapping between them, by number: `sources[id]` is source `key_id` number
/// `id`.
///
/// Refers to the layouts and the mapping that it was made from, which must live as long.
struct plan_problem {
    holder_t source_holders = 0;
    holder_t target_holders = 0;
    std::vector<source_side> sources;
    std::vector<target_side> targets;
    std::vector<std::string> const* source_names = nullptr; ///< of holders that are files
};

/// How messages speak of the rank that wants a shard, between two commas; nothing where holders are
/// files.
inline std::string wanted_by(plan_problem const& problem, holder_t holder) {
    return problem.source_names ? std::string()
                                : ", which rank " + std::to_string(holder) + " wants,";
}

/// How messages speak of a source holder: its file, or its rank.
///
/// \pre `holder < source_holders`
inline std::string source_name(plan_problem const& problem, holder_t holder) {
    return problem.source_names ? (*problem.source_names)[holder]
                                : "rank " + std::to_string(holder);
}

namespace detail {

[[noreturn]] inline void fail_tensor(errc code, std::string_view key, std::string const& text) {
    fail(code, "'" + std::string(key) + "' " + text);
}

inline source_side source_of(mapping_source const& wanted, layout const& source) {
    tensor_layout const* const held = source.find(wanted.key);
    if (held && held->shape != wanted.shape)
        fail_tensor(errc::shape_mismatch, wanted.key,
                    "has the shape " + to_string(held->shape) +
                        " in the source, and the program was " + "made for " +
                        to_string(wanted.shape));
    if (held && held->dtype != wanted.dtype)
        fail_tensor(errc::dtype_mismatch, wanted.key,
                    "is " + std::string(name(held->dtype)) +
                        " in the source, and the program was " + "made for " +
                        std::string(name(wanted.dtype)));
    return {wanted.key, wanted.dtype, held ? &held->shards : nullptr};
}

inline target_side target_of(tensor_layout const& wanted, mapping const& program) {
    mapping_output const* const output = program.find(wanted.key);
    if (!output)
        fail_tensor(errc::unknown_key, wanted.key,
                    "is " + wanted_by_rank(wanted) +
                        ", and neither the program nor the source yields it" +
                        did_you_mean_key(wanted.key, program.outputs(), &mapping_output::key) +
                        "; to leave it as it is write '_ -> " + wanted.key + "'");
    if (output->value.shape != wanted.shape)
        fail_tensor(errc::shape_mismatch, wanted.key,
                    "has the shape " + to_string(wanted.shape) +
                        " in the target, and the program " + "yields " +
                        to_string(output->value.shape));
    if (output->value.dtype != wanted.dtype)
        fail_tensor(
            errc::dtype_mismatch, wanted.key,
            "is " + std::string(name(wanted.dtype)) + " in the target, and the program yields " +
                std::string(name(output->value.dtype)) + "; to cast it write '" + wanted.key +
                " -> " + wanted.key + ", dtype=\"" + std::string(name(wanted.dtype)) + "\"'");
    return {wanted.key, wanted.dtype, &wanted.shards, &output->value.pieces, output->added};
}

} // namespace detail

/// Looks up each name of `target` in `program`, and each name of `program` in `source`.
///
/// \throws error with errc::unknown_key for a target tensor that the program does not yield (it
///         names a rank that wants it), with
///         errc::shape_mismatch or errc::dtype_mismatch where layouts and program differ
inline plan_problem problem_of(mapping const& program, layout const& source, layout const& target) {
    plan_problem problem{source.holders, target.holders, {}, {}};
    problem.sources.reserve(program.sources().size());
    for (mapping_source const& wanted : program.sources())
        problem.sources.push_back(detail::source_of(wanted, source));
    problem.targets.reserve(target.tensors.size());
    for (tensor_layout const& wanted : target.tensors)
        problem.targets.push_back(detail::target_of(wanted, program));
    return problem;
}

} // namespace reshard

#endif
